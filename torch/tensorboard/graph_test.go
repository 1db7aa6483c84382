package tensorboard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/internal/talk"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/tensorboard"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// python answers a question about graphs.
type python func(do string, args ...string) any

func startPython(t *testing.T) python {
	peer, err := talk.Start("Python", peer.Command(t, "testdata/graph.py"))
	require.NoError(t, err)
	t.Cleanup(func() { peer.Close() })
	return func(do string, args ...string) any {
		var answer struct {
			Value any
			Error string
		}
		require.NoError(t, peer.Ask(map[string]any{"do": do, "args": args}, &answer))
		require.Empty(t, answer.Error)
		return answer.Value
	}
}

// drawn writes the graph of a program and returns the folder.
func drawn(t *testing.T, dir string, program *export.Program) string {
	w, err := tensorboard.NewWriter(dir)
	require.NoError(t, err)
	require.NoError(t, w.AddGraph(program))
	require.NoError(t, w.Close())
	return dir
}

// A perceptron is a model of Go's.
type perceptron struct {
	Hidden nn.Sequential `torch:"hidden"`
	Head   *nn.Linear    `torch:"head"`
}

func (p *perceptron) Forward(x torch.Tensor) torch.Tensor {
	return torch.Cat([]torch.Tensor{p.Head.Forward(p.Hidden.Forward(x).Tanh()), x}, -1)
}

func newPerceptron() *perceptron {
	return &perceptron{nn.Sequential{nn.NewLinear(3, 4), nn.ReLU{}, nn.NewLinear(4, 4, nn.LinearOptions{NoBias: true})}, nn.NewLinear(4, 2)}
}

// TensorBoard's own reader finds in the file what Python's torch.export knows of each program: nodes, boxes, edges and shapes.
func TestGraphsArePythons(t *testing.T) {
	torchtest.NoLeaks(t)
	ask := startPython(t)
	programs, runs := t.TempDir(), t.TempDir()
	ask("write", programs)
	for _, name := range []string{"net", "branches"} {
		program, err := export.Load(filepath.Join(programs, name+".pt2"))
		require.NoError(t, err)
		drawn(t, filepath.Join(runs, name), program)
		program.Close()
	}
	require.EqualValues(t, 2, ask("read", programs, runs))
	require.EqualValues(t, 10, ask("boxes", runs), "as add_graph has them")

	model := newPerceptron()
	defer nn.Close(model)
	x := torch.Ones(5, 3)
	defer x.Close()
	batch := map[string]map[int]export.Dim{"x": {0: {Name: "batch"}}}
	program, err := export.Export(model, []any{x}, export.ExportOptions{DynamicShapes: batch})
	require.NoError(t, err)
	defer program.Close()
	var lines []string
	for _, line := range ask("plain", drawn(t, t.TempDir(), program)).([]any) {
		lines = append(lines, line.(string))
	}
	require.Equal(t, strings.Split(strings.TrimSpace(`
hidden/0/weight Parameter [] [[4, 3]] 
hidden/0/bias Parameter [] [[4]] 
hidden/2/weight Parameter [] [[4, 4]] 
head/weight Parameter [] [[2, 4]] 
head/bias Parameter [] [[2]] 
input/x IO Node [] [[-1, 3]] 
hidden/0/linear aten::linear ['input/x', 'hidden/0/weight', 'hidden/0/bias'] [[-1, 4]] 
hidden/relu aten::relu ['hidden/0/linear'] [[-1, 4]] 
hidden/2/linear_1 aten::linear ['hidden/relu', 'hidden/2/weight'] [[-1, 4]] 
tanh aten::tanh ['hidden/2/linear_1'] [[-1, 4]] 
head/linear_2 aten::linear ['tanh', 'head/weight', 'head/bias'] [[-1, 2]] 
cat aten::cat ['head/linear_2', 'input/x'] [[-1, 5]] {dim: -1}
output/output.1 IO Node ['cat'] [[-1, 5]] `), "\n"), trimmed(lines))
}

func trimmed(lines []string) []string {
	return strings.Split(strings.TrimSpace(strings.Join(lines, "\n")), "\n")
}

func TestNoGraphOfNothing(t *testing.T) {
	w, err := tensorboard.NewWriter(t.TempDir())
	require.NoError(t, err)
	defer w.Close()
	before := size(t, w)
	require.ErrorContains(t, w.AddGraph(&export.Program{}), "the program is empty")
	require.Equal(t, before, size(t, w))
}

func ExampleWriter_AddGraph() {
	dir, err := os.MkdirTemp("", "runs")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	log, err := tensorboard.NewWriter(dir)
	if err != nil {
		panic(err)
	}
	torch.Scope(func() {
		model := nn.NewSequential(nn.NewLinear(4, 8), nn.ReLU{}, nn.NewLinear(8, 2))
		program, err := export.Export(model, []any{torch.Zeros(1, 4)})
		if err != nil {
			panic(err)
		}
		defer program.Close()
		if err := log.AddGraph(program); err != nil {
			panic(err)
		}
	})
	if err := log.Close(); err != nil {
		panic(err)
	}
	// Output:
}
