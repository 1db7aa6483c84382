package torch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/versions"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// walk writes down the way back from a node as the same Python function does.
func walk(n torch.Node, depth int) string {
	if !n.Defined() {
		return strings.Repeat(" ", depth) + "None\n"
	}
	text := strings.Repeat(" ", depth) + n.Name() + "\n"
	for _, edge := range n.NextFunctions() {
		text += fmt.Sprintf("%d", edge.InputNr) + walk(edge.Node, depth+1)
	}
	return text
}

func TestNodesAreThoseOfPython(t *testing.T) {
	torchtest.NoLeaks(t)
	a := ask(t, `
def walk(n, depth):
    if n is None:
        return " " * depth + "None\n"
    text = " " * depth + n.name() + "\n"
    for node, nr in n.next_functions:
        text += str(nr) + walk(node, depth + 1)
    return text

x = torch.ones(4, 2, requires_grad=True)
v, _ = x.max(0)
left, right = torch.split(torch.ops.aten.mul.Scalar(x, 2), 2)
z = right.matmul(left.t()).add(torch.ones(2)) + v.sum()
w = x.clone()
w[0] = 3
y = z
text = walk(z.grad_fn, 0) + walk(w.grad_fn, 0)
`)
	require.Empty(t, a.Error)
	torch.Scope(func() {
		x := torch.TensorOptions{RequiresGrad: true}.Ones(4, 2)
		v, _ := x.MaxDim(0)
		parts := x.MulScalar(2).Split(2)
		z := parts[1].MatMul(parts[0].T()).Add(torch.Ones(2)).Add(v.Sum())
		w := x.Clone()
		w.At(0).Set(3)
		text := walk(z.GradFn(), 0) + walk(w.GradFn(), 0)
		if versions.SetFillsByNumber.Holds() {
			text = strings.TrimSuffix(text, "0 None\n")
		}
		assert.Equal(t, a.Text, text)
		assert.True(t, z.GradFn().Is(z.GradFn()))
		assert.Equal(t, z.GradFn().ID(), z.GradFn().ID())
		sum := z.GradFn().NextFunctions()
		assert.False(t, sum[0].Node.Is(sum[1].Node))
		assert.Equal(t, "<AddBackward0>", sum[0].Node.String())
		assert.False(t, x.GradFn().Defined())
		assert.Equal(t, "<none>", x.GradFn().String())
		assert.Empty(t, x.GradFn().NextFunctions())
	})
}

// A node outlives the tensor, its graph's values and its scope.
func TestNodesOutliveTheirTensor(t *testing.T) {
	torchtest.NoLeaks(t)
	var n torch.Node
	torch.Scope(func() {
		y := torch.TensorOptions{RequiresGrad: true}.Ones(2).Exp().Sum()
		n = y.GradFn()
		y.Backward()
	})
	torch.GC()
	assert.Equal(t, "SumBackward0", n.Name())
	assert.Equal(t, "ExpBackward0", n.NextFunctions()[0].Node.Name())
	assert.Positive(t, torch.Stats().Nodes)
}

func TestViewsAndTheirBase(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Ones(4, 2)
	for name, c := range map[string]struct {
		y    torch.Tensor
		view bool
	}{
		"itself": {x, false}, "a row": {x.Index(0), true}, "a row of a row": {x.Index(0).Index(0), true},
		"a transpose": {x.T(), true}, "a copy": {x.Clone(), false}, "detached": {x.Detach(), false},
		"chosen by a list": {x.Index([]int{0, 1}), false}, "contiguous already": {x.Contiguous(), false},
	} {
		assert.Equal(t, c.view, c.y.IsView(), name)
		base := c.y.Base()
		require.Equal(t, c.view, base.Defined(), name)
		if c.view {
			assert.Equal(t, x.Storage().ID, base.Storage().ID, name)
			assert.False(t, base.IsView(), name)
			assert.Equal(t, x.Shape(), base.Shape(), name)
		}
	}
	assert.ErrorIs(t, torch.Try(func() { torch.Tensor{}.IsView() }), torch.ErrValue)
}
