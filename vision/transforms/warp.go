package transforms

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/linalg"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// radians is Python's math.radians.
func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }

// affine moves an image by a matrix.
type affine struct {
	Angle         float64
	Translate     [2]float64
	Scale         float64
	Shear         [2]float64
	Interpolation string
	Fill          []float64 // nil: none, and what lies outside is 0
	Center        []float64 // nil: the middle
}

// matrix maps places of the result to those of the image or, not inverted, the other way.
func (a affine) matrix(center [2]float64, inverted bool) [6]float64 {
	rot, sx, sy := radians(a.Angle), radians(a.Shear[0]), radians(a.Shear[1])
	cx, cy := center[0], center[1]
	movedX, movedY := cx+a.Translate[0], cy+a.Translate[1]
	p := math.Cos(rot-sy) / math.Cos(sy)
	q := -(float64(p*math.Tan(sx)) + math.Sin(rot))
	u := math.Sin(rot-sy) / math.Cos(sy)
	v := math.Cos(rot) - float64(u*math.Tan(sx))
	if inverted {
		m := [6]float64{v / a.Scale, -q / a.Scale, 0, -u / a.Scale, p / a.Scale, 0}
		m[2] += cx - float64(m[0]*movedX) - float64(m[1]*movedY)
		m[5] += cy - float64(m[3]*movedX) - float64(m[4]*movedY)
		return m
	}
	m := [6]float64{p * a.Scale, q * a.Scale, 0, u * a.Scale, v * a.Scale, 0}
	m[2] += movedX - float64(m[0]*cx) - float64(m[1]*cy)
	m[5] += movedY - float64(m[3]*cx) - float64(m[4]*cy)
	return m
}

func (a affine) apply(s Sample) Sample { return a.warp(s, false) }

// warp moves everything; expand makes room for all of the image.
func (a affine) warp(s Sample, expand bool) Sample {
	if a.Scale <= 0 {
		torch.Throw("affine", torch.KindValue, "Argument scale should be positive, got %v", a.Scale)
	}
	h, w := s.size()
	var center [2]float64
	if a.Center != nil {
		center = [2]float64{a.Center[0] - float64(w)*0.5, a.Center[1] - float64(h)*0.5}
	}
	m := a.matrix(center, true)
	outW, outH := w, h
	if expand {
		outW, outH = expanded(m, w, h)
	}
	move := func(t torch.Tensor, mode string) torch.Tensor {
		return sampled(t, affineGrid(m, gridType(t), t.Device(), w, h, outW, outH), mode, a.Fill)
	}
	return s.with(func(t torch.Tensor) torch.Tensor { return move(t, a.Interpolation) },
		func(t torch.Tensor) torch.Tensor { return move(t, "nearest") },
		func(boxes torch.Tensor) torch.Tensor { return a.boxes(boxes, s.Format, w, h, expand) })
}

// gridType is what places are computed in.
func gridType(t torch.Tensor) torch.DType {
	if t.IsFloatingPoint() {
		return t.DType()
	}
	return torch.Float32
}

// expanded is the size of an image that has room for all of another one.
func expanded(m [6]float64, w, h int) (width, height int) {
	x, y := 0.5*float64(w), 0.5*float64(h)
	points := torch.FromSlice([]float64{-x, -y, 1, -x, y, 1, x, y, 1, x, -y, 1}, 4, 3).To(torch.Float32)
	theta := torch.FromSlice(m[:], 2, 3).To(torch.Float32)
	low, high := points.MatMul(theta.T()).AMinMax(0)
	halfs := torch.FromSlice([]float64{x, y}).To(torch.Float32)
	const tolerance = 1e-4
	cut := func(t torch.Tensor) torch.Tensor {
		return t.Add(halfs).MulScalar(1.0 / tolerance).Trunc().MulScalar(tolerance)
	}
	size := torch.Values[float32](cut(high).Ceil().Sub(cut(low).Floor()))
	return int(size[0]), int(size[1])
}

