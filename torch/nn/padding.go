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

// Sides1d is how much a padding adds around one dimension: an integer for both sides, or a list
// of two.
type Sides1d interface {
	F.Integer | ~[]int | ~[]int32 | ~[]int64 | ~[2]int | ~[2]int32 | ~[2]int64
}

// Sides2d is how much a padding adds around two dimensions: an integer for all sides, or a list
// of four, the last dimension first.
type Sides2d interface {
	F.Integer | ~[]int | ~[]int32 | ~[]int64 | ~[4]int | ~[4]int32 | ~[4]int64
}

// Sides3d is how much a padding adds around three dimensions: an integer for all sides, or a
// list of six, the last dimension first.
type Sides3d interface {
	F.Integer | ~[]int | ~[]int32 | ~[]int64 | ~[6]int | ~[6]int32 | ~[6]int64
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
func NewZeroPad1d[S Sides1d](pad S) *ZeroPad1d { return &ZeroPad1d{newPad("constant", 1, pad, 0)} }

// NewZeroPad2d makes a layer; pad is an int or a []int of 4.
func NewZeroPad2d[S Sides2d](pad S) *ZeroPad2d { return &ZeroPad2d{newPad("constant", 2, pad, 0)} }

// NewZeroPad3d makes a layer; pad is an int or a []int of 6.
func NewZeroPad3d[S Sides3d](pad S) *ZeroPad3d { return &ZeroPad3d{newPad("constant", 3, pad, 0)} }

// NewConstantPad1d makes a layer of that value; pad is an int or a []int of 2.
func NewConstantPad1d[S Sides1d](pad S, value float64) *ConstantPad1d {
	return &ConstantPad1d{newPad("constant", 1, pad, value)}
}

// NewConstantPad2d makes a layer of that value; pad is an int or a []int of 4.
func NewConstantPad2d[S Sides2d](pad S, value float64) *ConstantPad2d {
	return &ConstantPad2d{newPad("constant", 2, pad, value)}
}

// NewConstantPad3d makes a layer of that value; pad is an int or a []int of 6.
func NewConstantPad3d[S Sides3d](pad S, value float64) *ConstantPad3d {
	return &ConstantPad3d{newPad("constant", 3, pad, value)}
}

// NewReflectionPad1d makes a layer; pad is an int or a []int of 2.
func NewReflectionPad1d[S Sides1d](pad S) *ReflectionPad1d {
	return &ReflectionPad1d{newPad("reflect", 1, pad, 0)}
}

// NewReflectionPad2d makes a layer; pad is an int or a []int of 4.
func NewReflectionPad2d[S Sides2d](pad S) *ReflectionPad2d {
	return &ReflectionPad2d{newPad("reflect", 2, pad, 0)}
}

// NewReflectionPad3d makes a layer; pad is an int or a []int of 6.
func NewReflectionPad3d[S Sides3d](pad S) *ReflectionPad3d {
	return &ReflectionPad3d{newPad("reflect", 3, pad, 0)}
}

// NewReplicationPad1d makes a layer; pad is an int or a []int of 2.
func NewReplicationPad1d[S Sides1d](pad S) *ReplicationPad1d {
	return &ReplicationPad1d{newPad("replicate", 1, pad, 0)}
}

// NewReplicationPad2d makes a layer; pad is an int or a []int of 4.
func NewReplicationPad2d[S Sides2d](pad S) *ReplicationPad2d {
	return &ReplicationPad2d{newPad("replicate", 2, pad, 0)}
}

// NewReplicationPad3d makes a layer; pad is an int or a []int of 6.
func NewReplicationPad3d[S Sides3d](pad S) *ReplicationPad3d {
	return &ReplicationPad3d{newPad("replicate", 3, pad, 0)}
}

// NewCircularPad1d makes a layer; pad is an int or a []int of 2.
func NewCircularPad1d[S Sides1d](pad S) *CircularPad1d {
	return &CircularPad1d{newPad("circular", 1, pad, 0)}
}

// NewCircularPad2d makes a layer; pad is an int or a []int of 4.
func NewCircularPad2d[S Sides2d](pad S) *CircularPad2d {
	return &CircularPad2d{newPad("circular", 2, pad, 0)}
}

// NewCircularPad3d makes a layer; pad is an int or a []int of 6.
func NewCircularPad3d[S Sides3d](pad S) *CircularPad3d {
	return &CircularPad3d{newPad("circular", 3, pad, 0)}
}
