package leaks

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/libtorch-go/libtorch/internal/optable"
	"github.com/libtorch-go/libtorch/internal/parity"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// times is how often each function is called in scopes, and again outside of them.
var times = reliability.Size(1000, 100)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torch.OnWarning(func(string) {}) // they are many, and once each
	torchtest.Main(m)
}

// repeat calls fn again and again. What is made only once, such as generators and a
// thread's caches, is there before it counts.
func repeat(t *testing.T, name string, fn func()) bool {
	return t.Run(name, func(t *testing.T) {
		if err := torch.Try(func() { torch.Scope(fn) }); err != nil {
			t.Fatal(err)
		}
		torchtest.NoLeaks(t)
		for range times {
			torch.Scope(fn)
		}
		torch.Unscoped(func() {
			for range times {
				fn()
			}
		})
	})
}

// symbol is the name of a function.
func symbol(fn any) string { return runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name() }

func TestOperators(t *testing.T) {
	called, bad := map[string]bool{}, 0
	try := func(form optable.Form, again func()) {
		called[symbol(form.Func)] = true
		if !repeat(t, form.Op, again) {
			bad++
		}
	}
	for _, c := range parity.Record(t, parity.Options{Mode: "calls", Samples: 1, Inner: 1, DTypes: []string{""}}) {
		for form, again := range c.Repeated() {
			if !called[symbol(form.Func)] {
				try(form, again)
			}
		}
	}
	reliability.AtLeast(t, "operators called with samples of PyTorch's", len(called), 700)
	samples := len(called)
	generator := torch.NewGenerator(torch.CPU)
	defer generator.Close()
	for _, form := range optable.Forms() {
		name := symbol(form.Func)
		if called[name] || form.Private && !strings.HasPrefix(form.Op, "_foreach_") {
			continue
		}
		torch.Scope(func() {
			if again := example(form, generator); again != nil {
				try(form, again)
			}
		})
	}
	reliability.AtLeast(t, "operators called with arguments made up for them", len(called)-samples, 300)
	reliability.Exactly(t, "operators that left something", bad, 0)
}

// example is a call with made-up arguments that the operator accepts, or nil.
func example(form optable.Form, g *torch.Generator) func() {
	for _, shape := range optable.ExampleShapes {
		call := func() {
			var err error
			torch.Unsafe(func() { _, err = form.Call(form.Example(shape, g)) })
			if err != nil {
				panic(err)
			}
		}
		if torch.Try(func() { torch.Scope(call) }) == nil {
			return call
		}
	}
	return nil
}
