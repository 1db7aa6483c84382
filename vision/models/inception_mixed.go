package models

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// Kernels and paddings of the convolutions along one dimension.
var (
	wide3, tall3 = [2]int{1, 3}, [2]int{3, 1}
	wide7, tall7 = [2]int{1, 7}, [2]int{7, 1}
)

// along is a convolution along one dimension that keeps the size.
func along(in, out int, kernel [2]int) *BasicConv2d {
	return basic(in, out, kernel, padded([]int{kernel[0] / 2, kernel[1] / 2}))
}

// meanPool and maxPool are the poolings beside the convolutions.
func meanPool() nn.Layer { return nn.NewAvgPool2d(3, nn.AvgPoolOptions{Stride: 1, Padding: 1}) }
func maxPool() nn.Layer  { return nn.NewMaxPool2d(3, nn.MaxPoolOptions{Stride: 2}) }

// inceptionA is figure 5 of the paper: a 5x5 convolution and two 3x3 beside it.
type inceptionA struct {
	Branch1x1     *BasicConv2d
	Branch5x5a    *BasicConv2d `torch:"branch5x5_1"`
	Branch5x5b    *BasicConv2d `torch:"branch5x5_2"`
	Branch3x3dbla *BasicConv2d `torch:"branch3x3dbl_1"`
	Branch3x3dblb *BasicConv2d `torch:"branch3x3dbl_2"`
	Branch3x3dblc *BasicConv2d `torch:"branch3x3dbl_3"`
	BranchPool    *BasicConv2d
}

func newInceptionA(in, pool int) *inceptionA {
	return &inceptionA{
		Branch1x1:  basic(in, 64, 1),
		Branch5x5a: basic(in, 48, 1), Branch5x5b: basic(48, 64, 5, padded(2)),
		Branch3x3dbla: basic(in, 64, 1), Branch3x3dblb: basic(64, 96, 3, padded(1)), Branch3x3dblc: basic(96, 96, 3, padded(1)),
		BranchPool: basic(in, pool, 1),
	}
}

// Forward maps [N, in, H, W] to [N, 224+pool, H, W].
func (m *inceptionA) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(m, x, m.forward) }

func (m *inceptionA) forward(x torch.Tensor) torch.Tensor {
	return join(m.Branch1x1.Forward(x), nn.Chain(x, m.Branch5x5a, m.Branch5x5b),
		nn.Chain(x, m.Branch3x3dbla, m.Branch3x3dblb, m.Branch3x3dblc), nn.Chain(x, meanPool(), m.BranchPool))
}

// ReprName is torchvision's name.
func (m *inceptionA) ReprName() string { return "InceptionA" }

// inceptionB halves height and width.
type inceptionB struct {
	Branch3x3     *BasicConv2d
	Branch3x3dbla *BasicConv2d `torch:"branch3x3dbl_1"`
	Branch3x3dblb *BasicConv2d `torch:"branch3x3dbl_2"`
	Branch3x3dblc *BasicConv2d `torch:"branch3x3dbl_3"`
}

func newInceptionB(in int) *inceptionB {
	half := nn.ConvOptions{Stride: 2}
	return &inceptionB{
		Branch3x3:     basic(in, 384, 3, half),
		Branch3x3dbla: basic(in, 64, 1), Branch3x3dblb: basic(64, 96, 3, padded(1)), Branch3x3dblc: basic(96, 96, 3, half),
	}
}

// Forward maps [N, in, H, W] to [N, 480+in, (H-1)/2, (W-1)/2].
func (m *inceptionB) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(m, x, m.forward) }

func (m *inceptionB) forward(x torch.Tensor) torch.Tensor {
	return join(m.Branch3x3.Forward(x), nn.Chain(x, m.Branch3x3dbla, m.Branch3x3dblb, m.Branch3x3dblc), maxPool().Forward(x))
}

// ReprName is torchvision's name.
func (m *inceptionB) ReprName() string { return "InceptionB" }

// inceptionC is figure 6: 7x7 convolutions as pairs along one dimension each.
type inceptionC struct {
	Branch1x1     *BasicConv2d
	Branch7x7a    *BasicConv2d `torch:"branch7x7_1"`
	Branch7x7b    *BasicConv2d `torch:"branch7x7_2"`
	Branch7x7c    *BasicConv2d `torch:"branch7x7_3"`
	Branch7x7dbla *BasicConv2d `torch:"branch7x7dbl_1"`
	Branch7x7dblb *BasicConv2d `torch:"branch7x7dbl_2"`
	Branch7x7dblc *BasicConv2d `torch:"branch7x7dbl_3"`
	Branch7x7dbld *BasicConv2d `torch:"branch7x7dbl_4"`
	Branch7x7dble *BasicConv2d `torch:"branch7x7dbl_5"`
	BranchPool    *BasicConv2d
}

