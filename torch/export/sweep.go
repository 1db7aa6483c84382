package export

import "github.com/libtorch-go/libtorch/torch"

// sweep is how a kernel goes over one of the sides of images or volumes.
type sweep struct{ size, taps, stride, padding, dilation int }

func (c convolution) sweep(k, size int, w torch.Tensor) sweep {
	return sweep{size, w.Size(2 + k), int(c.stride[k]), int(c.padding[k]), int(c.dilation[k])}
}

// outputs is the size of a side of what a convolution makes of inputs of these sizes.
func (c convolution) outputs(sizes []int, w torch.Tensor, side int) int {
	return c.sweep(side, sizes[2+side], w).outputs()
}

func (s sweep) outputs() int { return (s.size+2*s.padding-s.dilation*(s.taps-1)-1)/s.stride + 1 }

// leaves is how many outputs there are of inputs of any size, rounded up or down.
func (s sweep) leaves(size Expr, up bool) Expr {
	room := sum(size, int64(2*s.padding-s.dilation*(s.taps-1)-1))
	if s.stride == 1 {
		return sum(room, 1)
	}
	if up {
		room = sum(room, int64(s.stride-1))
	}
	return sum(Expr{Op: "FloorDiv", Args: []Expr{room, integer(int64(s.stride))}}, 1)
}

// meets is how many of the outputs multiply a tap by a pixel, and not by zeros around them: the first output by the pixel with that number,
// each other one by that a stride further.
func (s sweep) meets(tap int) int {
	at := tap*s.dilation - s.padding
	before := (max(0, -at) + s.stride - 1) / s.stride // the outputs that meet zeros in front
	return max(0, min(s.outputs(), (s.size-at+s.stride-1)/s.stride)-before)
}

// products is how many times taps meet a pixel.
func (s sweep) products() (times int) {
	for tap := range s.taps {
		times += s.meets(tap)
	}
	return times
}

// thatMeet are the taps of which some output multiplies each by a pixel; n is 0 where without the others there would be more or fewer
// outputs.
func (s sweep) thatMeet() (first, n int) {
	last := s.taps - 1
	for first < s.taps && s.meets(first) == 0 {
		first++
	}
	for last > first && s.meets(last) == 0 {
		last--
	}
	kept := s
	kept.taps, kept.padding = last-first+1, s.padding-first*s.dilation
	if first == s.taps || kept.padding < 0 || kept.outputs() != s.outputs() {
		return 0, 0
	}
	return first, kept.taps
}

// strays tells whether oneDNN may write where nothing is, and end the process, or leave results unset. libtorch's own operators are kept
// from that (rules/images.cc). Rows are unset where there is one column of outputs, of which each channel makes several.
func (c convolution) strays(sizes []Expr, w torch.Tensor) bool {
	several := c.groups > 1 && w.Size(1) == 1 && w.Size(0) > int(c.groups)
	for k := range c.stride {
		size, fixed := sizes[2+k].Value()
		s := c.sweep(k, int(size), w)
		column := several && k == 1 && c.stride[0] == 1 && s.stride > 1 && (!fixed || s.outputs() == 1)
		if column || s.strays(fixed) {
			return true
		}
	}
	return false
}

// strays tells whether some output sees zeros around the pixels alone, or, where the pixels that the kernel sees lie apart, and outputs,
// too, some tap does.
func (s sweep) strays(fixed bool) bool {
	if s.misses(fixed) {
		return true
	}
	if s.padding == 0 || s.dilation == 1 || s.stride == 1 {
		return false
	}
	for tap := range s.taps {
		if !fixed || s.meets(tap) == 0 {
			return true
		}
	}
	return false
}

// misses tells whether some output may see zeros around the pixels alone.
func (s sweep) misses(fixed bool) bool {
	window := s.dilation * (s.taps - 1)
	switch {
	case s.padding%s.dilation == 0 && 2*s.padding <= window:
		return false // one tap meets a pixel with each output
	case !fixed:
		return s.dilation > 1 || s.padding > window
	}
	last := (s.outputs()-1)*s.stride - s.padding
	return s.size < s.dilation || s.padding > window || last >= s.size
}
