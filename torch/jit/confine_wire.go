package jit

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// A message is the length of a head in four bytes, the head in JSON, and the bytes of the tensors in it.
type message struct {
	Tensors []tensorHead `json:",omitempty"`
	Times   int          `json:",omitempty"` // how often forward is called
	Dict    bool         `json:",omitempty"` // the tensors are those of a dict
	One     bool         `json:",omitempty"` // the tensor is not in a list
	Info    *Info        `json:",omitempty"` // when the module was loaded
	Failed  string       `json:",omitempty"`
	Raised  *Exception   `json:",omitempty"`
}

type tensorHead struct {
	Name  string `json:",omitempty"`
	DType string
	Shape []int
}

const (
	mostHead    = 4 << 20 // bytes of a head
	mostTensors = 4096    // of a message
)

var errMessage = errors.New("the message of a child is not sound")

// encode is a message with its tensors.
func encode(m message, names []string, list []torch.Tensor) (b []byte, err error) {
	defer torch.Recover(&err)
	size := 0
	for i, x := range list {
		m.Tensors = append(m.Tensors, tensorHead{Name: names[i], DType: x.DType().String(), Shape: x.Shape()})
		size += x.NumEl() * x.ElementSize()
	}
	head, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if len(head) > mostHead || len(list) > mostTensors {
		return nil, fmt.Errorf("%d tensors with a head of %d bytes are too many", len(list), len(head))
	}
	b = make([]byte, 0, 4+len(head)+size)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(head))), head...)
	for _, x := range list {
		b = append(b, x.Bytes()...)
	}
	return b, nil
}

// receive reads a message whose tensors have at most that many bytes, and these. It trusts nothing of what it reads.
func receive(r io.Reader, most int64) (m message, data [][]byte, err error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return m, nil, err
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > mostHead {
		return m, nil, fmt.Errorf("%w: a head of %d bytes", errMessage, n)
	}
	head := make([]byte, n)
	if _, err := io.ReadFull(r, head); err != nil {
		return m, nil, err
	}
	if err := json.Unmarshal(head, &m); err != nil {
		return m, nil, fmt.Errorf("%w: %w", errMessage, err)
	}
	if len(m.Tensors) > mostTensors {
		return m, nil, fmt.Errorf("%w: %d tensors", errMessage, len(m.Tensors))
	}
	for _, own := range m.Tensors {
		size, err := own.bytes(most)
		if err != nil {
			return m, nil, err
		}
		most -= size
		b := make([]byte, size)
		if _, err := io.ReadFull(r, b); err != nil {
			return m, nil, err
		}
		if own.DType == torch.Bool.String() && slices.ContainsFunc(b, func(v byte) bool { return v > 1 }) {
			return m, nil, fmt.Errorf("%w: a bool is neither 0 nor 1", errMessage)
		}
		data = append(data, b)
	}
	return m, data, nil
}

// bytes is how many bytes the tensor has.
func (h tensorHead) bytes(most int64) (size int64, err error) {
	dtype, err := torch.ParseDType(h.DType)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errMessage, err)
	}
	size = int64(dtype.Size())
	for _, n := range h.Shape {
		if n < 0 || n > 0 && size > math.MaxInt64/int64(n) {
			return 0, fmt.Errorf("%w: the shape %v", errMessage, h.Shape)
		}
		size *= int64(n)
	}
	if size > most || len(h.Shape) > 64 {
		return 0, fmt.Errorf("%w: a tensor of %d bytes and %d dimensions, where %d bytes are allowed", errMessage, size, len(h.Shape), most)
	}
	return size, nil
}

// tensors makes the tensors of a message.
func (m message) tensors(data [][]byte) (list []torch.Tensor, err error) {
	for i, h := range m.Tensors {
		x, err := torch.Try1(func() torch.Tensor {
			dtype, _ := torch.ParseDType(h.DType) // it was read before
			return torch.FromBytes(data[i], dtype, h.Shape...)
		})
		if err != nil {
			torch.Close(list...)
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// result is what forward returned.
func (m message) result(data [][]byte) (any, error) {
	if m.Failed != "" || m.Raised != nil {
		return nil, &ConfinedError{Err: m.raised(), Reason: m.Failed}
	}
	list, err := m.tensors(data)
	if err != nil {
		return nil, err
	}
	switch {
	case m.One && len(list) == 1:
		return list[0], nil
	case m.Dict:
		dict := map[string]torch.Tensor{}
		for i, x := range list {
			if _, twice := dict[m.Tensors[i].Name]; twice {
				torch.Close(list...)
				return nil, &ConfinedError{Err: errMessage, Reason: "a key came twice"}
			}
			dict[m.Tensors[i].Name] = x
		}
		return dict, nil
	}
	return list, nil
}

// raised is what TorchScript raised, or nil.
func (m message) raised() error {
	if m.Raised == nil {
		return nil
	}
	return m.Raised
}
