package parity

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// TestAutocast makes the calls of PyTorch's own lists for autocast on the CPU, in bfloat16
// and float16: what comes of them under autocast, and of the same arguments cast by hand
// without it, is what Python has under autocast, dtype and bits.
func TestAutocast(t *testing.T) {
	torchtest.NoLeaks(t)
	quiet(t)
	path := filepath.Join(t.TempDir(), "autocast.safetensors")
	cmd := peer.Command(t, script(t, "autocast.py"), path)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	c, err := readChunk(path)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(c.cases), 2*55, "PyTorch 2.11 lists 55 calls")

	cast := 0
	for i := range c.cases {
		k := &c.cases[i]
		require.Nil(t, k.Error, k.Op)
		torch.Scope(func() {
			mode := torch.AutocastMode{Device: torch.CPU, Enabled: true, DType: must(torch.ParseDType(k.Autocast))}
			torch.WithAutocast(mode, func() { c.holds(t, k, "under autocast", 0) })
			if k.Cast != "" {
				c.holds(t, k, "cast by hand", must(torch.ParseDType(k.Cast)))
				cast++
			}
		})
	}
	require.GreaterOrEqual(t, cast, 2*37, "calls that autocast has a say in")
}

// holds makes the call of a case, with its floating-point arguments in a dtype if it is not
// 0, and wants the results that Python had.
func (c *chunk) holds(t *testing.T, k *Case, how string, dtype torch.DType) {
	t.Helper()
	call, err := prepare(c, k)
	require.NoError(t, err, k.Op)
	for name, v := range call.args {
		call.args[name] = castTo(v, dtype)
	}
	torch.ManualSeed(seed)
	out, err := call.call(k)
	require.NoError(t, err, k.Op)
	require.Empty(t, c.results(k, out), "%s, %s, in %s", k.Op, how, k.Autocast)
}

func castTo(v any, dtype torch.DType) any {
	switch v := v.(type) {
	case torch.Tensor:
		if dtype != 0 && v.IsFloatingPoint() {
			return v.To(dtype)
		}
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = castTo(x, dtype)
		}
		return list
	}
	return v
}
