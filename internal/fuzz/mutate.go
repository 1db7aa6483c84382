package fuzz

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// mutator makes calls out of chance.
type mutator struct {
	*rand.Rand
	tensors int // of the case so far
}

// caseAt is call number index of a part: the same for the same seed.
func (p *part) caseAt(seed, index uint64) (*target, Case) {
	h := fnv.New64a()
	h.Write([]byte(p.name))
	m := mutator{Rand: rand.New(rand.NewPCG(seed^h.Sum64(), index))}
	t := p.targetAt(index)
	return t, m.make(t, p.byName)
}

func (p *part) targetAt(index uint64) *target { return p.targets[index%uint64(len(p.targets))] }

func oneOf[T any](m *mutator, list []T) T { return list[m.IntN(len(list))] }

func (m *mutator) chance(percent int) bool { return m.IntN(100) < percent }

// make takes a sample, or makes one up, and changes a few things.
func (m *mutator) make(t *target, anything bool) Case {
	c := Case{Target: t.name}
	if len(t.samples) > 0 && !m.chance(4) {
		c = oneOf(m, t.samples).clone()
		c.Target = t.name
	}
	for _, h := range t.params {
		if h.needed && c.find(h.name) < 0 {
			c.Args = append(c.Args, Arg{h.name, m.fresh(h)})
		}
	}
	n := 0
	for n < 6 && !m.chance([]int{8, 45, 50, 60, 60, 60}[n]) {
		n++
	}
	for range n {
		m.tensors = len(c.tensors())
		m.mutate(&c, t, anything)
	}
	if m.chance(25) {
		c.pastAutograd()
	}
	return c
}

// pastAutograd makes all tensors in inference mode: autograd's fallback hands the kernels of many operators copies of their lists,
// and these come to them as they are.
func (c Case) pastAutograd() {
	for _, t := range c.tensors() {
		t.Forms = slices.DeleteFunc(t.Forms, func(form string) bool { return form == "grad" || form == "nonleaf" })
		at := 1 + slices.Index(t.Forms, "wide")
		t.Forms = slices.Insert(t.Forms, at, "inference")
	}
}

func (c Case) find(name string) int {
	return slices.IndexFunc(c.Args, func(a Arg) bool { return a.Name == name })
}

func (m *mutator) mutate(c *Case, t *target, anything bool) {
	if len(t.params) == 0 {
		return
	}
	h := oneOf(m, t.params)
	at := c.find(h.name)
	switch {
	case at < 0:
		c.Args = append(c.Args, Arg{h.name, m.fresh(h)})
	case m.chance(4):
		c.Args = slices.Delete(c.Args, at, at+1)
	case m.chance(6):
		c.Args[at].Value = m.fresh(h)
	case anything && m.chance(2):
		c.Args[at].Value = m.fresh(oneOf(m, t.params))
	default:
		c.Args[at].Value = m.changed(c.Args[at].Value, h)
	}
}

// changed is a value after one mutation.
func (m *mutator) changed(v any, h hint) any {
	switch v := v.(type) {
	case *Tensor:
		if m.tensors > 1 && m.chance(5) {
			r := Ref{Number: m.IntN(m.tensors)}
			if m.chance(40) {
				r.Forms = []string{oneOf(m, aliasForms)}
			}
			return r
		}
		m.tensor(v)
		return v
	case Ref:
		if m.chance(50) {
			return m.newTensor()
		}
		return Ref{v.Number, append(slices.Clone(v.Forms), oneOf(m, aliasForms))}
	case int64:
		return m.integer(v)
	case float64:
		return oneOf(m, extremeFloats)
	case bool:
		return !v
	case string:
		return oneOf(m, words)
	case complex128:
		return complex(oneOf(m, extremeFloats), oneOf(m, extremeFloats))
	case List:
		return m.list(v, h)
	case nil:
		return m.fresh(h)
	}
	return m.fresh(h)
}

var extremes = []int64{
	0, 1, -1, 2, -2, 3, 4, 5, 7, 8, 16, 64, 100, 1000, 1 << 16, 1<<31 - 1, 1 << 31, -1 << 31, 1 << 32, 1 << 40, 1 << 53, 1 << 62,
	math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1, math.MaxInt64 / 2, -1 << 40,
}

var extremeFloats = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, 2, 3, -0.5, 1e-8, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
	math.SmallestNonzeroFloat64, math.MaxFloat32, 1 << 31, 1 << 32, 1 << 53, 9.3e18, -9.3e18, 100,
}

var words = []string{
	"mean", "sum", "max", "amax", "none", "floor", "trunc", "ij", "xy", "reflect", "constant", "replicate", "circular", "linear",
	"nearest", "fro", "nuc",
	"ortho", "backward", "forward", "tanh", "same", "valid", "left", "right", "U", "L", "gels", "gelsd", "gesvd", "prod", "", "x",
	"\x00", "é", "ij,jk->ik", "...->...",
}

