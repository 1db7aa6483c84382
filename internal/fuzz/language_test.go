package fuzz

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCasesReadAsTheyAreWritten(t *testing.T) {
	for _, line := range []string{
		"add.Tensor self=float32[2,3]+t other=&0 alpha=2",
		"add.Tensor self=float32[]:nan+grad+zero other=&0+t alpha=c(0.5,-Inf)",
		`call:x::y.z a=() b=((1,2),nil,true) c="a \"b\", c" d=int64[2]{1,-9223372036854775808}`,
		"f a=dtype:float32 b=device:cpu c=layout:200 d=format:channels_last e=gen:7 f=go:all g=NaN h=1e-08 i=2.0",
		"none",
	} {
		c, err := Parse(line)
		require.NoError(t, err)
		require.Equal(t, line, c.String())
		require.Equal(t, line, c.clone().String())
	}
	for _, line := range []string{"f a", "f a=", "f a=(1", `f a="x`, "f a=float32[2", "f a=float32[x]", "f a=&x", "f a=yes", "f a=c(1,2"} {
		_, err := Parse(line)
		require.Error(t, err, line)
	}
}

func TestCallsAreTheSameForASeed(t *testing.T) {
	for _, p := range everything() {
		different := 0
		for i := range uint64(200) {
			_, a := p.caseAt(7, i)
			_, b := p.caseAt(7, i)
			_, other := p.caseAt(8, i)
			require.Equal(t, a.String(), b.String())
			if a.String() != other.String() {
				different++
			}
			again, err := Parse(a.String())
			require.NoError(t, err)
			require.Equal(t, a.String(), again.String())
		}
		require.Greater(t, different, 100, p.name)
	}
}

func TestSamplesAreOfTargets(t *testing.T) {
	names := map[string]bool{}
	for _, p := range everything() {
		for _, target := range p.targets {
			require.False(t, names[target.name], "two targets named %s", target.name)
			names[target.name] = true
			names[strings.TrimPrefix(target.name, byName)] = true
		}
	}
	var strangers []string
	for name := range readSamples() {
		if !names[name] {
			strangers = append(strangers, name)
		}
	}
	require.Empty(t, strangers)
}

func TestSimplerCasesEnd(t *testing.T) {
	c, err := Parse("median.dim self=float64[2,3,4]:mix+t+grad dim=-9223372036854775808 keepdim=true")
	require.NoError(t, err)
	steps := 0
	for more := true; more && steps < 1000; steps++ {
		more = false
		for d := range simpler(c) {
			c, more = d, true
			break
		}
	}
	require.Less(t, steps, 100, c.String())
}
