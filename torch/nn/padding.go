package nn

import (
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// padding is how many elements a layer adds before and after each of its dimensions, the
// last dimension first: PyTorch's order. A single number is meant for all.
func padding(op string, p Size, dims int) []int { return F.Spread(op+" padding", p, 2*dims) }

// ZeroPad1d adds zeros around the last dimension.
type ZeroPad1d struct {
	Padding []int // before and after, the last dimension first
}

// NewZeroPad1d makes a layer; pad is an int or a []int of 2, before and after, the last
// dimension first.
func NewZeroPad1d(pad Size) *ZeroPad1d {
	return &ZeroPad1d{padding("constant_pad1d", pad, 1)}
}

// Forward enlarges [..., L].
func (p *ZeroPad1d) Forward(x torch.Tensor) torch.Tensor { return F.Pad(x, p.Padding, nil) }

// ZeroPad2d adds zeros around the last two dimensions.
type ZeroPad2d struct {
	Padding []int // before and after, the last dimension first
}

// NewZeroPad2d makes a layer; pad is an int or a []int of 4, before and after, the last
// dimension first.
func NewZeroPad2d(pad Size) *ZeroPad2d {
	return &ZeroPad2d{padding("constant_pad2d", pad, 2)}
}

// Forward enlarges [..., H, W].
func (p *ZeroPad2d) Forward(x torch.Tensor) torch.Tensor { return F.Pad(x, p.Padding, nil) }

// ZeroPad3d adds zeros around the last three dimensions.
type ZeroPad3d struct {
	Padding []int // before and after, the last dimension first
}

// NewZeroPad3d makes a layer; pad is an int or a []int of 6, before and after, the last
// dimension first.
func NewZeroPad3d(pad Size) *ZeroPad3d {
	return &ZeroPad3d{padding("constant_pad3d", pad, 3)}
}

// Forward enlarges [..., D, H, W].
func (p *ZeroPad3d) Forward(x torch.Tensor) torch.Tensor { return F.Pad(x, p.Padding, nil) }

// ConstantPad1d adds a number around the last dimension.
type ConstantPad1d struct {
	Padding []int // before and after, the last dimension first
	Value   float64
}

// NewConstantPad1d makes a layer; pad is an int or a []int of 2, before and after, the last
// dimension first.
func NewConstantPad1d(pad Size, value float64) *ConstantPad1d {
	return &ConstantPad1d{padding("constant_pad1d", pad, 1), value}
}

// Forward enlarges [..., L].
func (p *ConstantPad1d) Forward(x torch.Tensor) torch.Tensor {
	return F.Pad(x, p.Padding, &F.PadOptions{Value: p.Value})
}

// ConstantPad2d adds a number around the last two dimensions.
type ConstantPad2d struct {
	Padding []int // before and after, the last dimension first
	Value   float64
}

// NewConstantPad2d makes a layer; pad is an int or a []int of 4, before and after, the last
// dimension first.
func NewConstantPad2d(pad Size, value float64) *ConstantPad2d {
	return &ConstantPad2d{padding("constant_pad2d", pad, 2), value}
}

// Forward enlarges [..., H, W].
func (p *ConstantPad2d) Forward(x torch.Tensor) torch.Tensor {
	return F.Pad(x, p.Padding, &F.PadOptions{Value: p.Value})
}

// ConstantPad3d adds a number around the last three dimensions.
type ConstantPad3d struct {
	Padding []int // before and after, the last dimension first
	Value   float64
}

// NewConstantPad3d makes a layer; pad is an int or a []int of 6, before and after, the last
// dimension first.
func NewConstantPad3d(pad Size, value float64) *ConstantPad3d {
	return &ConstantPad3d{padding("constant_pad3d", pad, 3), value}
}

// Forward enlarges [..., D, H, W].
func (p *ConstantPad3d) Forward(x torch.Tensor) torch.Tensor {
	return F.Pad(x, p.Padding, &F.PadOptions{Value: p.Value})
}

// ReflectionPad1d adds the reflection at the edge around the last dimension.
type ReflectionPad1d struct {
	Padding []int // before and after, the last dimension first
}

// NewReflectionPad1d makes a layer; pad is an int or a []int of 2, before and after, the last
// dimension first.
func NewReflectionPad1d(pad Size) *ReflectionPad1d {
	return &ReflectionPad1d{padding("reflect_pad1d", pad, 1)}
}

// Forward enlarges [N, C, L], or without N.
func (p *ReflectionPad1d) Forward(x torch.Tensor) torch.Tensor {
	return F.Pad(x, p.Padding, &F.PadOptions{Mode: "reflect"})
}

// ReflectionPad2d adds the reflection at the edge around the last two dimensions.
type ReflectionPad2d struct {
	Padding []int // before and after, the last dimension first
}

// NewReflectionPad2d makes a layer; pad is an int or a []int of 4, before and after, the last
// dimension first.
func NewReflectionPad2d(pad Size) *ReflectionPad2d {
	return &ReflectionPad2d{padding("reflect_pad2d", pad, 2)}
}

// Forward enlarges [N, C, H, W], or without N.
func (p *ReflectionPad2d) Forward(x torch.Tensor) torch.Tensor {
	return F.Pad(x, p.Padding, &F.PadOptions{Mode: "reflect"})
}

// ReflectionPad3d adds the reflection at the edge around the last three dimensions.
type ReflectionPad3d struct {
	Padding []int // before and after, the last dimension first
}

// NewReflectionPad3d makes a layer; pad is an int or a []int of 6, before and after, the last
// dimension first.
func NewReflectionPad3d(pad Size) *ReflectionPad3d {
	return &ReflectionPad3d{padding("reflect_pad3d", pad, 3)}
}

// Forward enlarges [N, C, D, H, W], or without N.
func (p *ReflectionPad3d) Forward(x torch.Tensor) torch.Tensor {
	return F.Pad(x, p.Padding, &F.PadOptions{Mode: "reflect"})
}

// ReplicationPad1d adds the elements at the edge around the last dimension.
type ReplicationPad1d struct {
	Padding []int // before and after, the last dimension first
}

// NewReplicationPad1d makes a layer; pad is an int or a []int of 2, before and after, the last
// dimension first.
func NewReplicationPad1d(pad Size) *ReplicationPad1d {
	return &ReplicationPad1d{padding("replicate_pad1d", pad, 1)}
}

// Forward enlarges [N, C, L], or without N.
func (p *ReplicationPad1d) Forward(x torch.Tensor) torch.Tensor {
	return F.Pad(x, p.Padding, &F.PadOptions{Mode: "replicate"})
}

// ReplicationPad2d adds the elements at the edge around the last two dimensions.
type ReplicationPad2d struct {
	Padding []int // before and after, the last dimension first
}

// NewReplicationPad2d makes a layer; pad is an int or a []int of 4, before and after, the last
// dimension first.
func NewReplicationPad2d(pad Size) *ReplicationPad2d {
	return &ReplicationPad2d{padding("replicate_pad2d", pad, 2)}
}

// Forward enlarges [N, C, H, W], or without N.
func (p *ReplicationPad2d) Forward(x torch.Tensor) torch.Tensor {
	return F.Pad(x, p.Padding, &F.PadOptions{Mode: "replicate"})
}

// ReplicationPad3d adds the elements at the edge around the last three dimensions.
type ReplicationPad3d struct {
	Padding []int // before and after, the last dimension first
}

// NewReplicationPad3d makes a layer; pad is an int or a []int of 6, before and after, the last
// dimension first.
func NewReplicationPad3d(pad Size) *ReplicationPad3d {
	return &ReplicationPad3d{padding("replicate_pad3d", pad, 3)}
}

// Forward enlarges [N, C, D, H, W], or without N.
func (p *ReplicationPad3d) Forward(x torch.Tensor) torch.Tensor {
	return F.Pad(x, p.Padding, &F.PadOptions{Mode: "replicate"})
}

// CircularPad1d adds the elements at the other edge around the last dimension.
type CircularPad1d struct {
	Padding []int // before and after, the last dimension first
}

// NewCircularPad1d makes a layer; pad is an int or a []int of 2, before and after, the last
// dimension first.
func NewCircularPad1d(pad Size) *CircularPad1d {
	return &CircularPad1d{padding("circular_pad1d", pad, 1)}
}

// Forward enlarges [N, C, L], or without N.
func (p *CircularPad1d) Forward(x torch.Tensor) torch.Tensor {
	return F.Pad(x, p.Padding, &F.PadOptions{Mode: "circular"})
}

// CircularPad2d adds the elements at the other edge around the last two dimensions.
type CircularPad2d struct {
	Padding []int // before and after, the last dimension first
}

// NewCircularPad2d makes a layer; pad is an int or a []int of 4, before and after, the last
// dimension first.
func NewCircularPad2d(pad Size) *CircularPad2d {
	return &CircularPad2d{padding("circular_pad2d", pad, 2)}
}

// Forward enlarges [N, C, H, W], or without N.
func (p *CircularPad2d) Forward(x torch.Tensor) torch.Tensor {
	return F.Pad(x, p.Padding, &F.PadOptions{Mode: "circular"})
}

// CircularPad3d adds the elements at the other edge around the last three dimensions.
type CircularPad3d struct {
	Padding []int // before and after, the last dimension first
}

// NewCircularPad3d makes a layer; pad is an int or a []int of 6, before and after, the last
// dimension first.
func NewCircularPad3d(pad Size) *CircularPad3d {
	return &CircularPad3d{padding("circular_pad3d", pad, 3)}
}

// Forward enlarges [N, C, D, H, W], or without N.
func (p *CircularPad3d) Forward(x torch.Tensor) torch.Tensor {
	return F.Pad(x, p.Padding, &F.PadOptions{Mode: "circular"})
}
