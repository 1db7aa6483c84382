package jit_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// define compiles a module of a source.
func define(t *testing.T, source string, opts ...jit.DefineOptions) *jit.Module {
	t.Helper()
	m, err := jit.Define("Net", source, opts...)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

func TestDescription(t *testing.T) {
	torchtest.NoLeaks(t)
	m := load(t, "outer")
	require.Equal(t, "Outer", m.Name())
	require.Equal(t, "Outer\n  (layers): ModuleList\n    (0): Inner\n    (1): Inner\n  (last): Linear\n  (drop): Dropout", m.String())
	var kinds []string
	for _, a := range m.Attributes() {
		kind := map[bool]string{a.Parameter: "parameter", a.Buffer: "buffer", a.Module: "module", a.Constant: "constant"}[true]
		kinds = append(kinds, a.Name+" "+kind)
	}
	require.Contains(t, kinds, "layers module")
	require.Contains(t, kinds, "rate ")

	values := load(t, "values")
	perhaps, ok := values.Method("perhaps")
	require.True(t, ok)
	require.Equal(t, []jit.Argument{{Name: "x", Type: "Optional[Tensor]"}, {Name: "n", Type: "Optional[int]", HasDefault: true,
		Default: "None"}, {Name: "l", Type: "Optional[List[int]]", HasDefault: true, Default: "None"}}, perhaps.Args)
	require.Equal(t, []string{"Tuple[Optional[Tensor], Optional[int], int]"}, perhaps.Results)
	require.Contains(t, perhaps.Schema, "perhaps(__torch__.")
	_, ok = values.Method("absent")
	require.False(t, ok)
	var all []string
	for _, own := range values.Methods() {
		all = append(all, own.Name)
	}
	require.Subset(t, all, []string{"forward", "numbers", "lists", "nothing"})

	code, err := m.Code("forward")
	require.NoError(t, err)
	require.Contains(t, code, "def forward(self,\n    x: Tensor) -> Tensor:")
	graph, err := m.Graph("forward")
	require.NoError(t, err)
	require.Contains(t, graph, "aten::mm(")
	_, err = m.Code("absent")
	require.ErrorContains(t, err, "has no method absent")
}

func TestAttributes(t *testing.T) {
	torchtest.NoLeaks(t)
	m := load(t, "outer")
	for name, want := range map[string]any{"names": []string{"a", "b"}, "table": map[string]int{"one": 1}, "steps": 2, "rate": 0.25,
		"title": "outer", "on": true, "training": false} {
		v, err := m.Attribute(name)
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	for name, want := range map[string]any{"names": []string{}, "table": map[string]int{"two": 2, "three": 3}, "steps": 5, "rate": 1.5,
		"title": "x", "on": false} {
		require.NoError(t, m.SetAttribute(name, want))
		v, err := m.Attribute(name)
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	require.NoError(t, m.SetAttribute("rate", 3)) // a whole number is a number
	require.ErrorIs(t, m.SetAttribute("rate", "much"), torch.ErrType)
	require.ErrorContains(t, m.SetAttribute("names", []int{1}), "expected str as element 0 of a list, got int")
	require.ErrorContains(t, m.SetAttribute("absent", 1), "the module Outer has no attribute absent")
	require.ErrorContains(t, m.SetAttribute("rate", struct{}{}), "a value of type struct {} cannot be passed")
	_, err := m.Attribute("layers")
	require.ErrorContains(t, err, "cannot be returned to Go")

	inner, err := m.Submodule("layers.1")
	require.NoError(t, err)
	defer inner.Close()
	require.Equal(t, "Inner", inner.Name())
	_, err = m.Submodule("layers.2")
	require.ErrorContains(t, err, "has no attribute 2")
	_, err = m.Submodule("rate")
	require.ErrorContains(t, err, "rate is no module, but float")
	torch.Scope(func() {
		x := torch.Eye(4)
		weight, err := inner.Attribute("weight")
		require.NoError(t, err)
		torchtest.Equal(t, inner.Forward1(x).Detach(), weight.(torch.Tensor).Detach().MulScalar(0.5))
		require.NoError(t, inner.SetAttribute("count", torch.FromSlice([]int64{7})))
		state, err := m.StateDict()
		require.NoError(t, err)
		require.Equal(t, 7.0, state["layers.1.count"].Float64())
	})
}

func TestStateDict(t *testing.T) {
	torchtest.NoLeaks(t)
	m := load(t, "outer")
	torch.Scope(func() {
		list, err := m.State()
		require.NoError(t, err)
		var names []string
		for _, own := range list {
			names = append(names, own.Name)
			require.Equal(t, !strings.HasSuffix(own.Name, "count"), own.Parameter)
		}
		require.Equal(t, []string{"layers.0.weight", "layers.0.count", "layers.1.weight", "layers.1.count", "last.weight", "last.bias"}, names)
		dict := map[string]torch.Tensor{}
		for _, own := range list {
			dict[own.Name] = torch.OnesLike(own.Tensor)
		}
		require.NoError(t, m.LoadStateDict(dict))
		for _, own := range list {
			torchtest.Equal(t, own.Tensor.Detach(), dict[own.Name])
		}
		delete(dict, "last.bias")
		dict["last.weight"], dict["more"] = torch.Ones(3), torch.Ones(1)
		require.EqualError(t, m.LoadStateDict(dict), `jit: the state dict does not fit Outer: "last.bias" is missing, `+
			`"last.weight" is [3], expected [2 4], "more" is not among the module's`)
	})
}

// A tensor under two names is one parameter.
func TestSharedParameter(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w := torch.Ones(2).SetRequiresGrad(true)
		m := define(t, "def forward(self, x):\n    return x * self.a + self.b",
			jit.DefineOptions{Parameters: map[string]torch.Tensor{"a": w, "b": w}})
		list, err := m.State()
		require.NoError(t, err)
		require.Equal(t, []bool{false, true}, []bool{list[0].Shared, list[1].Shared})
		parameters, err := m.Parameters()
		require.NoError(t, err)
		require.Len(t, parameters, 1)
	})
}

func TestGradients(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	m := load(t, "outer")
	want, err := pt.LoadStateDict(filepath.Join(modules(t), "outer.grads"))
	require.NoError(t, err)
	defer pt.Close(want)
	torch.Scope(func() {
		m.Forward1(want["x"]).Sum().Backward()
		list, err := m.State()
		require.NoError(t, err)
		for _, own := range list {
			if own.Parameter {
				torchtest.Equal(t, own.Tensor.Grad(), want[own.Name])
			}
		}
		torch.NoGrad(func() { require.False(t, m.Forward1(want["x"]).RequiresGrad()) })
		require.True(t, m.Forward1(want["x"]).RequiresGrad())
	})
}

// The other way around than what a module has learnt from its first calls, inference cannot be: Python has the same error.
func TestInference(t *testing.T) {
	torchtest.NoLeaks(t)
	served, trained := load(t, "outer"), load(t, "outer")
	torch.Scope(func() {
		x := torch.Ones(3, 4)
		for range 3 {
			torch.Inference(func() { require.True(t, served.Forward1(x).IsInference()) })
			torch.NoGrad(func() { require.False(t, served.Forward1(x).RequiresGrad()) })
		}
		for range 3 {
			require.True(t, served.Forward1(x).RequiresGrad())
			require.True(t, trained.Forward1(x).RequiresGrad())
		}
		torch.Inference(func() {
			require.True(t, served.Forward1(x).IsInference())
			_, err := trained.Forward(x)
			require.ErrorContains(t, err, "use torch.NoGrad instead")
		})
	})
}

func TestAutocast(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	m := load(t, "resnet")
	want, err := pt.LoadStateDict(filepath.Join(modules(t), "resnet.autocast"))
	require.NoError(t, err)
	defer pt.Close(want)
	torch.Scope(func() {
		torch.NoGrad(func() {
			amp.Autocast(torch.CPU, torch.BFloat16, func() {
				y := m.Forward1(want["x"])
				require.Equal(t, torch.BFloat16, y.DType())
				torchtest.Equal(t, y, want["y"])
			})
		})
	})
}

// A module learns with an optimizer of Go's.
func TestTraining(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	m := load(t, "resnet")
	require.NoError(t, m.Train())
	parameters, err := m.Parameters()
	require.NoError(t, err)
	defer torch.Close(parameters...)
	o := optim.NewSGD(parameters, 0.1)
	defer o.Close()
	var first, last float64
	torch.Scope(func() {
		x, y := torch.RandN(4, 3, 16, 16), torch.RandN(4, 10)
		for i := range 8 {
			loss := m.Forward1(x).Sub(y).Square().Mean()
			o.ZeroGrad()
			loss.Backward()
			o.Step()
			if last = loss.Float64(); i == 0 {
				first = last
			}
		}
	})
	require.Less(t, last, first)
}

// What a method takes as Any comes back as it was.
func TestAnything(t *testing.T) {
	torchtest.NoLeaks(t)
	m := load(t, "objects")
	for _, v := range []any{nil, 1, 2.5, true, "text", 1 + 2i, []int{1, 2}, []string{"a"}, []float64{}, jit.Tuple{1, "a", nil},
		map[string]int{"a": 1, "b": 2}, map[int]string{1: "a"}, map[string]any{"a": 1, "b": "c"}, []any{1, "a"}, [][]int{{1}, {2, 3}}} {
		got, err := m.Call("anything", v)
		require.NoError(t, err)
		want := v
		switch v := v.(type) {
		case [][]int:
			want = []any{v[0], v[1]}
		case []float64:
			want = []torch.Tensor{} // an empty list says nothing of its type
		}
		require.Equal(t, want, got)
	}
}

func TestFreezeAndOptimize(t *testing.T) {
	torchtest.NoLeaks(t)
	m := load(t, "resnet")
	frozen, err := m.Freeze()
	require.NoError(t, err)
	defer frozen.Close()
	fast, err := m.OptimizeForInference()
	require.NoError(t, err)
	defer fast.Close()
	require.ErrorContains(t, frozen.Train(), "it was frozen")
	parameters, err := frozen.Parameters()
	require.NoError(t, err)
	require.Empty(t, parameters)
	torch.Inference(func() {
		torch.Scope(func() {
			x := torch.RandN(2, 3, 16, 16)
			want := m.Forward1(x)
			torchtest.AllClose(t, frozen.Forward1(x), want)
			torchtest.AllClose(t, fast.Forward1(x), want)
		})
	})
	path := filepath.Join(t.TempDir(), "frozen.pt")
	require.NoError(t, frozen.Save(path))
	again, err := jit.LoadTrusted(path)
	require.NoError(t, err)
	again.Close()
	require.NoError(t, m.Train())
	_, err = m.Freeze()
	require.ErrorContains(t, err, "eval")
	outer := load(t, "outer")
	kept, err := outer.Freeze(jit.FreezeOptions{Preserved: []string{"rate"}})
	require.NoError(t, err)
	defer kept.Close()
	v, err := kept.Attribute("rate")
	require.NoError(t, err)
	require.Equal(t, 0.25, v)
}

func TestTo(t *testing.T) {
	torchtest.NoLeaks(t)
	m := load(t, "outer")
	require.NoError(t, m.To(jit.Target{DType: torch.Float64}))
	torch.Scope(func() {
		require.Equal(t, torch.Float64, m.Forward1(torch.TensorOptions{DType: torch.Float64}.Ones(1, 4)).DType())
		state, err := m.StateDict()
		require.NoError(t, err)
		require.Equal(t, torch.Int64, state["layers.0.count"].DType())
		require.NoError(t, m.To(jit.Target{Device: torch.CPU, DType: torch.BFloat16}))
		require.Equal(t, torch.BFloat16, m.Forward1(torch.TensorOptions{DType: torch.BFloat16}.Ones(1, 4)).DType())
	})
	require.NoError(t, m.To(jit.Target{}))
}

func TestDefine(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inner := define(t, "def forward(self, x):\n    return x + self.by", jit.DefineOptions{Attributes: map[string]any{"by": 2}})
		m := define(t, `
def forward(self, x, names: List[str] = ["a"]) -> Dict[str, Tensor]:
    out: Dict[str, Tensor] = {}
    for n in names:
        out[n] = self.inner.forward(x) * self.w
    return out

def twice(self, n: int) -> int:
    return 2 * n
`, jit.DefineOptions{Parameters: map[string]torch.Tensor{"w": torch.FromSlice([]float32{2, 3})},
			Modules: map[string]*jit.Module{"inner": inner}, Buffers: map[string]torch.Tensor{"b": torch.Ones(1)}})
		out, err := m.Run(torch.Ones(2), torch.Arg("names", []string{"z", "y"}))
		require.NoError(t, err)
		require.Len(t, out, 2)
		require.Equal(t, []float32{6, 9}, torch.Values[float32](out[0]))
		v, err := m.Call("twice", 21)
		require.NoError(t, err)
		require.Equal(t, 42, v)
		require.NoError(t, m.Warm(torch.Ones(2)))
		require.Error(t, m.Warm())
		require.NoError(t, m.Eval())

		var b bytes.Buffer
		require.NoError(t, m.Write(&b))
		again, err := jit.ReadTrusted(&b)
		require.NoError(t, err)
		defer again.Close()
		require.Equal(t, m.String(), again.String())
	})
	_, err := jit.Define("Net", "def forward(self, x):\n    return y")
	require.ErrorContains(t, err, "undefined value y")
	_, err = jit.Define("Net", "def forward(self, x:\n")
	require.Error(t, err)
	_, err = jit.Define("Net", "def forward(self): return 1", jit.DefineOptions{Attributes: map[string]any{"a": nil}})
	require.ErrorContains(t, err, "attribute a is nil")
}

