package watch

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/meter"
)

// Both kinds of files give back what was logged, to the bit.
func TestCurvesComeBack(t *testing.T) {
	for name, begin := range map[string]func(*bytes.Buffer) meter.Log{
		"scalars.jsonl": func(b *bytes.Buffer) meter.Log { return meter.NewJSONLines(b) },
		"scalars.csv":   func(b *bytes.Buffer) meter.Log { return meter.NewCSV(b) },
	} {
		var text bytes.Buffer
		want := &Curves{}
		for _, log := range []meter.Log{begin(&text), want} {
			for i, v := range []float64{1.0 / 3, -2e-308, math.Inf(1), math.Inf(-1), 5} {
				require.NoError(t, log.AddScalar("loss/train", v, 10*i))
				require.NoError(t, log.AddScalar("with, \"comma\" and ü", -v, 10*i))
			}
		}
		got, err := ReadCurves(bytes.NewReader(text.Bytes()))
		require.NoError(t, err)
		require.Equal(t, want, got, name)
		require.Equal(t, []string{"loss/train", "with, \"comma\" and ü"}, got.Tags())
		require.Equal(t, Point{40, 5}, got.Points("loss/train")[4])
		require.Empty(t, got.Points("absent"))

		dir := t.TempDir()
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, text.Bytes(), 0o644))
		got, err = LoadCurves(path)
		require.NoError(t, err)
		require.Equal(t, path, got.Name)
		if name == scalarsFile {
			got, err = LoadCurves(dir + "/")
			require.NoError(t, err)
			require.Equal(t, dir, got.Name)
			require.Len(t, got.Points("loss/train"), 5)
		}
	}
	one := &Curves{}
	require.NoError(t, one.AddScalar("x", math.NaN(), 1))
	var lines bytes.Buffer
	require.NoError(t, meter.NewJSONLines(&lines).AddScalar("x", math.NaN(), 1))
	got, err := ReadCurves(&lines)
	require.NoError(t, err)
	require.True(t, math.IsNaN(got.Points("x")[0].Value))
}

// A run that goes on from a checkpoint takes the place of what was behind it.
func TestCurvesGoOn(t *testing.T) {
	c := &Curves{}
	for _, step := range []int{1, 2, 3, 4, 2, 3} {
		require.NoError(t, c.AddScalar("loss", float64(step), step))
	}
	require.Equal(t, []Point{{1, 1}, {2, 2}, {3, 3}}, c.Points("loss"))
}

func TestFilesThatAreNoRuns(t *testing.T) {
	for text, want := range map[string]string{
		"{\n":                                             "line 1: unexpected end of JSON input",
		"{\"step\":1,\"value\":2}\n":                      "line 1: a step or a tag is missing; expected {",
		"{\"tag\":\"x\",\"value\":2}\n":                   "a step or a tag is missing",
		"{\"step\":1,\"tag\":\"x\"}\n":                    `parsing "": invalid syntax`,
		"{\"step\":0.5,\"tag\":\"x\"}\n":                  "cannot unmarshal number 0.5",
		"{\"step\":1,\"tag\":\"x\",\"value\":\"soon\"}\n": `parsing "soon": invalid syntax`,
		"{\"step\":1,\"tag\":\"x\",\"value\":1}\n\n":      "line 2: unexpected end",
		"a,b\n":                    "row 1: record on line 1: wrong number of fields",
		"a,b,c\n":                  `row 1: the first row is ["a" "b" "c"]; expected rows of [step tag value]`,
		"step,tag,value\n1,x,y\n":  `row 2: strconv.ParseFloat: parsing "y"`,
		"step,tag,value\n.5,x,1\n": `row 2: strconv.Atoi: parsing ".5"`,
		"\x00\x01":                 "row 1:",
	} {
		_, err := ReadCurves(strings.NewReader(text))
		require.ErrorContains(t, err, want, "%q", text)
	}
	_, err := LoadCurves(t.TempDir())
	require.ErrorContains(t, err, "watch: cannot read a run: ")
	require.ErrorIs(t, err, os.ErrNotExist)
	damaged := filepath.Join(t.TempDir(), "x.csv")
	require.NoError(t, os.WriteFile(damaged, []byte("x"), 0o644))
	_, err = LoadCurves(damaged)
	require.ErrorContains(t, err, damaged+": watch: row 1")

	for _, empty := range []string{"", "{\"step\":1,\"tag\":\"x\",\"va"} { // the second was being written
		c, err := ReadCurves(strings.NewReader(empty))
		require.NoError(t, err)
		require.Empty(t, c.Tags())
	}
}
