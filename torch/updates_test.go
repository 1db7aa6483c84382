package torch_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// optimizerRule is an optimizer with its numbers.
type optimizerRule struct {
	kind                       string
	decay, momentum, dampening float64
	nesterov, maximize         bool
	beta1                      float64
	lr                         float64
}

// state are a parameter and what an optimizer has of it, with a row that tells a negative zero from a positive one.
func (o optimizerRule) state(rows, columns int) (list []torch.Tensor) {
	list = append(list, torch.RandN(rows, columns))
	if o.kind != "sgd" || o.momentum != 0 {
		list = append(list, torch.RandN(rows, columns))
	}
	for _, t := range list {
		t.Select(0, 2).FillInPlace(math.Copysign(0, -1))
	}
	if o.kind != "sgd" {
		list = append(list, torch.Rand(rows, columns))
	}
	return list
}

// byLibtorch updates with a gradient that is there.
func (o optimizerRule) byLibtorch(state []torch.Tensor, gradient torch.Tensor, at float64) {
	lists := []any{state[:1], []torch.Tensor{gradient}}
	if o.kind == "sgd" {
		torch.Call("aten::_fused_sgd_", append(lists, state[1:], o.decay, o.momentum, o.lr, o.dampening, o.nesterov, o.maximize, false)...)
		return
	}
	steps := []torch.Tensor{torch.Full([]int{}, at)}
	torch.Call("aten::_fused_"+o.kind+"_", append(lists, state[1:2], state[2:], []torch.Tensor{}, steps, o.lr, o.beta1, 0.999, o.decay, 1e-8,
		false, o.maximize)...)
}

// byProduct updates with the gradient a x b.
func (o optimizerRule) byProduct(state []torch.Tensor, a, b torch.Tensor, at float64) {
	args, lr := []any{state[0], a, b}, torch.TensorOptions{DType: torch.Float64}.Full([]int{}, o.lr)
	if o.kind == "sgd" {
		var mean any
		if len(state) > 1 {
			mean = state[1]
		}
		torch.Call("libtorchgo::sgd_by_product_", append(args, mean, o.decay, o.momentum, lr, o.dampening, o.nesterov, o.maximize)...)
		return
	}
	torch.Call("libtorchgo::adam_by_product_", append(args, state[1], state[2], torch.Full([]int{}, at), o.kind == "adamw", lr, o.beta1, 0.999,
		o.decay, 1e-8, o.maximize)...)
}

var optimizerRules = []optimizerRule{
	{kind: "sgd", lr: 0.1},
	{kind: "sgd", lr: 0.1, decay: 0.01, maximize: true},
	{kind: "sgd", lr: 0.01, momentum: 0.9},
	{kind: "sgd", lr: 0.01, momentum: 0.9, dampening: 0.3, decay: 0.01},
	{kind: "sgd", lr: 0.3, momentum: 0.5, nesterov: true, decay: 1e-4, maximize: true},
	{kind: "adam", lr: 1e-3, beta1: 0.9},
	{kind: "adam", lr: 0.1, beta1: 0.4, decay: 0.01, maximize: true},
	{kind: "adamw", lr: 1e-3, beta1: 0.9},
	{kind: "adamw", lr: 1e-2, beta1: 0.8, decay: 0.1},
}

// A parameter that is updated by a product has the bits of libtorch's kernel with that as its gradient: before the order of the product's
// sums is known and afterwards, whatever numbers there are, and however many vectors of them.
func TestUpdateByProduct(t *testing.T) {
	torchtest.NoLeaks(t)
	threads := torch.NumThreads()
	defer torch.SetNumThreads(threads)
	for i, o := range optimizerRules {
		torch.SetNumThreads(1 + i%2)
		some := 70 + 2*i // an order is found for each size
		if i == 0 {
			some-- // numbers that fill no vector
		}
		for _, columns := range []int{some, 16 * (i + 1)} {
			torch.Scope(func() { o.updatesByProduct(t, columns) })
		}
	}
}

// updatesByProduct updates parameters with so many columns both ways.
func (o optimizerRule) updatesByProduct(t *testing.T, columns int) {
	const known, rows, depth = 40, 48, 64
	same := func(where any, a, b torch.Tensor, at float64) {
		want := o.state(rows, columns)
		var got []torch.Tensor
		for _, t := range want {
			got = append(got, t.Clone())
		}
		torch.Unsafe(func() {
			o.byLibtorch(want, a.MM(b), at)
			o.byProduct(got, a, b, at)
		})
		for k := range want {
			bits := func(t torch.Tensor) torch.Tensor { return t.MaskedFill(t.IsNaN(), math.NaN()).ViewDType(torch.Int32) }
			require.True(t, bits(got[k]).Equal(bits(want[k])), "%+v, %d, %v: %v, expected %v", o, columns, where, got[k], want[k])
		}
	}
	gradient, input := torch.RandN(depth, rows).ReLU(), torch.RandN(depth, columns)
	for at := range known {
		torch.Scope(func() { same(at, gradient.T(), input, float64(at+1)) })
	}
	for name, odd := range map[string]func(a, b torch.Tensor){
		"infinity":     func(_, b torch.Tensor) { b.Index(3, 7).FillInPlace(math.Inf(1)) },
		"no number":    func(_, b torch.Tensor) { b.Index(5, columns-1).FillInPlace(math.NaN()) },
		"not finite a": func(a, _ torch.Tensor) { a.Index(1, 1).FillInPlace(math.Inf(-1)) },
		"negative zero": func(a, b torch.Tensor) {
			const tiny = 1e-30
			a.Select(0, 2).ZeroInPlace()
			a.Index(2, 0).FillInPlace(tiny)
			b.Select(1, 3).FillInPlace(-1) // it stays one, unless it is added to zero
			b.Select(0, 0).FillInPlace(-tiny)
		},
	} {
		a, b := gradient.Clone().T(), input.Clone()
		odd(a, b)
		same(name, a, b, 50)
	}
}

// What has not the sizes of the product is refused, and nothing changes.
func TestUpdateByProductRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		a, b := torch.Ones(4, 5), torch.Ones(5, 6)
		o := optimizerRules[3]
		for name, state := range map[string][]torch.Tensor{
			"param":      {torch.Ones(4, 5), torch.Ones(4, 6)},
			"mean":       {torch.Ones(4, 6), torch.Ones(6, 4)},
			"dtype":      {torch.Ones(4, 6).To(torch.Float64), torch.Ones(4, 6)},
			"no mean":    {torch.Ones(4, 6)},
			"dimensions": {torch.Ones(24), torch.Ones(24)},
		} {
			before := state[0].Clone()
			err := torch.Try(func() { torch.Unsafe(func() { o.byProduct(state, a, b, 1) }) })
			require.ErrorIs(t, err, torch.ErrValue, name)
			torchtest.Equal(t, state[0], before)
		}
	})
}
