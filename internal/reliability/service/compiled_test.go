package service

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/vision/models"
)

// compiled is a model, or a function, as a compiled program.
func compiled(model any, x torch.Tensor) *export.Compiled {
	program, err := export.Export(model, []any{x})
	if err != nil {
		panic(err)
	}
	defer program.Close()
	c, err := export.Compile(program)
	if err != nil {
		panic(err)
	}
	return c
}

// run gives the program an input and forgets the results.
func run(c *export.Compiled, x torch.Tensor) {
	torch.Scope(func() {
		torch.Inference(func() {
			if _, err := c.Run(x); err != nil {
				panic(err)
			}
		})
	})
}

// childCompiled has the peak of the runs: what compiling takes besides, other weights for a moment, is over before.
func childCompiled() {
	work(func(model *models.ResNet, x torch.Tensor) func() {
		nn.Eval(model)
		c := compiled(model, x)
		nn.Close(model)
		torch.GC()
		if err := proc.ResetPeak(os.Getpid()); err != nil {
			panic(err)
		}
		return func() { run(c, x) }
	})
}

func TestCompiledResNet50TakesLessMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	var own, eager footprint
	answer(t, child(t, "compiled"), &own)
	answer(t, child(t, "inference"), &eager)
	part := func(own, eager int) float64 { return float64(own) / float64(eager) }
	reliability.AtMost(t, "peak memory of ResNet-50's runs, compiled, as a part of that of its own forward, above that before the first",
		part(own.Peak-own.Ready, eager.Peak-eager.Ready), 0.8)
	reliability.AtMost(t, "memory of ResNet-50 at rest, compiled, above that of an empty process, as a part of the network's own",
		part(own.Ready-own.Idle, eager.Ready-eager.Idle), 4) // the weights as they are, for gradients, and as they are read
	reliability.Note(t, "peak memory of a process that runs ResNet-50, compiled", megabytes(own.Peak), "MB")
	reliability.Note(t, "peak memory of a process that runs ResNet-50", megabytes(eager.Peak), "MB")
}

// childRuns runs a small program again and again, and looks at the memory that is left when Go's collector has given back what it had no
// time for: where others have the processors it may come tens of milliseconds late, which is megabytes here.
func childRuns() {
	const looks = 1000
	torch.SetNumThreads(1)
	w := torch.RandN(64, 32)
	x := torch.RandN(8, 32)
	c := compiled(func(x torch.Tensor) torch.Tensor { return F.Softmax(F.Linear(x, w).ReLU().Add(w.Sum()), 1) }, x)
	n := reliability.Size(1_000_000, 100_000)
	warmUp := n / 10 // Go starts its threads
	var resident span
	for i := range warmUp + n {
		if i >= warmUp && i%(n/looks) == 0 {
			debug.FreeOSMemory()
			resident.add(usage().Resident)
		}
		run(c, x)
	}
	tell(resident)
}

func TestCompiledRunsTakeNoMemory(t *testing.T) {
	var resident span
	answer(t, child(t, "runs"), &resident)
	reliability.Note(t, "runs of a compiled program", reliability.Size(1_000_000, 100_000))
	reliability.AtMost(t, "resident memory over the runs of a compiled program, highest less lowest", megabytes(resident.width()), 4, "MB")
}
