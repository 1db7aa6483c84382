package nn

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// Pad is what all padding layers are: it enlarges the last dimensions.
type Pad struct {
	Padding []int   // before and after, the last dimension first
	Mode    string  // "constant" (default), "reflect", "replicate" or "circular"
	Value   float64 // that is added; for "constant" only
}

// newPad makes a layer for that many dimensions; a single number is meant for all their sides.
func newPad(mode string, dims int, pad Size, value float64) Pad {
	return Pad{F.Spread(fmt.Sprintf("%s_pad%dd padding", mode, dims), pad, 2*dims), mode, value}
}

// Forward enlarges [N, C, ...], or the same without N; with a constant mode x may have any
// further dimensions.
func (p *Pad) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(p, x, func(x torch.Tensor) torch.Tensor {
		return F.Pad(x, p.Padding, F.PadOptions{Mode: p.Mode, Value: p.Value})
	})
}

// The padding layers. Each is made for an int, the same on all sides, or for a []int: before
// and after, the last dimension first.
type (
	// ZeroPad1d adds zeros around the last dimension.
	ZeroPad1d struct{ Pad }
	// ZeroPad2d adds zeros around the last two dimensions.
	ZeroPad2d struct{ Pad }
	// ZeroPad3d adds zeros around the last three dimensions.
	ZeroPad3d struct{ Pad }

	// ConstantPad1d adds a number around the last dimension.
	ConstantPad1d struct{ Pad }
	// ConstantPad2d adds a number around the last two dimensions.
	ConstantPad2d struct{ Pad }
	// ConstantPad3d adds a number around the last three dimensions.
	ConstantPad3d struct{ Pad }

	// ReflectionPad1d adds the reflection at the edge around the last dimension.
	ReflectionPad1d struct{ Pad }
	// ReflectionPad2d adds the reflection at the edge around the last two dimensions.
	ReflectionPad2d struct{ Pad }
	// ReflectionPad3d adds the reflection at the edge around the last three dimensions.
	ReflectionPad3d struct{ Pad }

	// ReplicationPad1d adds the elements at the edge around the last dimension.
	ReplicationPad1d struct{ Pad }
	// ReplicationPad2d adds the elements at the edge around the last two dimensions.
	ReplicationPad2d struct{ Pad }
	// ReplicationPad3d adds the elements at the edge around the last three dimensions.
	ReplicationPad3d struct{ Pad }

	// CircularPad1d adds the elements at the other edge around the last dimension.
	CircularPad1d struct{ Pad }
	// CircularPad2d adds the elements at the other edge around the last two dimensions.
	CircularPad2d struct{ Pad }
	// CircularPad3d adds the elements at the other edge around the last three dimensions.
	CircularPad3d struct{ Pad }
)

// NewZeroPad1d makes a layer; pad is an int or a []int of 2.
func NewZeroPad1d(pad Size) *ZeroPad1d { return &ZeroPad1d{newPad("constant", 1, pad, 0)} }

// NewZeroPad2d makes a layer; pad is an int or a []int of 4.
func NewZeroPad2d(pad Size) *ZeroPad2d { return &ZeroPad2d{newPad("constant", 2, pad, 0)} }

// NewZeroPad3d makes a layer; pad is an int or a []int of 6.
func NewZeroPad3d(pad Size) *ZeroPad3d { return &ZeroPad3d{newPad("constant", 3, pad, 0)} }

// NewConstantPad1d makes a layer of that value; pad is an int or a []int of 2.
func NewConstantPad1d(pad Size, value float64) *ConstantPad1d {
	return &ConstantPad1d{newPad("constant", 1, pad, value)}
}

// NewConstantPad2d makes a layer of that value; pad is an int or a []int of 4.
func NewConstantPad2d(pad Size, value float64) *ConstantPad2d {
	return &ConstantPad2d{newPad("constant", 2, pad, value)}
}

// NewConstantPad3d makes a layer of that value; pad is an int or a []int of 6.
func NewConstantPad3d(pad Size, value float64) *ConstantPad3d {
	return &ConstantPad3d{newPad("constant", 3, pad, value)}
}

// NewReflectionPad1d makes a layer; pad is an int or a []int of 2.
func NewReflectionPad1d(pad Size) *ReflectionPad1d {
	return &ReflectionPad1d{newPad("reflect", 1, pad, 0)}
}

// NewReflectionPad2d makes a layer; pad is an int or a []int of 4.
func NewReflectionPad2d(pad Size) *ReflectionPad2d {
	return &ReflectionPad2d{newPad("reflect", 2, pad, 0)}
}

// NewReflectionPad3d makes a layer; pad is an int or a []int of 6.
func NewReflectionPad3d(pad Size) *ReflectionPad3d {
	return &ReflectionPad3d{newPad("reflect", 3, pad, 0)}
}

// NewReplicationPad1d makes a layer; pad is an int or a []int of 2.
func NewReplicationPad1d(pad Size) *ReplicationPad1d {
	return &ReplicationPad1d{newPad("replicate", 1, pad, 0)}
}

// NewReplicationPad2d makes a layer; pad is an int or a []int of 4.
func NewReplicationPad2d(pad Size) *ReplicationPad2d {
	return &ReplicationPad2d{newPad("replicate", 2, pad, 0)}
}

// NewReplicationPad3d makes a layer; pad is an int or a []int of 6.
func NewReplicationPad3d(pad Size) *ReplicationPad3d {
	return &ReplicationPad3d{newPad("replicate", 3, pad, 0)}
}

// NewCircularPad1d makes a layer; pad is an int or a []int of 2.
func NewCircularPad1d(pad Size) *CircularPad1d { return &CircularPad1d{newPad("circular", 1, pad, 0)} }

// NewCircularPad2d makes a layer; pad is an int or a []int of 4.
func NewCircularPad2d(pad Size) *CircularPad2d { return &CircularPad2d{newPad("circular", 2, pad, 0)} }

// NewCircularPad3d makes a layer; pad is an int or a []int of 6.
func NewCircularPad3d(pad Size) *CircularPad3d { return &CircularPad3d{newPad("circular", 3, pad, 0)} }
