package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCombine(t *testing.T) {
	for _, c := range []struct {
		axes    string
		want    int
		leftOut string
	}{
		{"amp=off", 1, ""},
		{"amp=off,bf16 channels-last=off,on", 4, ""},
		{"tf32=off,on amp=off,fp16,bf16", 4, "2 of 6 combinations are left out: tf32 has no effect with amp"},
		{"tf32=on,off amp=bf16", 1, "1 of 2 combinations are left out: tf32 has no effect with amp"},
		{"precision=default,bf16 amp=off,bf16 onednn=on,off", 5,
			"3 of 8 combinations are left out: precision is oneDNN's; precision has no effect with amp"},
		{"deterministic=off,on onednn=on,off", 3, "1 of 4 combinations are left out: deterministic is oneDNN's"},
		{"benchmark=off,on deterministic=off,on", 4, ""},
	} {
		choices := choose(t, c.axes)
		list, leftOut := combine(choices)
		require.Len(t, list, c.want, c.axes)
		require.Equal(t, c.leftOut, leftOut)
		require.Empty(t, list[0].changes(choices), "the first is the baseline")
		keys := map[string]bool{}
		for _, s := range list {
			require.Len(t, s, len(choices))
			keys[s.key()] = true
		}
		require.Len(t, keys, c.want, "none is there twice")
	}
}

func TestSettingsInWords(t *testing.T) {
	choices := choose(t, "deterministic=off amp=off,bf16 channels-last=on,off")
	list, _ := combine(choices)
	require.Equal(t, "amp bf16, ch-last off", list[3].text(choices))
	require.Equal(t, []string{"amp bf16", "channels-last off"}, list[3].changes(choices))
	require.Equal(t, "amp bf16, ch-last off", short(advice{Best: list[3]}, choices))
	require.Equal(t, "as it is", short(advice{Best: list[0]}, choices))
	require.Equal(t, "as it is", short(advice{}, choices))
}

func TestShapes(t *testing.T) {
	for _, text := range []string{
		"64x56x56,128x3x3", "3x224x224,64x7x7,s2,p3", "32x8x9,32x3x1,s2x1,p0x1,d2,g32,bias", "8x8x8,8x1x8,p1x0",
	} {
		s, err := parseShape(text)
		require.NoError(t, err)
		require.Equal(t, text, s.String())
		m := s.module()
		again, err := shapeOf(m, []int{5, s.in, s.size[0], s.size[1]})
		require.NoError(t, err)
		require.Equal(t, s, again)
		(&body{model: m}).close()
	}
	for text, want := range map[string]string{
		"":                       "there is no weight",
		"64x56x56":               "there is no weight",
		"64x56,128x3x3":          `"64x56" is no input of CHANNELSxHEIGHTxWIDTH`,
		"64x56x0,128x3x3":        `"64x56x0" is no input`,
		"64x56x56,3":             `"3" is no weight of CHANNELSxHEIGHTxWIDTH`,
		"64x56x56,128x3x3,":      `"" is no option`,
		"64x56x56,128x3x3,s0":    `"s0" is no option`,
		"64x56x56,128x3x3,p1x1x": `"p1x1x" is no option`,
		"64x56x56,128x3x3,g3":    "64 and 128 channels cannot be divided into 3 groups",
		"64x8x3,128x3x3,d2":      "a kernel that covers 5 does not fit into the padded width of 3",
	} {
		_, err := parseShape(text)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "expected input and weight as 64x56x56,128x3x3")
	}
}
