package torch_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestHooksAreThoseOfPython(t *testing.T) {
	torchtest.NoLeaks(t)
	a := ask(t, `
order = []
def hook(name, f):
    def run(g):
        order.append(name)
        return f(g)
    return run
torch.manual_seed(3)
x, w = torch.randn(4, 3, requires_grad=True), torch.randn(3, requires_grad=True)
h = x * w
k = h.tanh()
x.register_hook(hook("x1", lambda g: g * 3))
h.register_hook(hook("h1", lambda g: None))
gone = h.register_hook(hook("gone", lambda g: g * 100))
h.register_hook(hook("h2", lambda g: g + 0.1))
h.retain_grad()
k.register_hook(hook("k1", lambda g: g.exp()))
h.register_hook(hook("h3", lambda g: g * g))
x.register_hook(hook("x2", lambda g: g.sin()))
x.register_post_accumulate_grad_hook(lambda p: order.append("p1"))
x.register_post_accumulate_grad_hook(lambda p: order.append("p2"))
gone.remove()
(k * w + h).sum().backward()
y, text = [x.grad, w.grad, h.grad], " ".join(order)
`)
	torch.Scope(func() {
		var order []string
		hook := func(name string, fn func(torch.Tensor) torch.Tensor) func(torch.Tensor) torch.Tensor {
			return func(g torch.Tensor) torch.Tensor {
				order = append(order, name)
				return fn(g)
			}
		}
		post := func(name string) func(torch.Tensor) { return func(torch.Tensor) { order = append(order, name) } }
		torch.ManualSeed(3)
		x, w := torch.RandN(4, 3).SetRequiresGrad(true), torch.RandN(3).SetRequiresGrad(true)
		h := x.Mul(w)
		k := h.Tanh()
		x.RegisterHook(hook("x1", func(g torch.Tensor) torch.Tensor { return g.MulScalar(3) }))
		h.RegisterHook(hook("h1", func(g torch.Tensor) torch.Tensor { return torch.Tensor{} }))
		gone := h.RegisterHook(hook("gone", func(g torch.Tensor) torch.Tensor { return g.MulScalar(100) }))
		h.RegisterHook(hook("h2", func(g torch.Tensor) torch.Tensor { return g.AddScalar(0.1) }))
		h.RetainGrad()
		k.RegisterHook(hook("k1", func(g torch.Tensor) torch.Tensor { return g.Exp() }))
		h.RegisterHook(hook("h3", func(g torch.Tensor) torch.Tensor { return g.Mul(g) }))
		x.RegisterHook(hook("x2", func(g torch.Tensor) torch.Tensor { return g.Sin() }))
		x.RegisterPostAccumulateGradHook(post("p1"))
		x.RegisterPostAccumulateGradHook(post("p2"))
		gone.Remove()
		gone.Remove()
		k.Mul(w).Add(h).Sum().Backward()
		assert.Equal(t, a.Text, strings.Join(order, " "))
		for i, got := range []torch.Tensor{x.Grad(), w.Grad(), h.Grad()} {
			torchtest.Equal(t, got, a.tensor(t, i))
		}
	})
}

func TestHookOnOneOfManyOutputs(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := leaf(1, 2, 3, 4)
		parts := x.Chunk(2)
		parts[1].RegisterHook(func(g torch.Tensor) torch.Tensor { return g.MulScalar(10) })
		parts[0].RegisterHook(func(g torch.Tensor) torch.Tensor { return g.MulScalar(2) })
		parts[0].Add(parts[1]).Sum().Backward()
		assert.Equal(t, []float64{2, 2, 10, 10}, floats(x.Grad()))

		parts = x.Chunk(2)
		var defined []bool
		parts[1].RegisterHook(func(g torch.Tensor) torch.Tensor { defined = append(defined, g.Defined()); return g })
		parts[0].Sum().Backward(torch.BackwardOptions{RetainGraph: true})
		assert.Equal(t, []bool{false}, defined, "as in Python")
		parts[1].RegisterHook(func(g torch.Tensor) torch.Tensor { return torch.Ones(2).To(torch.Float64) })
		assert.ErrorContains(t, torch.Try(func() { parts[0].Sum().Backward() }), "cannot make a gradient where there is none")
	})
}

