package leaks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cpp"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/library"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/mkldnn"
	"github.com/libtorch-go/libtorch/torch/profiler"
)

// scale is an operator with a derivative.
func scale(lib *library.Library) *library.Operator {
	return lib.Define("scale(Tensor x, float factor) -> Tensor").
		Impl(library.CPU, func(x torch.Tensor, factor float64) torch.Tensor { return x.MulScalar(factor) }).
		Fake(func(x torch.Tensor, _ float64) torch.Tensor { return torch.EmptyLike(x) }).
		Autograd(library.Formula{
			Setup: func(ctx *torch.FunctionCtx, args, _ []any) { ctx.State = args[1] },
			Backward: func(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
				return []torch.Tensor{grads[0].MulScalar(ctx.State)}
			},
		})
}

var toolCases = cases{
	"the switches of libraries": func() {
		cuda.With(cuda.Settings{Benchmark: cuda.On}, func() { _ = fmt.Sprint(cuda.Current()) })
		cuda.Set(cuda.Settings{})
		mkldnn.With(mkldnn.Settings{Enabled: mkldnn.Off}, func() { _ = fmt.Sprint(mkldnn.Current()) })
		mkldnn.Set(mkldnn.Settings{})
	},
	"an operator registered from Go": func() {
		lib := library.New("leaks")
		defer lib.Close()
		op := scale(lib)
		op.Call1(parameter(3), 2.0).Sum().Backward()
		op.Call(random(3), 2.0)
		_, _, _ = lib.Operator("scale").Name(), op.Schema().String(), library.Lookup("leaks::scale")
		_ = (library.CPU | library.CUDA).String()
	},
	"the progress of a run": func() {
		loss := &meter.Average{Name: "Loss", Summary: true}
		p := meter.NewProgress(io.Discard, "Epoch: [0]", 2, loss)
		p.Logs = []meter.Log{meter.NewCSV(io.Discard), meter.NewJSONLines(io.Discard)}
		check(p.Err())
		defer p.Close()
		for range 2 {
			loss.Add(random(1), 3)
			p.Step(3)
		}
		p.Summary()
		_, _, _, _, _ = loss.Val(), loss.Avg(), loss.Sum(), loss.Count(), loss.String()
		loss.Add(random(1), 3)
		loss.Reset()
		loss.Update(1, 1)
	},
	"a source without a name": func() { // one that compiles stays in the process
		refuse(cpp.LoadInline("", ""))
		e := &cpp.CompileError{Err: errors.New("exit status 1")}
		_, _ = e.Error(), e.Unwrap()
	},
	"a profile": func() {
		result := must(profiler.Profile(func(p *profiler.Profiler) {
			profiler.Record("range", func() { random(3).AddScalar(1) })
			check(p.Step())
		}, profiler.Options{ProfileMemory: true}))
		defer result.Close()
		for _, e := range result.Events() {
			_, _, _, _ = e.Key(), e.CPUTime(), e.SelfCPUTime(), e.DeviceTime()
			_, _, _ = e.SelfDeviceTime(), e.SelfCPUMemory(), e.SelfDeviceMemory()
		}
		averages := result.KeyAverages()
		_, _, _ = result.Table(), averages.Table(), averages.Total()
		_, _ = averages.Total().AverageCPUTime(), averages.Total().AverageDeviceTime()
		path := filepath.Join(os.TempDir(), "leaks.trace.json")
		check(result.ExportChromeTrace(path))
		check(os.Remove(path))
	},
	"a profile that is stopped": func() {
		p := must(profiler.Start())
		must(p.Stop()).Close()
		_ = profiler.CPU.String()
	},
}