// affineGrid says for each place of the result where it is read.
func affineGrid(m [6]float64, dtype torch.DType, dev torch.Device, w, h, outW, outH int) torch.Tensor {
	theta := torch.FromSlice(m[:], 1, 2, 3).To(dtype).To(dev)
	base := baseGrid(dtype, dev, outW, outH, torch.Float32, func(n int) (float64, float64) {
		return (1 - float64(n)) * 0.5,
			(float64(n) - 1) * 0.5
	})
	sides := torch.FromSlice([]float64{0.5 * float64(w), 0.5 * float64(h)}).To(dtype).To(dev)
	return base.View(1, outH*outW, 3).BMM(theta.Transpose(1, 2).Div(sides)).View(1, outH, outW, 2)
}

// baseGrid is [1, h, w, 3]: each place's x, y and 1, where x and y go from the first to the last number of ends.
func baseGrid(dtype torch.DType, dev torch.Device, w, h int, steps torch.DType, ends func(n int) (float64, float64)) torch.Tensor {
	line := func(n int) torch.Tensor {
		first, last := ends(n)
		return torch.TensorOptions{Device: dev, DType: steps}.Linspace(first, last, n).To(dtype)
	}
	x, y := line(w).View(1, 1, w).Expand(1, h, w), line(h).View(1, h, 1).Expand(1, h, w)
	return torch.Stack([]torch.Tensor{x, y, torch.OnesLike(x)}, -1)
}

// sampled reads images where a grid says. What lies outside of them is fill.
func sampled(t, grid torch.Tensor, mode string, fill []float64) torch.Tensor {
	if mode != "nearest" && mode != "bilinear" {
		torch.Throw("transforms", torch.KindValue, "Interpolation mode '%s' is unsupported with Tensor input", mode)
	}
	shape := t.Shape()
	n := len(shape)
	to := append(append([]int{}, shape[:n-2]...), grid.Size(1), grid.Size(2))
	if t.NumEl() == 0 {
		return t.Reshape(to...)
	}
	x := t.Reshape(append([]int{-1}, shape[n-3:]...)...).To(grid.DType())
	count := x.Size(0)
	if count > 1 {
		grid = grid.Expand(count, -1, -1, -1)
	}
	if len(fill) > 1 && len(fill) != shape[n-3] {
		fill = nil // a mask has no colours
	}
	if fill != nil {
		x = torch.Cat([]torch.Tensor{x, torch.TensorOptions{DType: x.DType(), Device: x.Device()}.Ones(count, 1, shape[n-2],
			shape[n-1])}, 1)
	}
	x = F.GridSample(x, grid, F.GridSampleOptions{Mode: mode})
	if fill != nil {
		inside := x.Narrow(1, shape[n-3], 1)
		x = x.Narrow(1, 0, shape[n-3])
		colour := torch.FromSlice(fill).To(x.DType()).To(x.Device()).View(1, -1, 1, 1)
		if mode == "nearest" {
			x = torch.Where(inside.LtScalar(0.5), colour, x)
		} else {
			x = x.Sub(colour).Mul(inside).Add(colour)
		}
	}
	if t.DType() != grid.DType() {
		x = x.Round().To(t.DType())
	}
	return x.Reshape(to...)
}

// boxes moves the corners of boxes and puts boxes around them.
func (a affine) boxes(boxes torch.Tensor, f BoxFormat, w, h int, expand bool) torch.Tensor {
	if boxes.NumEl() == 0 {
		return boxes
	}
	center := [2]float64{float64(w) * 0.5, float64(h) * 0.5}
	if a.Center != nil {
		center = [2]float64{a.Center[0], a.Center[1]}
	}
	x := toXYXY(floating(boxes), f)
	m := a.matrix(center, false)
	matrix := torch.FromSlice(m[:]).To(x.DType()).To(x.Device()).Reshape(2, 3).T()
	points := corners(x)
	one := torch.TensorOptions{DType: x.DType(), Device: x.Device()}.Ones(points.Size(0), 1)
	out := around(torch.Cat([]torch.Tensor{points, one}, 1).MatMul(matrix))
	if expand {
		right, bottom := float64(w), float64(h)
		frame := torch.FromSlice([]float64{0, 0, 1, 0, bottom, 1, right, bottom, 1, right, 0, 1}, 4, 3).To(x.DType()).To(x.Device())
		least, _ := frame.MatMul(matrix).AMinMax(0)
		out = out.Sub(least.Repeat(2))
		w, h = expanded(a.matrix(center, true), w, h)
	}
	return convert(clampBoxes(out, XYXY, h, w), XYXY, f).To(boxes.DType())
}