// An optimizer step in the hook leaves no gradient behind.
func TestPostAccumulateGradHook(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w := leaf(1, 2)
		h := w.RegisterPostAccumulateGradHook(func(p torch.Tensor) {
			torch.NoGrad(func() { p.SubInPlace(p.Grad()) })
			p.SetGrad(torch.Tensor{})
		})
		w.Mul(w).Sum().Backward()
		assert.Equal(t, []float64{-1, -2}, floats(w))
		assert.False(t, w.Grad().Defined())
		h.Remove()
		w.Mul(w).Sum().Backward()
		assert.Equal(t, []float64{-2, -4}, floats(w.Grad()))
	})
}

func TestHooksRunWhereTheGraphIsRecorded(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := leaf(3)
		var recording []bool
		x.RegisterHook(func(g torch.Tensor) torch.Tensor {
			recording = append(recording, torch.IsGradEnabled())
			return g.Mul(x)
		})
		y := x.Mul(x)
		first := torch.Grad([]torch.Tensor{y}, []torch.Tensor{x}, torch.GradOptions{CreateGraph: true})[0]
		assert.Equal(t, []float64{18}, floats(first))
		second := torch.Grad([]torch.Tensor{first}, []torch.Tensor{x})[0]
		assert.Equal(t, []float64{36}, floats(second), "12x from x(2x), through the hook again: times x")
		assert.Equal(t, []bool{true, false}, recording)
	})
}

func TestHookErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w, fixed := leaf(1, 2), torch.Ones(2)
		keep := func(g torch.Tensor) torch.Tensor { return g }
		backward := func(hook func(torch.Tensor) torch.Tensor) func() {
			return func() {
				defer w.RegisterHook(hook).Remove()
				w.Exp().Sum().Backward()
			}
		}
		cases := []struct {
			name, text string
			fn         func()
		}{
			{"no gradients", "does not require gradients", func() { fixed.RegisterHook(keep) }},
			{"undefined", "does not require gradients", func() { torch.Tensor{}.RegisterHook(keep) }},
			{"not a leaf", "only a leaf", func() { w.Exp().RegisterPostAccumulateGradHook(func(torch.Tensor) {}) }},
			{"shape", "size", backward(func(torch.Tensor) torch.Tensor { return torch.Ones(3).To(torch.Float64) })},
			{"dtype", "type", backward(func(torch.Tensor) torch.Tensor { return fixed })},
			{"closed", "after it had been closed", backward(func(torch.Tensor) torch.Tensor {
				x := torch.Ones(2)
				x.Close()
				return x
			})},
			{"closed tensor", "after it had been closed", func() {
				x := leaf(1)
				x.Close()
				x.RegisterHook(keep)
			}},
		}
		for _, c := range cases {
			err := torch.Try(c.fn)
			var e *torch.Error
			require.ErrorAs(t, err, &e, c.name)
			assert.ErrorContains(t, err, c.text, c.name)
		}
	})
}

