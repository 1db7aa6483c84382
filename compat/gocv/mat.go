package gocv

import (
	"errors"
	"fmt"
	"image"
	"slices"
)

// MatType is the type of a Mat's elements and the number of its channels.
type MatType int

// The types of elements with one channel. More channels are added: MatTypeCV8U + MatChannels3.
const (
	MatTypeCV8U  MatType = 0 // bytes
	MatTypeCV32F MatType = 5 // float32
)

// What is added to a MatType for the number of channels.
const (
	MatChannels1 = 0
	MatChannels2 = 8
	MatChannels3 = 16
	MatChannels4 = 24
)

// The types of elements with their channels.
const (
	MatTypeCV8UC1  = MatTypeCV8U + MatChannels1
	MatTypeCV8UC3  = MatTypeCV8U + MatChannels3
	MatTypeCV8UC4  = MatTypeCV8U + MatChannels4
	MatTypeCV32FC1 = MatTypeCV32F + MatChannels1
	MatTypeCV32FC3 = MatTypeCV32F + MatChannels3
	MatTypeCV32FC4 = MatTypeCV32F + MatChannels4
)

const depths = 8 // the number of a MatType's depth is below

func (t MatType) channels() int { return int(t)/depths + 1 }
func (t MatType) float() bool   { return t%depths == MatTypeCV32F }

// Mat is an image, or an array of four dimensions. Copies of it are the same Mat; functions that write to a *Mat give what all
// copies refer to another content.
type Mat struct {
	p *content
}

// content is what a Mat refers to. One of bytes and floats is there.
type content struct {
	dims   []int // rows and columns, or as many as there are
	kind   MatType
	bytes  []byte
	floats []float32
	step   int // elements from row to row; a part of an image has longer rows than it shows
}

// NewMat makes an empty Mat.
func NewMat() Mat { return Mat{&content{}} }

// NewMatWithSize makes a Mat of zeros.
func NewMatWithSize(rows int, cols int, mt MatType) Mat { return Mat{zeros(mt, rows, cols)} }

func zeros(kind MatType, dims ...int) *content {
	c := &content{dims: dims, kind: kind}
	n := kind.channels()
	for _, size := range dims {
		n *= size
	}
	c.step = dims[len(dims)-1] * kind.channels()
	if kind.float() {
		c.floats = make([]float32, n)
	} else {
		c.bytes = make([]byte, n)
	}
	return c
}

// NewMatFromBytes makes an image of bytes, row after row.
func NewMatFromBytes(rows int, cols int, mt MatType, data []byte) (Mat, error) {
	m := NewMatWithSize(rows, cols, mt)
	if mt.float() || len(data) != len(m.p.bytes) {
		return Mat{}, fmt.Errorf("%d bytes do not fill %d rows of %d pixels of type %d", len(data), rows, cols, mt)
	}
	copy(m.p.bytes, data)
	return m, nil
}

// Close frees the content.
func (m *Mat) Close() error {
	*m.p = content{}
	return nil
}

// Empty tells whether there is nothing in m.
func (m *Mat) Empty() bool { return m.p == nil || len(m.p.dims) == 0 || m.Total() == 0 }

// Rows is the height of an image.
func (m *Mat) Rows() int { return m.side(0) }

// Cols is the width of an image.
func (m *Mat) Cols() int { return m.side(1) }

// side is -1 for arrays of more than two dimensions, as in OpenCV.
func (m *Mat) side(i int) int {
	switch {
	case m.p == nil || len(m.p.dims) == 0:
		return 0
	case len(m.p.dims) > 2:
		return -1
	}
	return m.p.dims[i]
}

// Size is the size of every dimension.
func (m *Mat) Size() (dims []int) { return slices.Clone(m.p.dims) }

// Total is the number of pixels.
func (m *Mat) Total() int {
	n := 1
	for _, size := range m.p.dims {
		n *= size
	}
	return n
}

// Type is the type of the elements, with the number of channels.
func (m *Mat) Type() MatType { return m.p.kind }

// Channels is the number of channels.
func (m *Mat) Channels() int { return m.p.kind.channels() }

// Step is the number of bytes from row to row.
func (m *Mat) Step() int {
	if m.p.kind.float() {
		return 4 * m.p.step
	}
	return m.p.step
}

// Clone is a copy.
func (m *Mat) Clone() Mat { return Mat{m.p.dense()} }

// dense is a copy whose rows follow each other.
func (c *content) dense() *content {
	if len(c.dims) != 2 {
		d := *c
		d.bytes, d.floats = slices.Clone(c.bytes), slices.Clone(c.floats)
		return &d
	}
	d := zeros(c.kind, c.dims...)
	for y := range c.dims[0] {
		if c.kind.float() {
			copy(d.floats[y*d.step:(y+1)*d.step], c.floats[y*c.step:])
		} else {
			copy(d.bytes[y*d.step:(y+1)*d.step], c.bytes[y*c.step:])
		}
	}
	return d
}

// CopyTo copies the content of m to dst.
func (m *Mat) CopyTo(dst *Mat) { dst.put(m.p.dense()) }

// put gives m another content.
func (m *Mat) put(c *content) {
	if m.p == nil {
		m.p = c
		return
	}
	*m.p = *c
}

// Region is the part of an image in a rectangle. It shares the image's memory.
func (m *Mat) Region(rio image.Rectangle) Mat {
	if !rio.In(image.Rect(0, 0, m.Cols(), m.Rows())) {
		panic(fmt.Sprintf("Region: %v is not within an image of %d columns and %d rows", rio, m.Cols(), m.Rows()))
	}
	c := *m.p
	c.dims = []int{rio.Dy(), rio.Dx()}
	first := rio.Min.Y*c.step + rio.Min.X*c.kind.channels()
	if c.kind.float() {
		c.floats = c.floats[first:]
	} else {
		c.bytes = c.bytes[first:]
	}
	return Mat{&c}
}

// ConvertTo copies m to dst with elements of another type: what does not fit a byte becomes 0 or 255.
func (m *Mat) ConvertTo(dst *Mat, mt MatType) {
	from := m.p.dense()
	to := *from
	to.kind = from.kind - from.kind%depths + mt%depths
	switch {
	case from.kind.float() == to.kind.float():
	case to.kind.float():
		to.floats, to.bytes = make([]float32, len(from.bytes)), nil
		for i, v := range from.bytes {
			to.floats[i] = float32(v)
		}
	default:
		to.bytes, to.floats = make([]byte, len(from.floats)), nil
		for i, v := range from.floats {
			to.bytes[i] = rounded(float64(v))
		}
	}
	dst.put(&to)
}

// MultiplyFloat multiplies every element.
func (m *Mat) MultiplyFloat(val float32) {
	for i, v := range m.p.floats {
		m.p.floats[i] = v * val
	}
	for i, v := range m.p.bytes {
		m.p.bytes[i] = rounded(float64(v) * float64(val))
	}
}

// ToBytes is a copy of the elements of an image of bytes.
func (m *Mat) ToBytes() []byte { return m.p.dense().bytes }

// DataPtrUint8 are the elements of an image of bytes.
func (m *Mat) DataPtrUint8() []uint8 { return m.p.bytes }

// DataPtrFloat32 are the elements of a Mat of float32.
func (m *Mat) DataPtrFloat32() ([]float32, error) {
	if !m.p.kind.float() {
		return nil, errors.New("DataPtrFloat32: the elements are bytes")
	}
	return m.p.floats, nil
}
