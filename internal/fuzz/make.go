package fuzz

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// maker makes the arguments of a case.
type maker struct {
	made   []torch.Tensor // those of the case, in order
	leaves []torch.Tensor // that want gradients

	called  bool // the arguments were made
	closers []func()
	log     *log
}

// unmade is the panic of a maker that finds nonsense in a case.
type unmade struct{ text string }

func (m *maker) value(v any) any {
	switch v := v.(type) {
	case *Tensor:
		// Counted before it is made: a form may refuse.
		m.made = append(m.made, torch.Tensor{})
		at := len(m.made) - 1
		t := m.forms(v.base(), v.Shape, v.Forms)
		m.made[at] = t
		return t
	case Ref:
		if v.Number >= len(m.made) {
			panic(unmade{fmt.Sprintf("there is no tensor &%d", v.Number)})
		}
		return m.forms(m.made[v.Number], nil, v.Forms)
	case given:
		return v.v
	case Word:
		return m.word(v)
	case List:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = m.value(x)
		}
		return list
	case int64:
		return int(v)
	}
	return v
}

var layouts = map[string]torch.Layout{
	"strided": torch.Strided, "sparse_coo": torch.Sparse, "sparse_csr": torch.SparseCSR, "sparse_csc": torch.SparseCSC,
	"sparse_bsr": torch.SparseBSR, "sparse_bsc": torch.SparseBSC, "mkldnn": torch.MKLDNN, "jagged": torch.Jagged,
}

var formats = map[string]torch.MemoryFormat{
	"contiguous_format": torch.ContiguousFormat, "preserve_format": torch.PreserveFormat,
	"channels_last": torch.ChannelsLast, "channels_last_3d": torch.ChannelsLast3d,
}

// word is what a word stands for; one that is a number is that enumerator, known or not.
func (m *maker) word(w Word) any {
	n, err := strconv.Atoi(w.Name)
	number := err == nil
	switch w.Kind {
	case "dtype":
		if number {
			panic(unmade{fmt.Sprintf("Go has no dtype of number %d", n)})
		}
		return dtype(w.Name)
	case "device":
		d, err := torch.ParseDevice(w.Name)
		if err != nil {
			panic(unmade{err.Error()})
		}
		return d
	case "layout":
		if number {
			panic(unmade{fmt.Sprintf("Go has no layout of number %d", n)})
		}
		return layouts[w.Name]
	case "format":
		if number {
			panic(unmade{fmt.Sprintf("Go has no memoryformat of number %d", n)})
		}
		return formats[w.Name]
	case "gen":
		g := torch.NewGenerator(torch.CPU)
		m.later(g.Close)
		return g.ManualSeed(uint64(n))
	}
	v, ok := goValues[w.Name]
	if !ok {
		panic(unmade{"there is no value go:" + w.Name})
	}
	return v
}

// goValues are values that only Go has.
var goValues = map[string]any{
	"all": torch.All, "ellipsis": torch.Ellipsis, "slice_1": torch.Slice(0, 1), "slice_step": torch.Slice(0, torch.End, 2),
	"slice_back": torch.Slice(3, 1), "slice_neg": torch.Slice(-2, torch.End), "slice_zero_step": torch.SliceRange{Stop: 3},
	"slice_minus_step": torch.SliceRange{Stop: 3, Step: -1},
	"slice_huge":       torch.SliceRange{Start: math.MinInt, Stop: math.MaxInt, Step: math.MaxInt},
	"ints":             []int{0, 0}, "ints_far": []int{math.MaxInt, -1}, "ints_none": []int{}, "bools": []bool{true, false},
	"bools_none": []bool{},
	"uint8":      uint8(1), "int8": int8(-1), "uint64": uint64(math.MaxUint64), "float32": float32(0.5), "struct": struct{}{},
}

func dtype(name string) torch.DType {
	if d, ok := dtypes[name]; ok {
		return d
	}
	d, err := torch.ParseDType(name)
	if err != nil {
		panic(unmade{err.Error()})
	}
	dtypes[name] = d
	return d
}

var dtypes = map[string]torch.DType{}

// largest is how many elements the tensor of a case may have.
const largest = 1 << 22

func (t *Tensor) numel() int {
	n := 1
	for _, s := range t.Shape {
		if s < 0 || s > 0 && n > largest/s {
			panic(unmade{fmt.Sprintf("a tensor of shape %v is too large", t.Shape)})
		}
		n *= s
	}
	return n
}

