package leaks

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

var torchCases = cases{
	"autograd": func() {
		w := parameter(3)
		y := w.MulScalar(2)
		y.RetainGrad()
		y.Sum().Backward()
		w.Grad()
		torch.Grads([]torch.Tensor{w})
		w.SetGrad(random(3))
		_, _, _, _, _ = w.RequiresGrad(), w.IsLeaf(), y.GradFn(), w.Version(), w.IsInference()
		for _, edge := range y.GradFn().NextFunctions() {
			_, _, _, _, _ = edge.Node.Name(), edge.Node.ID(), edge.Node.Is(y.GradFn()), edge.Node.Defined(), edge.Node.String()
		}
		_, _ = y.IsView(), w.View(3, 1).Base()
		torch.ClearGrads([]torch.Tensor{w})
		z := w.Mul(w).Sum()
		torch.Grad([]torch.Tensor{z}, []torch.Tensor{w}, torch.GradOptions{CreateGraph: true})
		torch.Backward([]torch.Tensor{z}, nil)
		torch.ClearGrads([]torch.Tensor{w})
		w.SetRequiresGrad(false).SetData(random(3))
	},
	"calls by name": func() { torch.Call("add.Tensor", random(2), random(2), torch.Arg("alpha", 2)) },
	"composed": func() {
		torch.BroadcastShapes([]int{2, 1}, []int{3})
		torch.DivScalarTensor(1, positive(3))
		torch.TensorDotN(random(2, 3), random(3, 2), 1)
		torch.UnravelIndex(zeros(3), 2, 3)
	},
	"devices": func() {
		d := must(torch.ParseDevice("cpu"))
		_, _, _, _, _ = d.Type(), d.Index(), d.IsCPU(), d.IsCUDA(), d.String()
		torch.NewDevice(torch.DeviceCPU, 0)
		torch.CUDA(0)
		torch.DefaultDevice()
		torch.DeviceCount(torch.DeviceCPU)
		check(torch.CheckDevice(torch.CPU))
		torch.Synchronize(torch.CPU)
	},
	"kinds": func() {
		d := must(torch.ParseDType("float32"))
		_, _, _, _ = d.String(), d.IsFloatingPoint(), d.IsComplex(), d.Size()
		_, _, _ = torch.Strided.String(), torch.ChannelsLast.String(), torch.ReductionSum.String()
	},
	"errors": func() {
		err := torch.Try(func() { torch.Ones(2).Select(0, 9) })
		refuse(func() (err error) {
			defer torch.Recover(&err)
			torch.Ones(2).Select(0, 9)
			return nil
		}())
		_, _, _ = err.Error(), errors.Is(err, torch.ErrIndex), errors.Unwrap(err)
		_ = fmt.Sprintf("%+v %v", err, torch.CPU.Type())
		err.(*torch.Error).Caller()
		_, err = random(3).MarshalJSON()
		refuse(err)
		refuse(torch.Try(func() { torch.Throw("a test", torch.KindValue, "no %d", 1) }))
		_ = must(torch.Try1(func() torch.Tensor { return random(2) }))
	},
	"printing": func() {
		x := random(3, 3)
		torch.SetPrintOptions(torch.PrintOptions{})
		_, _, _ = x.String(), fmt.Sprintf("%v", x), torch.PrintOptions{Threshold: 1}.Sprint(x)
	},
	"indexing": func() {
		x := random(3, 4)
		x.Index(torch.Slice(0, 2), 1)
		x.At(0).Set(1.0)
		x.At(0).Add(1.0)
		x.Where(x.GtScalar(0), x.Neg())
		torch.Matrix[float32](torch.FromNested([][]float32{{1, 2}, {3, 4}}))
		for range x.Rows() {
		}
		for range x.Each(1) {
		}
	},
	"library": func() {
		check(torch.Load())
		_, _ = torch.Version(), torch.Config()
		torch.Operators()
		check(torch.Unhealthy())
		torch.NumThreads()
		torch.SetNumThreads(1)
		torch.NumInteropThreads()
		torch.OnWarning(func(string) {})
		torch.Warn("%s", "a warning of an extension")
	},
	"modes": func() {
		torch.NoGrad(func() { torch.IsGradEnabled(); torch.IsExporting() })
		torch.EnableGrad(func() {})
		torch.Inference(func() { torch.IsInference() })
		torch.WithAutocast(torch.AutocastMode{Device: torch.CPU, Enabled: true, DType: torch.BFloat16},
			func() { random(2, 2).MM(parameter(2, 2)) })
		torch.WithDevice(torch.CPU, func() { torch.Autocasting(torch.CPU) })
	},
	"limits": func() {
		torch.SetMemoryLimits(torch.CPU, torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{}))
		torch.SetConcurrency(torch.SetConcurrency(1))
		torch.Concurrency()
		torch.ResetPeakMemory()
	},
	"goroutines": func() {
		var done sync.WaitGroup
		done.Add(1)
		torch.Go(func() { defer done.Done(); random(2) })
		done.Wait()
	},
	"random numbers": func() {
		torch.ManualSeed(1)
		g := torch.NewGenerator(torch.CPU).ManualSeed(3)
		state := g.State()
		g.SetState(state)
		_, _ = g.InitialSeed(), g.Device()
		torch.DefaultGenerator(torch.CPU).State()
		g.Close()
	},
	"scopes": func() {
		torch.Scope(func() { random(2).Keep().Close() })
		torch.Scope(func() { random(2).MoveOut() })
		torch.Scope1(func() torch.Tensor { return random(2) })
		torch.Unscoped(func() { random(2) })
		torch.Close(random(2).Alias(), random(2))
		_ = torch.Stats().Live()
		torch.Scopes()
		torch.LiveOrigins()
	},
}