// A module that changes itself does so inside of another, too.
func TestStateful(t *testing.T) {
	torchtest.NoLeaks(t)
	counter := define(t, "def forward(self, x):\n    self.n = self.n + 1\n    return x", jit.DefineOptions{Attributes: map[string]any{"n": 0}})
	outer := define(t, "def forward(self, x):\n    return self.inner.forward(x)",
		jit.DefineOptions{Modules: map[string]*jit.Module{"inner": counter}})
	list := define(t, "def forward(self, x: int):\n    self.seen.append(x)\n    return len(self.seen)",
		jit.DefineOptions{Attributes: map[string]any{"seen": []int{1}}})
	own := define(t, "def forward(self, x: int):\n    l = [x]\n    for i in range(x):\n        l.append(i)\n    return l")
	require.Equal(t, []bool{true, true, true, false}, []bool{counter.Stateful(), outer.Stateful(), list.Stateful(), own.Stateful()})
}

// What cannot be written is an error of the writer's, and the process lives.
func TestSaveErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	m := define(t, "def forward(self, x):\n    return x")
	full := errors.New("full")
	require.ErrorIs(t, m.Write(failing{full}), full)
	require.Error(t, m.Save(filepath.Join(t.TempDir(), "none", "m.pt")))
	if _, err := os.Stat("/dev/full"); err == nil {
		file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		defer file.Close()
		require.ErrorContains(t, m.Write(file), "no space left")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestPin(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(modules(t), "flow.pt")
	_, err := jit.LoadTrusted(path, jit.LoadOptions{SHA256: strings.Repeat("0", 64)})
	require.ErrorContains(t, err, "its SHA-256 is ")
	_, sum, _ := strings.Cut(err.Error(), "its SHA-256 is ")
	m, err := jit.LoadTrusted(path, jit.LoadOptions{SHA256: strings.ToUpper(sum[:64])})
	require.NoError(t, err)
	m.Close()
	m, err = jit.LoadTrusted(path, jit.LoadOptions{Device: torch.Meta})
	require.NoError(t, err)
	m.Close()
}

// A module that changes itself is called by one goroutine at a time; others by all at once.
func TestConcurrent(t *testing.T) {
	torchtest.NoLeaks(t)
	counter, resnet, flow := load(t, "counter"), load(t, "resnet"), load(t, "flow")
	torch.Scope(func() {
		x, image := torch.Ones(2), torch.RandN(1, 3, 16, 16)
		var want torch.Tensor
		torch.NoGrad(func() { want = resnet.Forward1(image) })
		var all sync.WaitGroup
		const calls = 20
		for range 8 {
			all.Go(func() {
				for range calls {
					torch.Scope(func() {
						counter.Forward1(x)
						torch.NoGrad(func() { torchtest.Equal(t, resnet.Forward1(image), want) })
						flow.Forward1(image.View(48, 16).Clone(), 2)
					})
				}
			})
		}
		for range calls {
			require.NoError(t, flow.To(jit.Target{DType: torch.Float32}))
			_, err := resnet.StateDict()
			require.NoError(t, err)
		}
		all.Wait()
		total, err := counter.Attribute("total")
		require.NoError(t, err)
		require.Equal(t, 8*calls, total)
	})
}
