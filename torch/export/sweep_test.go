package export

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// strayCase is a convolution of images, and whether oneDNN could write or read where nothing is, or leave results unset.
type strayCase struct {
	image, weight             []int
	stride, padding, dilation []int
	groups                    int
	strays                    bool
}

var strayCases = []strayCase{
	{[]int{2, 16, 9, 1}, []int{64, 16, 3, 2}, []int{3, 2}, []int{2, 3}, []int{3, 3}, 1, true}, // columns that some tap meets none of
	{[]int{2, 16, 9, 9}, []int{64, 16, 3, 3}, []int{3, 2}, []int{3, 3}, []int{3, 3}, 1, false},
	{[]int{1, 64, 28, 1}, []int{48, 64, 5, 1}, []int{1, 3}, []int{3, 1}, []int{1, 1}, 1, true}, // no tap meets a column
	{[]int{3, 64, 3, 1}, []int{40, 64, 3, 2}, []int{1, 1}, []int{2, 1}, []int{2, 2}, 1, true},
	{[]int{1, 64, 8, 5}, []int{64, 1, 1, 3}, []int{3, 3}, []int{1, 0}, []int{1, 1}, 64, true}, // the first row and the last see zeros alone
	{[]int{1, 64, 6, 1}, []int{32, 64, 2, 1}, []int{3, 3}, []int{3, 1}, []int{1, 1}, 1, true},
	{[]int{2, 16, 4, 9}, []int{32, 16, 3, 3}, []int{2, 1}, []int{2, 2}, []int{1, 1}, 1, false}, // all see some
	{[]int{1, 64, 3, 3}, []int{128, 1, 7, 7}, []int{1, 3}, []int{3, 3}, []int{1, 1}, 64, true}, // a column of several of each channel
	{[]int{2, 20, 30, 4}, []int{40, 1, 1, 3}, []int{1, 2}, []int{0, 0}, []int{1, 1}, 20, true},
	{[]int{2, 32, 13, 2}, []int{64, 1, 4, 3}, []int{1, 2}, []int{0, 1}, []int{1, 1}, 32, true},
	{[]int{1, 64, 5, 6}, []int{128, 1, 3, 3}, []int{1, 3}, []int{0, 0}, []int{1, 1}, 64, false}, // in two
	{[]int{1, 64, 5, 3}, []int{128, 1, 3, 3}, []int{2, 3}, []int{0, 0}, []int{1, 1}, 64, false},
	{[]int{1, 64, 5, 3}, []int{64, 1, 3, 3}, []int{1, 3}, []int{0, 0}, []int{1, 1}, 64, false},
}

// Convolutions that oneDNN cannot be trusted with compute what others do, in every way of compiling them, and where none of eight bits are
// ours.
func TestConvolutionsThatStray(t *testing.T) {
	t.Run("ours", func(t *testing.T) { eachCase(t, strayCases, strayCase.test) })
	t.Run("oneDNN", func(t *testing.T) {
		defer WithoutWholeKernels()()
		eachCase(t, strayCases, strayCase.test)
	})
}

func (c strayCase) test(t *testing.T) {
	x, w, bias := torch.RandN(c.image...), torch.RandN(c.weight...), torch.RandN(c.weight[0])
	fn := func(x torch.Tensor) []torch.Tensor {
		o := F.ConvOptions{Stride: c.stride, Padding: c.padding, Dilation: c.dilation, Groups: c.groups}
		return []torch.Tensor{F.Conv2d(x, w.To(x.DType()), bias.To(x.DType()), o)}
	}
	p, err := Export(fn, []any{x}, ExportOptions{})
	require.NoError(t, err)
	defer p.Close()
	n := p.Graph.Nodes[len(p.Graph.Nodes)-1]
	own, ok := convolutionOf(&n)
	require.True(t, ok, n.Target)
	require.Equal(t, c.strays, own.strays(p.Graph.Tensors["x"].Sizes, w))
	for _, way := range randomWays {
		e, text, err := way.engine(p, [][]any{{x}})
		require.NoError(t, err, way.name)
		for _, format := range []torch.MemoryFormat{torch.ContiguousFormat, torch.ChannelsLast} {
			torch.Full([]int{1 << 18}, 1e20).Close() // what memory holds that results find
			require.NoError(t, way.compare(e, fn, p, x.Contiguous(format)), "%s: %s", way.name, text)
		}
		e.h.Close()
	}
}