func (m *mutator) integer(v int64) int64 {
	if m.chance(30) {
		return v + int64(m.IntN(5)) - 2
	}
	return oneOf(m, extremes)
}

func (m *mutator) list(v List, h hint) List {
	elem := hint{name: h.name, schema: strings.TrimSuffix(h.schema, "[]"), typ: reflect.TypeFor[any]()}
	if h.typ != nil && h.typ.Kind() == reflect.Slice {
		elem.typ = h.typ.Elem()
	}
	switch n := m.IntN(10); {
	case n == 0:
		return List{}
	case n == 1 && len(v) > 0:
		i := m.IntN(len(v))
		return slices.Delete(v, i, i+1)
	case n <= 3 || len(v) == 0:
		if len(v) > 0 && m.chance(70) {
			x := v[m.IntN(len(v))]
			if len(tensorsOf(x)) == 0 {
				return append(v, x)
			}
		}
		return append(v, m.fresh(elem))
	case n == 4 && m.chance(20):
		for len(v) < 70 && len(tensorsOf(v)) == 0 {
			v = append(v, v[0])
		}
		return v
	}
	i := m.IntN(len(v))
	v[i] = m.changed(v[i], elem)
	return v
}

var dtypeNames = []string{
	"float32", "float32", "float64", "float16", "bfloat16", "complex64", "complex128", "complex32", "int64", "int64", "int32", "int16",
	"int8", "uint8", "bool",
	"uint16", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn", "quint8", "qint8", "qint32", "quint4x2", "bits8", "bits16",
}

var fills = []string{"", "z", "o", "p", "q", "nan", "inf", "ninf", "max", "min", "mix", "spd", "i1", "i2", "i5", "i1000"}

// layoutForms are those that change how the elements are stored; viewForms those that do not.
var (
	layoutForms = []string{
		"t", "step", "offset", "expand", "overlap", "cl", "coo", "uncoo", "hybrid", "csr", "csc", "bsr", "bsc", "mkldnn", "meta",
		"nested", "conj", "neg", "zero",
		"qchannel", "undefined", "closed", "grad", "grad", "nonleaf", "view", "inference",
	}
	aliasForms = []string{"t", "conj", "neg", "view", "row", "expand", "overlap", "closed"}
)

// tensor changes one thing of a tensor.
func (m *mutator) tensor(t *Tensor) {
	switch n := m.IntN(20); {
	case n < 5:
		m.shape(t)
	case n < 8:
		t.DType = oneOf(m, dtypeNames)
	case n < 11:
		t.Data, t.Fill = nil, oneOf(m, fills)
		if m.chance(40) {
			t.Data = m.literals(t)
		}
	case n < 12 && len(t.Forms) > 0:
		t.Forms = slices.Delete(t.Forms, 0, 1)
	default:
		t.Forms = append(t.Forms, oneOf(m, layoutForms))
		if len(t.Forms) > 4 {
			t.Forms = t.Forms[1:]
		}
	}
}

func (m *mutator) literals(t *Tensor) []int64 {
	n := 1
	for _, s := range t.Shape {
		n *= max(0, s)
	}
	if n == 0 || n > 8 || strings.HasPrefix(t.DType, "q") || strings.HasPrefix(t.DType, "b") {
		return nil
	}
	data := make([]int64, n)
	for i := range data {
		data[i] = oneOf(m, extremes)
	}
	return data
}

const most = 4096 // elements of a tensor that chance makes

func (m *mutator) shape(t *Tensor) {
	before := slices.Clone(t.Shape)
	n := len(t.Shape)
	switch k := m.IntN(10); {
	case k == 0:
		t.Shape = []int{}
	case k == 1:
		t.Shape = slices.Insert(t.Shape, m.IntN(n+1), m.IntN(3))
	case k == 2 && n > 0:
		i := m.IntN(n)
		t.Shape = slices.Delete(t.Shape, i, i+1)
	case k == 3:
		for len(t.Shape) < 8 {
			t.Shape = append(t.Shape, 1)
		}
	case k == 4 && n > 1:
		m.Shuffle(n, func(i, j int) { t.Shape[i], t.Shape[j] = t.Shape[j], t.Shape[i] })
	case k == 5:
		t.Shape = m.someShape()
	case n > 0:
		i := m.IntN(n)
		t.Shape[i] = []int{0, 0, 1, 2, t.Shape[i] + 1, max(0, t.Shape[i]-1), 17}[m.IntN(7)]
	default:
		t.Shape = m.someShape()
	}
	count := 1
	for _, s := range t.Shape {
		count *= s
	}
	if count > most {
		t.Shape = before
	}
}

func (m *mutator) someShape() []int {
	shapes := [][]int{{}, {0}, {1}, {3}, {5}, {2, 3}, {3, 3}, {4, 4}, {0, 3}, {1, 4, 4}, {2, 3, 4}, {1, 3, 8, 8}, {1, 1, 4, 4, 4},
		{2, 0, 3}, {17}, {100}, {1, 1, 1, 1, 1, 1, 1, 2}}
	return slices.Clone(oneOf(m, shapes))
}

