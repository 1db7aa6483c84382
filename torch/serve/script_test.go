package serve_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// script is a module of a source.
func script(t *testing.T, source string, opts ...jit.DefineOptions) *jit.Module {
	t.Helper()
	m, err := jit.Define("Net", source, opts...)
	require.NoError(t, err)
	return m
}

func TestTorchScript(t *testing.T) {
	torchtest.NoLeaks(t)
	const source = `
def forward(self, x, offset, by: float = 2.0) -> Dict[str, Tensor]:
    return {"twice": x * by + offset, "sign": torch.sign(x)}
`
	for name, inputs := range map[string][]serve.Spec{
		"by name":   {spec("offset", -1, 1), spec("x", -1, 3)},
		"by number": {spec("INPUT__1", -1, 1), spec("INPUT__0", -1, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := serve.TorchScript(script(t, source), inputs, []serve.Spec{spec("twice", -1, 3), spec("sign", -1, 3)})
			require.NoError(t, err)
			s := start(t, m, serve.Options{MaxBatch: 8, Lanes: 2})
			var all sync.WaitGroup
			for i := range 16 {
				all.Go(func() {
					torch.Scope(func() {
						x := torch.Full([]int{1, 3}, float64(i))
						got, err := s.Run(t.Context(), torch.Ones(1, 1), x)
						require.NoError(t, err)
						torchtest.Equal(t, got[0], x.MulScalar(2).AddScalar(1))
						torchtest.Equal(t, got[1], x.Sign())
					})
				})
			}
			all.Wait()
		})
	}
}

// A tuple and a list are outputs in their order, and a module that counts its calls is called once for each batch.
func TestTorchScriptResults(t *testing.T) {
	torchtest.NoLeaks(t)
	m, err := serve.TorchScript(script(t, `
def forward(self, x):
    self.calls = self.calls + 1
    return x + self.calls, [x, x * 2]
`, jit.DefineOptions{Attributes: map[string]any{"calls": 0}}), []serve.Spec{spec("a", -1)},
		[]serve.Spec{spec("b", -1), spec("c", -1), spec("d", -1)})
	require.NoError(t, err)
	s := start(t, m, serve.Options{})
	torch.Scope(func() {
		got, err := s.Run(t.Context(), torch.Ones(1))
		require.NoError(t, err)
		require.Equal(t, []float64{3, 1, 2}, []float64{got[0].Float64(), got[1].Float64(), got[2].Float64()})
	})
}

func TestTorchScriptErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	x, y := []serve.Spec{spec("x", -1)}, []serve.Spec{spec("y", -1)}
	for _, c := range []struct {
		source          string
		inputs, outputs []serve.Spec
		want            string
	}{
		{"def other(self, x):\n    return x", x, y, "the module Net has no method forward"},
		{"def forward(self, x, y):\n    return x", x, y, "there is no input for the argument y of forward: its schema is forward("},
		{"def forward(self, x):\n    return x", append(x, spec("z", -1)), y, `forward has no argument for the input "z"`},
		{"def forward(self, x: int):\n    return x", x, y, "the argument x of forward is no tensor, but int"},
		{"def forward(self, x):\n    return x", x, nil, "the signature has no outputs"},
		{"def forward(self, x):\n    return 1", x, y, "expected tensors, got int"},
		{"def forward(self, x):\n    return x, x", x, y, "returned 2 tensors, expected 1"},
		{"def forward(self, x):\n    return {\"z\": x}", x, y, `Net.forward returned no "y"`},
		{"def forward(self, x):\n    assert False, \"never\"\n    return x", x, y, "never"},
	} {
		m := script(t, c.source)
		model, err := serve.TorchScript(m, c.inputs, c.outputs)
		if err == nil {
			_, err = serve.New(model)
		}
		m.Close()
		require.ErrorContains(t, err, c.want)
	}
}

// A module of unknown origin answers from child processes, with the same bits; what it raises is the request's error.
func TestConfined(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "model.pt")
	own := script(t, `
def forward(self, x, offset):
    if bool((x >= 100).any()):
        x = torch.mm(x, x)
    return x * 2 + offset
`)
	require.NoError(t, own.Save(path))
	own.Close()
	open := func(inputs ...serve.Spec) (serve.Model, error) {
		c, err := jit.Confine(path, jit.ConfineOptions{Processes: 2})
		require.NoError(t, err)
		m, err := serve.Confined(c, inputs, []serve.Spec{spec("y", -1, 3)})
		if err != nil {
			c.Close()
		}
		return m, err
	}
	m, err := open(spec("offset", -1, 1), spec("x", -1, 3))
	require.NoError(t, err)
	s := start(t, m, serve.Options{MaxBatch: 8, Lanes: 2})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			torch.Scope(func() {
				x := torch.Full([]int{1, 3}, float64(i))
				got, err := s.Run(t.Context(), torch.Ones(1, 1), x)
				require.NoError(t, err)
				torchtest.Equal(t, got[0], x.MulScalar(2).AddScalar(1))
			})
		})
	}
	all.Wait()
	torch.Scope(func() {
		_, err := s.Run(t.Context(), torch.Ones(1, 1), torch.Full([]int{1, 3}, 100.0))
		var failed *jit.ConfinedError
		require.ErrorAs(t, err, &failed)
	})
	_, err = open(spec("x", -1, 3))
	require.ErrorContains(t, err, "no input for the argument offset")
}