type rotate struct {
	Angle         float64
	Interpolation string
	Expand        bool
	Center        []float64
	Fill          []float64
}

func (o rotate) apply(s Sample) Sample {
	h, w := s.size()
	a := affine{Angle: -o.Angle, Scale: 1, Interpolation: o.Interpolation, Fill: o.Fill, Center: o.Center}
	if turns, exact := o.quarters(h == w); exact { // the boxes are moved as by any angle
		turn := func(t torch.Tensor) torch.Tensor {
			return t.Rot90(torch.Rot90Options{K: new(turns), Dims: []int{-2, -1}})
		}
		return s.with(turn, turn, func(boxes torch.Tensor) torch.Tensor { return a.boxes(boxes, s.Format, w, h, o.Expand) })
	}
	angle := math.Mod(o.Angle, 360)
	if angle < 0 {
		angle += 360
	}
	boxes := s.Boxes
	s.Boxes = torch.Tensor{}
	out := affine{Angle: -angle, Scale: 1, Interpolation: o.Interpolation, Fill: o.Fill, Center: o.Center}.warp(s, o.Expand)
	if boxes.Defined() {
		out.Boxes = a.boxes(boxes, s.Format, w, h, o.Expand)
	}
	return out
}

// quarters is how many quarter turns an angle is, where turning loses nothing.
func (o rotate) quarters(square bool) (int, bool) {
	angle := math.Mod(math.Mod(o.Angle, 360)+360, 360)
	k := int(angle / 90)
	return k, o.Center == nil && angle == float64(90*k) && (k%2 == 0 || o.Expand || square)
}

// perspective moves four points of an image to four others.
type perspective struct {
	Startpoints, Endpoints [4][2]int
	Interpolation          string
	Fill                   []float64
}

// coefficients are those that move four points to four others.
func coefficients(start, end [4][2]int) []float64 {
	var rows, right []float64
	for i := range start {
		px, py, qx, qy := float64(end[i][0]), float64(end[i][1]), float64(start[i][0]), float64(start[i][1])
		rows = append(rows, px, py, 1, 0, 0, 0, -qx*px, -qx*py, 0, 0, 0, px, py, 1, -qy*px, -qy*py)
		right = append(right, qx, qy)
	}
	solution, _, _, _ := linalg.Lstsq(torch.FromSlice(rows, 8, 8), torch.FromSlice(right, 8, 1), linalg.LstsqOptions{Driver: "gels"})
	return torch.Values[float64](solution.Flatten().To(torch.Float32).To(torch.Float64))
}

func (p perspective) apply(s Sample) Sample {
	h, w := s.size()
	c := coefficients(p.Startpoints, p.Endpoints)
	move := func(t torch.Tensor, mode string) torch.Tensor {
		return sampled(t, perspectiveGrid(c, t, w, h), mode, p.Fill)
	}
	return s.with(func(t torch.Tensor) torch.Tensor { return move(t, p.Interpolation) },
		func(t torch.Tensor) torch.Tensor { return move(t, "nearest") },
		func(boxes torch.Tensor) torch.Tensor { return seenBoxes(c, boxes, s.Format, w, h) })
}

func perspectiveGrid(c []float64, t torch.Tensor, w, h int) torch.Tensor {
	dtype, dev := gridType(t), t.Device()
	tensor := func(list []float64, shape ...int) torch.Tensor {
		return torch.FromSlice(list, shape...).To(dtype).To(dev)
	}
	over := tensor([]float64{c[0], c[1], c[2], c[3], c[4], c[5]}, 1, 2, 3)
	under := tensor([]float64{c[6], c[7], 1, c[6], c[7], 1}, 1, 2, 3)
	base := baseGrid(dtype, dev, w, h, dtype, func(n int) (float64, float64) { return 0.5, float64(n) - 0.5 }).View(1, h*w, 3)
	sides := tensor([]float64{0.5 * float64(w), 0.5 * float64(h)}, 2)
	grid := base.BMM(over.Transpose(1, 2).Div(sides)).Div(base.BMM(under.Transpose(1, 2))).SubScalar(1)
	return grid.View(1, h, w, 2)
}

