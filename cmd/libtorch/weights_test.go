package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/checkpoint"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A TorchScript program is told as what it is, by a process of its own.
func TestInspectTorchScript(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "m.pt")
	w := torch.Ones(2)
	defer w.Close()
	m, err := jit.Define("Net", "def forward(self, x, n: int = 2):\n    return x * n",
		jit.DefineOptions{Buffers: map[string]torch.Tensor{"w": w}})
	require.NoError(t, err)
	defer m.Close()
	require.NoError(t, m.Save(path))
	require.Equal(t, "a TorchScript program: code, to be loaded from whom one trusts (torch/jit)\nNet\n"+
		"forward(x: Tensor, n: int = 2) -> Tensor\n1 tensors, 8 bytes\n", clitest.Run(t, run, "inspect", path))
}

// What is in a file, and the same in the other format and back.
func TestInspectAndConvert(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	model := nn.NewLinear(3, 2)
	defer nn.Close(model)
	require.NoError(t, pt.Save(file("a.pt"), map[string]any{"model": nn.StateDict(model), "epoch": 7, "rates": []float64{0.5, 0.25}}))
	require.Equal(t, "epoch = 7\nmodel.weight  float32  [2 3]  24\nmodel.bias    float32  [2]    8\nrates = [0.5 0.25]\n2 tensors, 32 bytes\n",
		clitest.Run(t, run, "inspect", file("a.pt")))
	require.Contains(t, clitest.Run(t, run, "inspect", "-hash", file("a.pt")), "sha256 ")

	clitest.Run(t, run, "convert", "-part", "model", file("a.pt"), file("b.safetensors"))
	require.Equal(t, "bias    float32  [2]    8\nweight  float32  [2 3]  24\n2 tensors, 32 bytes\n",
		clitest.Run(t, run, "inspect", file("b.safetensors")))
	require.Equal(t, file("c.pth")+": 2 tensors\n", clitest.Run(t, run, "convert", file("b.safetensors"), file("c.pth")))
	state, err := pt.LoadStateDict(file("c.pth"))
	require.NoError(t, err)
	torchtest.Equal(t, state["weight"], model.Weight.Detach())
	for _, s := range state {
		s.Close()
	}
	clitest.Run(t, run, "convert", file("c.pth"), file("d.safetensors"))
	first, err := os.ReadFile(file("b.safetensors"))
	require.NoError(t, err)
	second, err := os.ReadFile(file("d.safetensors"))
	require.NoError(t, err)
	require.Equal(t, first, second)

	saved, err := checkpoint.Open(file("run"), checkpoint.Parts{"model": model})
	require.NoError(t, err)
	require.NoError(t, saved.Save(checkpoint.Point{Step: 3}))
	require.Contains(t, clitest.Run(t, run, "inspect", file("run/step-0000000003.1")), "progress.step = 3")
	require.NoError(t, os.Truncate(file("run/step-0000000003.1/checkpoint.pt"), 9))
	clitest.Fails(t, "libtorch", 1, "is damaged", "inspect", file("run/step-0000000003.1"))
	clitest.Fails(t, "libtorch", 1, "no such file", "inspect", file("x"))
	clitest.Fails(t, "libtorch", 1, `no state dict "x"`, "convert", "-part", "x", file("a.pt"), file("x.pt"))
	clitest.Fails(t, "libtorch", 2, "neither .pt", "convert", file("c.pth"), file("x.bin"))
}