// base is the tensor with its elements, before anything is done to it.
func (t *Tensor) base() torch.Tensor {
	if len(t.Forms) > 0 && t.Forms[0] == "wide" {
		return torch.TensorOptions{DType: dtype(t.DType)}.Zeros(1).Expand(t.Shape...)
	}
	n, d := t.numel(), dtype(t.DType)
	shape := t.Shape
	if len(shape) == 0 {
		shape = []int{}
	}
	switch {
	case d == torch.QInt8 || d == torch.QUint8 || d == torch.QInt32:
		return call("quantize_per_tensor", torch.FromSlice(floats(t.Fill, n, t.Shape), n).Reshape(shape...), 0.5, 1, d)
	case quantized(d):
		return torch.FromBytes(make([]byte, n*d.Size()), torch.Uint8, n*d.Size()).ViewDType(d).Reshape(shape...)
	case t.Data != nil:
		return torch.FromSlice(literal(t.Data, n), n).Reshape(shape...).To(d)
	case d.IsFloatingPoint() || d.IsComplex():
		return real64(t.Fill, n, t.Shape, d).Reshape(shape...)
	}
	return torch.FromSlice(integers(t.Fill, n, d), n).Reshape(shape...).To(d)
}

// literal repeats or cuts the numbers: shapes are mutated.
func literal(data []int64, n int) []int64 {
	if len(data) == n {
		return data
	}
	list := make([]int64, n)
	for i := range list {
		if len(data) > 0 {
			list[i] = data[i%len(data)]
		}
	}
	return list
}

// real64 are elements of a floating or complex dtype.
func real64(fill string, n int, shape []int, d torch.DType) torch.Tensor {
	if d == torch.Float32 {
		return torch.FromSlice(floats(fill, n, shape), n)
	}
	if !d.IsComplex() {
		return torch.FromSlice(floats(fill, n, shape), n).To(d)
	}
	f := floats(fill, n, shape)
	c := make([]complex64, n)
	for i := range c {
		c[i] = complex(f[i], 0)
		if fill != "spd" && fill != "z" && fill != "o" {
			c[i] = complex(f[i], f[(i+1)%n])
		}
	}
	return torch.FromSlice(c, n).To(d)
}

var mixture = []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)),
	math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 1 << 31, 1 << 24}

// floats are the numbers of a fill; peer.py has the same.
func floats(fill string, n int, shape []int) []float32 {
	list := make([]float32, n)
	m := 1
	if len(shape) > 0 {
		m = max(1, shape[len(shape)-1])
	}
	for i := range list {
		list[i] = number(fill, i, m)
	}
	return list
}

// number is element i of a fill, in rows of m.
func number(fill string, i, m int) float32 {
	switch fill {
	case "z":
		return 0
	case "o":
		return 1
	case "p":
		return (float32(i*7%11) + 0.5) / 11
	case "q":
		return (float32(i*7%11) + 1) / 4
	case "nan":
		return mixture[4]
	case "inf":
		return mixture[5]
	case "ninf":
		return mixture[6]
	case "max":
		return math.MaxFloat32
	case "min":
		return -math.MaxFloat32
	case "mix":
		return mixture[i*7%len(mixture)]
	case "spd":
		r, c := i/m%m, i%m
		if r == c {
			return float32(m)
		}
		return (float32((r+c)%3) - 1) / 4
	}
	if k, ok := strings.CutPrefix(fill, "i"); ok {
		n, _ := strconv.Atoi(k)
		return float32(i * 5 % max(1, n))
	}
	return (float32((i*7+3)%11) - 5) / 4
}

var wholes = []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 31, 1 << 32, 127, -128, 1 << 53, math.MaxInt32, math.MinInt32}

// integers are the numbers of a fill for dtypes that are not floating.
func integers(fill string, n int, d torch.DType) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = whole(fill, i, d)
	}
	return list
}

func whole(fill string, i int, d torch.DType) int64 {
	bits := 8*d.Size() - 1
	switch fill {
	case "max":
		return int64(1)<<bits - 1
	case "min":
		return -1 << bits
	case "mix":
		return wholes[i*7%len(wholes)]
	case "":
		return int64((i*7+3)%11) - 5
	}
	return int64(number(fill, i, 1))
}

// forms does to x what the words say.
func (m *maker) forms(x torch.Tensor, shape []int, words []string) torch.Tensor {
	if len(words) > 1 && words[0] == "wide" {
		panic(unmade{"a tensor without end is not to be computed with"})
	}
	for _, w := range words {
		do, ok := forms[w]
		if !ok {
			panic(unmade{"there is no form +" + w})
		}
		x = do(x)
		switch w {
		case "nonleaf":
			m.leaf(x)
			x = x.MulScalar(1)
			m.leaves = append(m.leaves, x)
		case "grad":
			m.leaf(x)
			m.leaves = append(m.leaves, x)
		}
	}
	return x
}

func call(op string, args ...any) torch.Tensor { return torch.Call(op, args...)[0].(torch.Tensor) }