func TestPanicsInCallbacksComeBack(t *testing.T) {
	torchtest.NoLeaks(t)
	boom := errors.New("boom")
	panics := []struct {
		name, text string
		is         error
		fn         func()
	}{
		{"error", "boom", boom, func() { panic(fmt.Errorf("wrapped: %w", boom)) }},
		{"text", "oh no", nil, func() { panic("oh no") }},
		{"runtime", "index out of range", nil, func() { var list []int; _ = list[len(list)] }},
		{"tensors", "shapes cannot be multiplied", torch.ErrCallback, func() { torch.Ones(2, 3).MatMul(torch.Ones(2, 3)) }},
		{"kind", "there is no device", torch.ErrValue, func() { torch.Throw("mine", torch.KindValue, "there is no device") }},
	}
	places := map[string]func(x torch.Tensor, fn func()) torch.Tensor{
		"hook test": func(x torch.Tensor, fn func()) torch.Tensor {
			y := x.Exp()
			y.RegisterHook(func(g torch.Tensor) torch.Tensor { fn(); return g })
			return y
		},
		"hook post": func(x torch.Tensor, fn func()) torch.Tensor {
			x.RegisterPostAccumulateGradHook(func(torch.Tensor) { fn() })
			return x.Exp()
		},
		"failingBackward": func(x torch.Tensor, fn func()) torch.Tensor { return torch.Apply1(failing{fn}, x) },
		"saved tensors hook": func(x torch.Tensor, fn func()) (y torch.Tensor) {
			unpack := func(v any) torch.Tensor { fn(); return v.(torch.Tensor) }
			torch.SavedTensorsHooks(func(x torch.Tensor) any { return x }, unpack, func() { y = x.Exp() })
			return y
		},
	}
	for name, place := range places {
		for _, c := range panics {
			torch.Scope(func() {
				y := place(leaf(1, 2), c.fn).Sum()
				err := torch.Try(func() { y.Backward() })
				var e *torch.Error
				require.ErrorAs(t, err, &e, name)
				assert.Equal(t, torch.KindCallback, e.Kind)
				assert.ErrorContains(t, err, c.text, name)
				assert.ErrorContains(t, err, strings.Fields(name)[0], c.name)
				if c.is != nil {
					assert.ErrorIs(t, err, c.is)
				}
				var p *torch.CallbackPanic
				require.ErrorAs(t, err, &p)
				assert.Contains(t, string(p.Stack), "hook_test.go")
			})
		}
	}
}

type failing struct{ fn func() }

func (failing) Forward(_ *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	return []torch.Tensor{in[0].Exp()}
}

func (f failing) Backward(_ *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	f.fn()
	return grads
}

// A test that fails in a hook ends its goroutine: the way there leads through libtorch.
func TestGoexitInCallbackEndsTheCaller(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := leaf(1, 2)
		h := x.RegisterHook(func(g torch.Tensor) torch.Tensor {
			inner := leaf(5)
			inner.RegisterPostAccumulateGradHook(func(torch.Tensor) { torch.Scope(runtime.Goexit) })
			torch.EnableGrad(func() { inner.Exp().Backward() })
			return g
		})
		reached, ended := false, make(chan struct{})
		go func() {
			defer close(ended)
			x.Exp().Sum().Backward()
			reached = true
		}()
		<-ended
		assert.False(t, reached)
		h.Remove()
		x.Exp().Sum().Backward()
		assert.True(t, x.Grad().Defined(), "libtorch is as it was")
	})
}

func TestCallbackThatCallsBackward(t *testing.T) {
	torchtest.NoLeaks(t)
	var nest func(depth int) torch.Tensor
	nest = func(depth int) torch.Tensor {
		x := leaf(float64(depth))
		x.RegisterHook(func(g torch.Tensor) torch.Tensor {
			if depth == 0 {
				return g
			}
			return g.Add(nest(depth - 1))
		})
		torch.EnableGrad(func() { x.Mul(x).Backward() })
		return x.Grad()
	}
	// Beyond a depth of 60 libtorch goes on on threads of its own.
	const depth = 62 // the threads stay
	torch.Scope(func() {
		assert.Equal(t, []float64{depth * (depth + 1)}, floats(nest(depth)))
	})
}

