package parity

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// TestAutocast makes the calls of PyTorch's own lists for autocast, in bfloat16 and float16:
// what comes of them under autocast, and of the same arguments cast by hand without it, is what
// Python has under autocast, dtype and bits, or its error. The lists for CUDA are gone through
// on the CPU as well, where autocast casts otherwise.
func TestAutocast(t *testing.T) {
	for _, c := range []struct {
		lists       string
		device      torch.Device
		calls, cast int // in either dtype: how many there are at least, and those that autocast has a say in
	}{
		{"cpu", torch.CPU, 55, 37},
		{"cuda", torch.CPU, 119, 0},
		{"cuda", torch.CUDA(0), 119, 97},
	} {
		t.Run(fmt.Sprintf("lists for %s on %v", c.lists, c.device), func(t *testing.T) {
			if err := torch.CheckDevice(c.device); err != nil {
				t.Skip(err)
			}
			torchtest.NoLeaks(t)
			quiet(t)
			t.Setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
			all := recordAutocast(t, c.lists, c.device)
			require.GreaterOrEqual(t, len(all.cases), 2*c.calls, "calls in PyTorch's lists")
			cast := 0
			cuda.With(cuda.Settings{Deterministic: cuda.On}, func() { cast = all.autocast(t, c.device, c.cast > 0) })
			require.GreaterOrEqual(t, cast, 2*c.cast)
		})
	}
}

// recordAutocast has Python make the calls.
func recordAutocast(t *testing.T, lists string, device torch.Device) *chunk {
	t.Helper()
	path := filepath.Join(t.TempDir(), "autocast.safetensors")
	kind, _, _ := strings.Cut(device.String(), ":")
	text, err := peer.Command(t, script(t, "autocast.py"), path, lists, kind).CombinedOutput()
	require.NoError(t, err, "%s", text)
	c, err := readChunk(path)
	require.NoError(t, err)
	return c
}

// autocast makes all calls, and says how many of them were made with arguments cast by hand, too.
// On the device that the lists are for, none fails but what they call banned, and what CUDA's promote of a
// float16 that autocast in bfloat16 does not know.
func (c *chunk) autocast(t *testing.T, device torch.Device, own bool) (cast int) {
	t.Helper()
	for i := range c.cases {
		k := &c.cases[i]
		other := device.IsCUDA() && k.Autocast != "float16" && strings.HasSuffix(k.List, "promote")
		if own && !(other && k.Error != nil) {
			require.Equal(t, k.List == "banned", k.Error != nil, "%s: %+v", k.Op, k.Error)
		}
		torch.Scope(func() {
			mode := torch.AutocastMode{Device: device, Enabled: true, DType: must(torch.ParseDType(k.Autocast))}
			torch.WithAutocast(mode, func() { c.holds(t, k, "under autocast", torch.DType{}) })
			if k.Cast != "" {
				if cast++; k.Error == nil {
					c.holds(t, k, "cast by hand", must(torch.ParseDType(k.Cast)))
				}
			}
		})
	}
	return cast
}

// holds makes the call of a case, with its floating-point arguments in a dtype if it is not
// 0, and wants the results or the error that Python had.
func (c *chunk) holds(t *testing.T, k *Case, how string, dtype torch.DType) {
	t.Helper()
	call, err := prepare(c, k)
	require.NoError(t, err, k.Op)
	for name, v := range call.args {
		call.args[name] = castTo(v, dtype)
	}
	torch.ManualSeed(seed)
	var out []any
	thrown := torch.Try(func() { out, err = call.call(k) })
	require.NoError(t, err, k.Op)
	if k.Error != nil {
		require.Empty(t, k.Error.differs(thrown), "%s, %s, in %s", k.Op, how, k.Autocast)
		return
	}
	require.NoError(t, thrown, "%s, %s, in %s", k.Op, how, k.Autocast)
	require.Empty(t, c.results(k, out), "%s, %s, in %s", k.Op, how, k.Autocast)
}

func castTo(v any, dtype torch.DType) any {
	switch v := v.(type) {
	case torch.Tensor:
		if !dtype.IsZero() && v.IsFloatingPoint() {
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
