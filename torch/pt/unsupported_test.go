package pt_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// What Python saves and is not supported here is refused in words that say so, and what to do.
func TestUnsupported(t *testing.T) {
	torchtest.NoLeaks(t)
	const nested, quantized = "a nested tensor is not supported here", "a quantized tensor of quint4x2 is not supported here"
	dir := t.TempDir()
	out, err := peer.Command(t, "-c", `import sys, torch
parts = [torch.zeros(2), torch.ones(3)]
for name, t in {"nested": torch.nested.nested_tensor(parts), "jagged": torch.nested.nested_tensor(parts, layout=torch.jagged),
                "quantized": torch.quantize_per_channel(torch.ones(4, 4), torch.ones(4), torch.zeros(4), 0, torch.quint4x2)}.items():
    torch.save(t, sys.argv[1] + "/" + name)
`, dir).CombinedOutput()
	require.NoError(t, err, string(out))
	for name, want := range map[string]string{"nested": nested, "jagged": nested, "quantized": quantized} {
		_, err := pt.Load(filepath.Join(dir, name))
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, pt.ErrFormat, "the file is sound")
	}
	torch.Scope(func() {
		var b bytes.Buffer
		require.ErrorContains(t, pt.Write(&b, aten.NestedTensorFromTensorList([]torch.Tensor{torch.Zeros(2), torch.Zeros(3)})), nested)
		packed := aten.QuantizePerChannel(torch.Ones(4, 4), torch.Ones(4), torch.Zeros(4), 0, torch.QUint4x2)
		require.ErrorContains(t, pt.Write(&b, packed), quantized)
		require.Zero(t, b.Len())
	})
}
