package fuzz

import (
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	ninit "github.com/libtorch-go/libtorch/torch/nn/init"
	nnutils "github.com/libtorch-go/libtorch/torch/nn/utils"
	"github.com/libtorch-go/libtorch/torch/nn/utils/rnn"
	"github.com/libtorch-go/libtorch/torch/signal/windows"
)

type tensor = torch.Tensor

// byHand are the functions of package torch that no generator wrote.
var byHand = []any{
	torch.BroadcastShapes, torch.DivScalarTensor, torch.TensorDotN, torch.UnravelIndex,
	tensor.RequiresGrad, tensor.IsLeaf, tensor.Grad, tensor.RetainGrad, tensor.IsView, tensor.Base, tensor.SetData,
	torch.Grads, torch.ClearGrads, tensor.Backward, torch.Backward, torch.Grad,
	tensor.DType, tensor.Device, tensor.Layout, tensor.Dim, tensor.NumEl, tensor.ElementSize, tensor.StorageOffset, tensor.Shape,
	tensor.Stride, tensor.Size,
	tensor.IsContiguous, tensor.IsInference, tensor.IsConj, tensor.IsNeg, tensor.IsFloatingPoint, tensor.IsComplex, tensor.Version, tensor.CPU,
	tensor.Bytes, tensor.MarshalJSON, tensor.Item, tensor.Float64, tensor.Int, tensor.String, tensor.Alias,
	tensor.Index,
	entry{"Tensor.GradFn", func(x tensor) string { return x.GradFn().Name() }},
	entry{"Tensor.SetIndex", func(x tensor, value any, at ...any) tensor { x.At(at...).Set(value); return x }},
	entry{"Tensor.AddIndex", func(x tensor, value any, at ...any) tensor { x.At(at...).Add(value); return x }},
	entry{"Tensor.SetRequiresGrad", func(x tensor, on bool) { x.SetRequiresGrad(on) }},
	entry{"Tensor.To", func(x tensor, d torch.DType, f torch.MemoryFormat, device torch.Device, copied bool) tensor {
		if copied {
			return x.To(d, f, device, torch.Copy)
		}
		return x.To(d, f, device)
	}},
	// A gradient with history that leads back to its tensor stays until it is taken off.
	entry{"Tensor.SetGrad", func(x, gradient tensor) tensor {
		x.SetGrad(gradient)
		kept := x.Grad().Clone()
		x.SetGrad(torch.Tensor{})
		return kept
	}},
	entry{"Tensor.Keep", func(x tensor) { x.Keep().Close() }},
	entry{"Tensor.Storage", func(x tensor) []int { s := x.Storage(); return []int{int(s.Bytes)} }},
	entry{"Tensor.Each", func(x tensor, dim int) (list []tensor) {
		for _, row := range x.Each(dim) {
			if list = append(list, row); len(list) == 5 {
				break
			}
		}
		return list
	}},
	entry{"Values", func(x tensor) []float32 { return torch.Values[float32](x) }},
	entry{"Values64", func(x tensor) []int64 { return torch.Values[int64](x) }},
	entry{"ValuesComplex", func(x tensor) []complex64 { return torch.Values[complex64](x) }},
	entry{"ValuesHalf", func(x tensor) []torch.F16 { return torch.Values[torch.F16](x) }},
	entry{"Value", func(x tensor) float64 { return torch.Value[float64](x) }},
	entry{"Fill", func(x tensor, values []float32) tensor { torch.Fill(x, values); return x }},
	entry{"Fill64", func(x tensor, values []int64) tensor { torch.Fill(x, values); return x }},
	entry{"FromSlice", func(values []float32, shape ...int) tensor { return torch.FromSlice(values, shape...) }},
	entry{"FromBytes", func(values []byte, d torch.DType, shape ...int) tensor { return torch.FromBytes(values, d, shape...) }},
	entry{"FromValue", func(v float64) tensor { return torch.FromValue(v) }},
	entry{"PrintOptions.Sprint", printed},
	// Package fmt itself writes pointers, and does not ask the tensor.
	entry{"Sprintf", func(x tensor, verb string) string { return fmt.Sprintf("%"+strings.TrimLeft(verb, "p"), x) }},
	entry{"Hook", func(x tensor, g tensor) tensor {
		defer x.RegisterHook(func(tensor) tensor { return g }).Remove()
		x.Sum().Backward()
		return x.Grad()
	}},
	entry{"Generator", func(seed uint64, state tensor) tensor {
		g := torch.NewGenerator(torch.CPU)
		defer g.Close()
		g.ManualSeed(seed).SetState(state)
		return g.State()
	}},
	entry{"Checkpointed", func(x, y tensor) []tensor {
		var out []tensor
		torch.NoGrad(func() { out = append(out, x.Add(y)) })
		torch.Inference(func() { out = append(out, x.Mul(y)) })
		torch.WithAutocast(torch.AutocastMode{Device: torch.CPU, Enabled: true}, func() { out = append(out, x.MatMul(y)) })
		return out
	}},
}

func printed(x tensor, precision *int, threshold int, edge *int, width int, science *bool) string {
	return torch.PrintOptions{Precision: precision, Threshold: threshold, EdgeItems: edge, LineWidth: width, SciMode: science}.Sprint(x)
}

// tools are those of the packages around modules.
var tools = []any{
	nnutils.ClipGradNorm, nnutils.GetTotalNorm, nnutils.ClipGradsWithNorm, nnutils.ClipGradValue, nnutils.ParametersToVector,
	nnutils.VectorToParameters,
	nnutils.GroupByDeviceAndDType, rnn.PadSequence, rnn.UnpadSequence, rnn.InvertPermutation,
	entry{"rnn.PackPaddedSequence", func(x tensor, lengths []int, batchFirst, unsorted bool) []tensor {
		p := rnn.PackPaddedSequence(x, lengths, rnn.PackOptions{BatchFirst: batchFirst, Unsorted: unsorted})
		return append(rnn.UnpackSequence(p), p.Data, p.BatchSizes, p.SortedIndices, p.UnsortedIndices)
	}},
	entry{"rnn.UnpackSequence", func(data, sizes, sorted, unsorted tensor) []tensor {
		return rnn.UnpackSequence(&rnn.PackedSequence{Data: data, BatchSizes: sizes, SortedIndices: sorted, UnsortedIndices: unsorted})
	}},
	windows.Bartlett, windows.Blackman, windows.Cosine, windows.Exponential, windows.Gaussian, windows.GeneralCosine,
	windows.GeneralHamming, windows.Hamming,
	windows.Hann, windows.Kaiser, windows.Nuttall,
	ninit.Gain, ninit.Fans, ninit.KaimingUniform, ninit.KaimingNormal, ninit.XavierUniform, ninit.XavierNormal, ninit.Uniform,
	ninit.Normal, ninit.TruncNormal,
	ninit.Constant, ninit.Ones, ninit.Zeros, ninit.Eye, ninit.Dirac, ninit.Orthogonal, ninit.Sparse,
}