func newInceptionC(in, inside int) *inceptionC {
	return &inceptionC{
		Branch1x1:  basic(in, 192, 1),
		Branch7x7a: basic(in, inside, 1), Branch7x7b: along(inside, inside, wide7), Branch7x7c: along(inside, 192, tall7),
		Branch7x7dbla: basic(in, inside, 1), Branch7x7dblb: along(inside, inside, tall7), Branch7x7dblc: along(inside, inside, wide7),
		Branch7x7dbld: along(inside, inside, tall7), Branch7x7dble: along(inside, 192, wide7),
		BranchPool: basic(in, 192, 1),
	}
}

// Forward maps [N, in, H, W] to [N, 768, H, W].
func (m *inceptionC) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(m, x, m.forward) }

func (m *inceptionC) forward(x torch.Tensor) torch.Tensor {
	return join(m.Branch1x1.Forward(x), nn.Chain(x, m.Branch7x7a, m.Branch7x7b, m.Branch7x7c),
		nn.Chain(x, m.Branch7x7dbla, m.Branch7x7dblb, m.Branch7x7dblc, m.Branch7x7dbld, m.Branch7x7dble),
		nn.Chain(x, meanPool(), m.BranchPool))
}

// ReprName is torchvision's name.
func (m *inceptionC) ReprName() string { return "InceptionC" }

// inceptionD halves height and width.
type inceptionD struct {
	Branch3x3a   *BasicConv2d `torch:"branch3x3_1"`
	Branch3x3b   *BasicConv2d `torch:"branch3x3_2"`
	Branch7x7x3a *BasicConv2d `torch:"branch7x7x3_1"`
	Branch7x7x3b *BasicConv2d `torch:"branch7x7x3_2"`
	Branch7x7x3c *BasicConv2d `torch:"branch7x7x3_3"`
	Branch7x7x3d *BasicConv2d `torch:"branch7x7x3_4"`
}

func newInceptionD(in int) *inceptionD {
	half := nn.ConvOptions{Stride: 2}
	return &inceptionD{
		Branch3x3a: basic(in, 192, 1), Branch3x3b: basic(192, 320, 3, half),
		Branch7x7x3a: basic(in, 192, 1), Branch7x7x3b: along(192, 192, wide7), Branch7x7x3c: along(192, 192, tall7),
		Branch7x7x3d: basic(192, 192, 3, half),
	}
}

// Forward maps [N, in, H, W] to [N, 512+in, (H-1)/2, (W-1)/2].
func (m *inceptionD) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(m, x, m.forward) }

func (m *inceptionD) forward(x torch.Tensor) torch.Tensor {
	return join(nn.Chain(x, m.Branch3x3a, m.Branch3x3b), nn.Chain(x, m.Branch7x7x3a, m.Branch7x7x3b, m.Branch7x7x3c, m.Branch7x7x3d),
		maxPool().Forward(x))
}

// ReprName is torchvision's name.
func (m *inceptionD) ReprName() string { return "InceptionD" }

// inceptionE is figure 7: 3x3 convolutions as pairs side by side.
type inceptionE struct {
	Branch1x1     *BasicConv2d
	Branch3x3     *BasicConv2d `torch:"branch3x3_1"`
	Branch3x3a    *BasicConv2d `torch:"branch3x3_2a"`
	Branch3x3b    *BasicConv2d `torch:"branch3x3_2b"`
	Branch3x3dbl  *BasicConv2d `torch:"branch3x3dbl_1"`
	Branch3x3dbl2 *BasicConv2d `torch:"branch3x3dbl_2"`
	Branch3x3dbla *BasicConv2d `torch:"branch3x3dbl_3a"`
	Branch3x3dblb *BasicConv2d `torch:"branch3x3dbl_3b"`
	BranchPool    *BasicConv2d
}

func newInceptionE(in int) *inceptionE {
	return &inceptionE{
		Branch1x1: basic(in, 320, 1),
		Branch3x3: basic(in, 384, 1), Branch3x3a: along(384, 384, wide3), Branch3x3b: along(384, 384, tall3),
		Branch3x3dbl: basic(in, 448, 1), Branch3x3dbl2: basic(448, 384, 3, padded(1)),
		Branch3x3dbla: along(384, 384, wide3), Branch3x3dblb: along(384, 384, tall3),
		BranchPool: basic(in, 192, 1),
	}
}

// Forward maps [N, in, H, W] to [N, 2048, H, W].
func (m *inceptionE) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(m, x, m.forward) }

func (m *inceptionE) forward(x torch.Tensor) torch.Tensor {
	both := func(x torch.Tensor, a, b nn.Layer) torch.Tensor {
		defer x.Close()
		return join(a.Forward(x), b.Forward(x))
	}
	return join(m.Branch1x1.Forward(x), both(m.Branch3x3.Forward(x), m.Branch3x3a, m.Branch3x3b),
		both(nn.Chain(x, m.Branch3x3dbl, m.Branch3x3dbl2), m.Branch3x3dbla, m.Branch3x3dblb), nn.Chain(x, meanPool(), m.BranchPool))
}

// ReprName is torchvision's name.
func (m *inceptionE) ReprName() string { return "InceptionE" }