func TestManyGoroutinesWithHooks(t *testing.T) {
	torchtest.NoLeaks(t)
	shared := leaf(2)
	var calls sync.Map
	h := shared.RegisterHook(func(g torch.Tensor) torch.Tensor { calls.Store(g.Float64(), true); return torch.Tensor{} })
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for range 20 {
				torch.Scope(func() {
					factor := float64(i + 1)
					x := leaf(1, 2)
					hook := x.RegisterHook(func(g torch.Tensor) torch.Tensor { return g.MulScalar(factor) })
					y := torch.Apply1(&scaled{by: factor}, x)
					y.RegisterHook(func(g torch.Tensor) torch.Tensor { return g.AddScalar(1) })
					torch.Grad([]torch.Tensor{y.Mul(shared.MulScalar(factor)).Sum()}, []torch.Tensor{shared}, torch.GradOptions{RetainGraph: true})
					y.Sum().Backward()
					assert.Equal(t, []float64{2 * factor * factor, 2 * factor * factor}, floats(x.Grad()))
					hook.Remove()
				})
			}
		})
	}
	all.Wait()
	seen := 0
	calls.Range(func(any, any) bool { seen++; return true })
	assert.Equal(t, 64, seen)
	h.Remove()
}

func TestSavedTensorsHooks(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := leaf(1, 2, 3)
		packed, unpacked, closed := 0, 0, 0
		pack := func(x torch.Tensor) any {
			packed++
			return &parcel{x.Detach().MulScalar(2).Keep(), &closed}
		}
		unpack := func(v any) torch.Tensor { unpacked++; return v.(*parcel).DivScalar(2) }
		var y torch.Tensor
		torch.SavedTensorsHooks(pack, unpack, func() {
			y = x.Mul(x).Sum()
			torch.SavedTensorsHooks(func(x torch.Tensor) any { return x }, func(v any) torch.Tensor { return v.(torch.Tensor) }, func() { x.Exp() })
		})
		x.Exp()
		assert.Equal(t, []int{2, 0}, []int{packed, unpacked})
		y.Backward(torch.BackwardOptions{RetainGraph: true})
		y.Backward()
		assert.Equal(t, []float64{4, 8, 12}, floats(x.Grad()))
		assert.Equal(t, []int{2, 4, 2}, []int{packed, unpacked, closed}, "and closed with the graph")
	})
	w := leaf(1)
	defer w.Close()
	change := func(x torch.Tensor) any { x.AddScalarInPlace(1); return x }
	none := func(any) torch.Tensor { return torch.Tensor{} }
	assert.ErrorContains(t, torch.Try(func() { torch.SavedTensorsHooks(change, none, func() { w.Exp() }) }), "in place")
	nothing := func(x torch.Tensor) any { return nil }
	assert.ErrorContains(t, torch.Try(func() { torch.SavedTensorsHooks(nothing, none, func() { w.Exp().Backward() }) }), "undefined tensor")
	assert.Equal(t, -1, torch.BackwardNumber())
}

type parcel struct {
	torch.Tensor
	closed *int
}

func (p *parcel) Close() {
	*p.closed++
	p.Tensor.Close()
}

// An operator that runs autograd by itself, called by name, may run Go functions, too.
func TestHooksUnderCall(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := leaf(1, 2)
		x.RegisterHook(func(g torch.Tensor) torch.Tensor { return g.MulScalar(3) })
		torch.Call("_backward", x.Exp().Sum(), []torch.Tensor{x})
		assert.InDelta(t, 3*2.718281828, floats(x.Grad())[0], 1e-6)
	})
}

// Every other way to run autograd inside of an operator is refused: the process must not end.
func TestHooksInsideOtherCalls(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := leaf(1, 2)
		backward := func() *cgo.Error {
			var c cgo.Call
			c.Begin(cgo.OpAtenBackward)
			c.Tensor(bridge.Handle(x.Exp().Sum()))
			c.List(1)
			c.Tensor(bridge.Handle(x))
			c.Tensor(nil)
			c.OptBool(nil)
			c.Bool(false)
			return c.Run()
		}
		require.Nil(t, backward())
		x.RegisterHook(func(g torch.Tensor) torch.Tensor { return g })
		require.ErrorContains(t, backward(), "an operation that cannot run any")
	})
}
