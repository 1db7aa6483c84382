package leaks

import (
	"context"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/serve"
)

// serveCases are about services.
var serveCases = cases{
	"a server": func() {
		ctx := context.Background()
		x, y := serve.Spec{Name: "x", DType: torch.Float32, Shape: []int{-1, 3}}, serve.Spec{Name: "y", DType: torch.Float32, Shape: []int{-1, 2}}
		s := must(serve.NewContext(ctx, serve.Module(nn.NewLinear(3, 2), x, y), serve.Options{Lanes: 1, MaxBatch: 4, Buckets: []int{2, 4}}))
		must(s.Run(ctx, random(3, 3)))
		_, bad := s.Run(ctx, random(3))
		refuse(bad)
		_ = serve.Status(bad)
		wrong := &serve.InputError{Err: bad}
		_, _, _, _ = wrong.Error(), wrong.Unwrap(), wrong.Is(serve.ErrInput), s.Signature().Inputs[0].String()
		check(s.Swap(must(serve.Program(doubling()))))
		check(s.SwapContext(ctx, must(serve.ProgramContext(ctx, doubling()))))
		before := s.Stats()
		must(s.Do(ctx, serve.Request{Inputs: []torch.Tensor{random(3)}}))
		since := s.Stats().Since(before)
		_, _ = since.Total.Mean(), since.Total.Quantile(0.5)
		check(s.Ready())
		check(s.Shutdown(ctx))
		s.Close()
	},
	"a server of TorchScript": func() {
		m := must(jit.Define("Net", "def forward(self, x):\n    return x * 2"))
		_ = m.Stateful()
		x := serve.Spec{Name: "x", DType: torch.Float32, Shape: []int{-1, 3}}
		s := must(serve.New(must(serve.TorchScript(m, []serve.Spec{x}, []serve.Spec{x})), serve.Options{Lanes: 1}))
		must(s.Run(context.Background(), random(1, 3)))
		s.Close()
	},
	"sequences": func() {
		x := []serve.Spec{{Name: "x", DType: torch.Float32, Shape: []int{-1}}}
		state := []serve.Spec{{Name: "sum", DType: torch.Float32, Shape: []int{-1}}}
		s := must(serve.New(serve.Func(serve.Signature{Inputs: x, Outputs: x, States: state}, func(in []torch.Tensor) []torch.Tensor {
			sum := in[0].Add(in[1])
			return []torch.Tensor{sum, sum}
		}), serve.Options{Lanes: 1}))
		defer s.Close()
		for i := range 3 {
			must(s.Do(context.Background(), serve.Request{Inputs: []torch.Tensor{random(2)}, Sequence: "a", Start: i == 0}))
		}
	},
}