// seenBoxes moves the corners of boxes by the inverse of the coefficients.
func seenBoxes(c []float64, boxes torch.Tensor, f BoxFormat, w, h int) torch.Tensor {
	if boxes.NumEl() == 0 {
		return boxes
	}
	d := c[0]*c[4] - float64(c[1]*c[3])
	if d == 0 {
		torch.Throw("perspective", torch.KindValue, "the coefficients %v cannot be inverted", c)
	}
	x := toXYXY(boxes, f)
	dtype := gridType(x)
	tensor := func(list ...float64) torch.Tensor { return torch.FromSlice(list, 2, 3).To(dtype).To(x.Device()) }
	v := func(a, b float64) float64 { return (a + b) / d }
	over := tensor(v(c[4], -float64(c[5]*c[7])), v(-c[1], float64(c[2]*c[7])), v(float64(c[1]*c[5]), -float64(c[2]*c[4])),
		v(-c[3], float64(c[5]*c[6])), v(c[0], -float64(c[2]*c[6])), v(-float64(c[0]*c[5]), float64(c[2]*c[3])))
	g, i := v(-float64(c[4]*c[6]), float64(c[3]*c[7])), v(-float64(c[0]*c[7]), float64(c[1]*c[6]))
	under := tensor(g, i, 1, g, i, 1)
	points := corners(x)
	points = torch.Cat([]torch.Tensor{points.To(dtype), torch.TensorOptions{DType: dtype, Device: x.Device()}.Ones(points.Size(0), 1)}, 1)
	out := around(points.MatMul(over.T()).Div(points.MatMul(under.T())))
	return convert(clampBoxes(out, XYXY, h, w), XYXY, f).To(boxes.DType())
}

// elastic moves each pixel by a displacement [1, H, W, 2] in halves of the image.
type elastic struct {
	displacement  torch.Tensor
	Interpolation string
	Fill          []float64
}

func identityGrid(dtype torch.DType, dev torch.Device, w, h int) torch.Tensor {
	ends := func(n int) (float64, float64) { return (1 - float64(n)) / float64(n), (float64(n) - 1) / float64(n) }
	return baseGrid(dtype, dev, w, h, dtype, ends).Narrow(3, 0, 2)
}

func (e elastic) apply(s Sample) Sample {
	h, w := s.size()
	move := func(t torch.Tensor, mode string) torch.Tensor {
		grid := identityGrid(gridType(t), t.Device(), w, h)
		return sampled(t, grid.Add(e.displacement.To(grid.DType()).To(t.Device())), mode, e.Fill)
	}
	return s.with(func(t torch.Tensor) torch.Tensor { return move(t, e.Interpolation) },
		func(t torch.Tensor) torch.Tensor { return move(t, "nearest") },
		func(boxes torch.Tensor) torch.Tensor { return e.boxes(boxes, s.Format, w, h) })
}

func (e elastic) boxes(boxes torch.Tensor, f BoxFormat, w, h int) torch.Tensor {
	if boxes.NumEl() == 0 {
		return boxes
	}
	dtype := gridType(boxes)
	x := toXYXY(boxes, f)
	grid := identityGrid(dtype, boxes.Device(), w, h).Sub(e.displacement.To(dtype).To(boxes.Device()))
	points := corners(x)
	if points.IsFloatingPoint() {
		points = points.Ceil()
	}
	points = points.To(torch.Int64)
	// The places beyond the last pixel are its own; torchvision fails there.
	column, row := points.Select(1, 0).Clamp(0, w-1), points.Select(1, 1).Clamp(0, h-1)
	size := torch.FromSlice([]int{w, h}).To(dtype).To(boxes.Device())
	at := grid.Index(0, row, column).AddScalar(1).Mul(size.MulScalar(0.5)).SubScalar(0.5)
	return convert(clampBoxes(around(at).To(x.DType()), XYXY, h, w), XYXY, f)
}