var valueCases = cases{
	"properties": func() {
		x := random(2, 3)
		_, _, _, _, _ = x.Defined(), x.Closed(), x.Is(x), x.DType(), x.Device()
		_, _, _, _, _ = x.Layout(), x.Dim(), x.NumEl(), x.ElementSize(), x.StorageOffset()
		_, _, _, _, _ = x.Shape(), x.Stride(), x.Size(0), x.IsContiguous(), x.IsConj()
		_, _, _, _, _ = x.IsNeg(), x.IsFloatingPoint(), x.IsComplex(), x.Storage(), bridge.Tensor[torch.Tensor](bridge.Handle(x.Alias()))
		x.Close()
	},
	"conversions": func() { random(2).To(torch.Float64).CPU() },
	"to Go": func() {
		x := random(2)
		_, _ = torch.Values[float32](x), x.Bytes()
		s := x.Sum()
		_, _, _, _ = torch.Value[float32](s), s.Item(), s.Float64(), s.To(torch.Int64).Int()
	},
	"from Go": func() {
		x := torch.FromSlice([]float32{1, 2})
		torch.FromValue(1)
		torch.FromBytes(x.Bytes(), torch.Float32, 2)
		torch.Fill(x, []float32{3, 4})
		torch.DTypeOf[float32]()
		_, _ = torch.ToBF16(1).Float32(), torch.ToF16(1).Float32()
	},
}

var lanesCases = cases{
	"Lanes": func() {
		lanes := torch.NewLanes(1)
		defer lanes.Close()
		check(lanes.Do(context.Background(), func() { random(2) }))
		_ = must(lanes.Do1(context.Background(), func() torch.Tensor { return random(2) }))
		lanes.Beside(func() { random(2).Close() })
		lanes.Stats()
	},
	"LanePanic": func() {
		lanes := torch.NewLanes(1)
		defer lanes.Close()
		defer func() {
			p := recover().(*torch.LanePanic)
			_, _ = p.Error(), p.Unwrap()
		}()
		_ = lanes.Do(context.Background(), func() { panic("boom") })
	},
}