// forms are what can be done to a tensor. Most keep shape and elements.
var forms = map[string]func(torch.Tensor) torch.Tensor{
	"wide": func(x torch.Tensor) torch.Tensor { return x }, // expanded from one element: see base
	"t": func(x torch.Tensor) torch.Tensor {
		if x.Dim() < 2 {
			return x
		}
		return x.Transpose(-1, -2).Contiguous().Transpose(-1, -2)
	},
	"step":   func(x torch.Tensor) torch.Tensor { return torch.Stack([]torch.Tensor{x, x}, x.Dim()).Select(-1, 0) },
	"offset": func(x torch.Tensor) torch.Tensor { return torch.Stack([]torch.Tensor{x, x}, 0).Select(0, 1) },
	"expand": func(x torch.Tensor) torch.Tensor {
		shape := x.Shape()
		if len(shape) == 0 || shape[0] == 0 {
			return x
		}
		return x.Narrow(0, 0, 1).Expand(shape...)
	},
	"overlap": func(x torch.Tensor) torch.Tensor {
		shape := x.Shape()
		return x.Reshape(-1).Contiguous().AsStrided(shape, slices.Repeat([]int{1}, len(shape)))
	},
	"cl": func(x torch.Tensor) torch.Tensor {
		switch x.Dim() {
		case 4:
			return x.To(torch.ChannelsLast)
		case 5:
			return x.To(torch.ChannelsLast3d)
		}
		return x
	},
	"coo": func(x torch.Tensor) torch.Tensor { return call("to_sparse", x) },
	"uncoo": func(x torch.Tensor) torch.Tensor {
		c := call("to_sparse", x)
		return torch.Cat([]torch.Tensor{c, c}, 0)
	},
	"hybrid": func(x torch.Tensor) torch.Tensor { return call("to_sparse.sparse_dim", x, 1) },
	"csr":    func(x torch.Tensor) torch.Tensor { return call("to_sparse_csr", x) },
	"csc":    func(x torch.Tensor) torch.Tensor { return call("to_sparse_csc", x) },
	"bsr":    func(x torch.Tensor) torch.Tensor { return call("to_sparse_bsr", x, []int{1, 1}) },
	"bsc":    func(x torch.Tensor) torch.Tensor { return call("to_sparse_bsc", x, []int{1, 1}) },
	"mkldnn": func(x torch.Tensor) torch.Tensor { return call("to_mkldnn", x) },
	"meta":   func(x torch.Tensor) torch.Tensor { return x.To(torch.Meta) },
	"nested": func(x torch.Tensor) torch.Tensor {
		return call("_nested_tensor_from_tensor_list", []torch.Tensor{x, x})
	},
	"conj": func(x torch.Tensor) torch.Tensor { return call("_conj", x) },
	"neg":  func(x torch.Tensor) torch.Tensor { return call("_neg_view", x) },
	"zero": func(x torch.Tensor) torch.Tensor {
		return call("_efficientzerotensor", x.Shape(), torch.Arg("dtype", x.DType()))
	},
	"qchannel": func(x torch.Tensor) torch.Tensor {
		n := x.Size(0)
		return call("quantize_per_channel", x, torch.Full([]int{n}, 0.5), torch.TensorOptions{DType: torch.Int64}.Zeros(n), 0, torch.QInt8)
	},
	"undefined": func(torch.Tensor) torch.Tensor { return torch.Tensor{} },
	"closed":    func(x torch.Tensor) torch.Tensor { x = x.Alias(); x.Close(); return x },
	"grad":      func(x torch.Tensor) torch.Tensor { return x.Detach().SetRequiresGrad(true) },
	"nonleaf":   func(x torch.Tensor) torch.Tensor { return x.Detach().SetRequiresGrad(true) }, // of this leaf: see forms
	"view":      func(x torch.Tensor) torch.Tensor { return x.View(x.Shape()...) },
	"row":       func(x torch.Tensor) torch.Tensor { return x.Select(0, 0) },
	"inference": func(x torch.Tensor) (y torch.Tensor) {
		torch.Inference(func() { y = x.Clone() })
		return y
	},
}

// calling is said when the arguments are made.
func (m *maker) calling() {
	m.called = true
	m.log.stage(stageCall)
}

// later has fn run when the call is over.
func (m *maker) later(fn func()) { m.closers = append(m.closers, fn) }

// leaf takes its gradient from x at the end: CreateGraph makes one that refers to x, a cycle of which libtorch warns.
func (m *maker) leaf(x torch.Tensor) {
	kept := x.Keep()
	m.later(func() {
		kept.SetGrad(torch.Tensor{})
		kept.Close()
	})
}

func (m *maker) close() {
	for _, fn := range slices.Backward(m.closers) {
		fn()
	}
}
