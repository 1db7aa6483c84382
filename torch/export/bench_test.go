package export_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/vision/models"
)

// A step of a small network, as it is and recorded: eight layers of 32 with ReLU, eight rows, SGD.
func BenchmarkStep(b *testing.B) {
	torch.SetNumThreads(1)
	var net nn.Sequential
	for range 8 {
		net = append(net, nn.NewLinear(32, 32), nn.ReLU{})
	}
	opt := optim.NewSGD(nn.Parameters(net), 0.01)
	x, y := torch.RandN(8, 32), torch.RandN(8, 32)
	fn := func(in []torch.Tensor) []torch.Tensor {
		opt.ZeroGrad()
		loss := F.MSELoss(net.Forward(in[0]), in[1])
		loss.Backward()
		opt.Step()
		return []torch.Tensor{loss}
	}
	step := export.CompileStep(fn)
	defer step.Close()
	for name, run := range map[string]func(){
		"eager":    func() { fn([]torch.Tensor{x, y}) },
		"recorded": func() { _, _ = step.Run(x, y) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				torch.Scope(run)
			}
		})
	}
}

// What a call costs without Go between the operators: a chain of small additions, and a network on a small image.
func BenchmarkCompiled(b *testing.B) {
	torch.SetNumThreads(1)
	x := torch.Ones(4)
	image := torch.RandN(1, 3, 32, 32)
	chain := func(x torch.Tensor) torch.Tensor {
		y := x
		for range 64 {
			y = y.Add(x)
		}
		return y
	}
	net := models.ResNet18(10)
	nn.Eval(net)
	for _, c := range []struct {
		name  string
		model func(torch.Tensor) torch.Tensor
		x     torch.Tensor
	}{{"additions", chain, x}, {"resnet18", net.Forward, image}} {
		var model any = c.model
		if c.name == "resnet18" {
			model = net
		}
		program, err := export.Export(model, []any{c.x})
		require.NoError(b, err)
		defer program.Close()
		compiled := compiled(b, program)
		module, err := program.Module()
		require.NoError(b, err)
		torch.NoGrad(func() {
			for kind, run := range map[string]func(){
				"eager":    func() { c.model(c.x) },
				"module":   func() { _, _ = module.Run(c.x) },
				"compiled": func() { _, _ = compiled.Run(c.x) },
			} {
				b.Run(fmt.Sprint(c.name, "/", kind), func(b *testing.B) {
					for b.Loop() {
						torch.Scope(run)
					}
				})
			}
		})
	}
}