func (m *mutator) newTensor() *Tensor {
	t := &Tensor{DType: "float32", Shape: m.someShape()}
	if m.chance(30) {
		m.tensor(t)
	}
	return t
}

// fresh is a value for a parameter, of no sample's.
func (m *mutator) fresh(h hint) any {
	if h.schema != "" {
		return m.bySchema(h.schema, h.name)
	}
	return m.byType(h.typ, h.name)
}

func (m *mutator) bySchema(schema, name string) any {
	if inner, ok := strings.CutSuffix(schema, "?"); ok {
		if m.chance(30) {
			return nil
		}
		schema = inner
	}
	if inner, ok := strings.CutSuffix(schema, "[]"); ok {
		return m.freshList(func() any { return m.bySchema(inner, name) })
	}
	switch schema {
	case "Tensor":
		if isIndex(name) {
			return &Tensor{DType: "int64", Shape: m.someShape(), Fill: "i2"}
		}
		return m.newTensor()
	case "int", "SymInt":
		return m.number()
	case "float":
		return m.float()
	case "number", "Scalar":
		return m.scalar()
	case "bool":
		return m.chance(50)
	case "str":
		return oneOf(m, words)
	case "ScalarType":
		return Word{"dtype", oneOf(m, dtypeNames)}
	case "Layout":
		return Word{"layout", oneOf(m, layoutNames)}
	case "Device":
		return Word{"device", oneOf(m, []string{"cpu", "cpu", "cpu", "meta", "cuda:0"})}
	case "MemoryFormat":
		return Word{"format", oneOf(m, formatNames)}
	case "Generator":
		return Word{"gen", "7"}
	}
	return nil
}

func isIndex(name string) bool {
	return strings.Contains(name, "ind") || strings.Contains(name, "offset") || strings.Contains(name, "length") ||
		strings.Contains(name, "target")
}

var layoutNames = []string{"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "mkldnn", "jagged", "8", "200"}
var formatNames = []string{"contiguous_format", "preserve_format", "channels_last", "channels_last_3d", "5", "77"}

func (m *mutator) number() int64 {
	if m.chance(60) {
		return int64(m.IntN(5)) - 1
	}
	return oneOf(m, extremes)
}

func (m *mutator) float() float64 {
	if m.chance(50) {
		return 0.5
	}
	return oneOf(m, extremeFloats)
}

func (m *mutator) scalar() any {
	switch m.IntN(4) {
	case 0:
		return m.number()
	case 1:
		return m.chance(50)
	case 2:
		return complex(oneOf(m, extremeFloats), 1)
	}
	return m.float()
}

func (m *mutator) freshList(one func() any) List {
	list := List{}
	for range m.IntN(4) {
		list = append(list, one())
	}
	return list
}

var goTypes = map[reflect.Type]string{
	tensorType: "Tensor", reflect.TypeFor[torch.DType](): "ScalarType", reflect.TypeFor[torch.Layout](): "Layout",
	reflect.TypeFor[torch.Device]():       "Device",
	reflect.TypeFor[torch.MemoryFormat](): "MemoryFormat", reflect.TypeFor[*torch.Generator](): "Generator",
}

func (m *mutator) byType(typ reflect.Type, name string) any {
	if schema, ok := goTypes[typ]; ok {
		return m.bySchema(schema, name)
	}
	switch typ.Kind() {
	case reflect.Pointer:
		if m.chance(25) {
			return nil
		}
		return m.byType(typ.Elem(), name)
	case reflect.Slice:
		return m.freshList(func() any { return m.byType(typ.Elem(), name) })
	case reflect.Bool:
		return m.chance(50)
	case reflect.String:
		return oneOf(m, words)
	case reflect.Float64, reflect.Float32:
		return m.float()
	case reflect.Interface:
		return m.anyValue(name)
	}
	if typ == reflect.TypeFor[torch.Reduction]() && m.chance(80) {
		return int64(m.IntN(3))
	}
	if numeric(typ.Kind()) {
		return m.number()
	}
	return nil
}

// anyValue is for a parameter that takes several types: a Scalar, a size, an index.
func (m *mutator) anyValue(name string) any {
	switch m.IntN(8) {
	case 0, 1:
		return m.freshList(func() any { return m.number() })
	case 2:
		return m.newTensor()
	case 3:
		return Word{"go", oneOf(m, goNames)}
	case 4:
		return nil
	}
	return m.scalar()
}

var goNames = []string{
	"all", "ellipsis", "slice_1", "slice_step", "slice_back", "slice_neg", "slice_zero_step", "slice_minus_step", "slice_huge", "ints",
	"ints_far", "ints_none",
	"bools", "bools_none", "uint8", "int8", "uint64", "float32", "struct",
}

// describe is the number of a call in words, for messages.
func describe(seed, index uint64) string {
	return "-seed " + strconv.FormatUint(seed, 10) + " -call " + strconv.FormatUint(index, 10)
}
