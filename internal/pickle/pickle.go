package pickle

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Dict is a Python dict whose keys are strings, in their order.
type Dict []Item

// Item is one entry of a [Dict].
type Item struct {
	Key   string
	Value any
}

// Tuple is a Python tuple of two.
type Tuple [2]any

// Opcodes of protocol 2, which every reader knows. Nothing is memoized: values are trees.
const (
	opProto      = 0x80
	opStop       = '.'
	opNone       = 'N'
	opTrue       = 0x88
	opFalse      = 0x89
	opInt32      = 'J'
	opLong       = 0x8a
	opFloat      = 'G'
	opText       = 'X'
	opEmptyList  = ']'
	opEmptyDict  = '}'
	opMark       = '('
	opAppends    = 'e'
	opSetItems   = 'u'
	opTuple2     = 0x86
	protocol     = 2
	longestSmall = 9 // bytes of an integer of 64 bits, with its sign
)

// Write writes v: nil, a bool, int, int64, uint64, float64, string, a []any, [Dict] or [Tuple]
// of such. It fails for other types, and where w does.
func Write(w io.Writer, v any) error {
	p := &writer{w: bufio.NewWriter(w)}
	p.op(opProto, protocol)
	if err := p.value(v); err != nil {
		return err
	}
	p.op(opStop)
	return p.w.Flush()
}

// writer leaves errors of the file to the last flush: bufio keeps the first.
type writer struct {
	w *bufio.Writer
}

func (p *writer) op(bytes ...byte) { _, _ = p.w.Write(bytes) }

func (p *writer) value(v any) error {
	switch v := v.(type) {
	case nil:
		p.op(opNone)
	case bool:
		if v {
			p.op(opTrue)
		} else {
			p.op(opFalse)
		}
	case int:
		p.integer(uint64(v), v < 0)
	case int64:
		p.integer(uint64(v), v < 0)
	case uint64:
		p.integer(v, false)
	case float64:
		p.op(binary.BigEndian.AppendUint64([]byte{opFloat}, math.Float64bits(v))...)
	case string:
		p.text(v)
	case []any:
		return p.list(v)
	case Dict:
		return p.dict(v)
	case Tuple:
		return p.tuple(v)
	default:
		return fmt.Errorf("pickle: cannot write a %T", v)
	}
	return nil
}

// integer writes 64 bits that are negative or not.
func (p *writer) integer(bits uint64, negative bool) {
	if n := int64(bits); negative == (n < 0) && n == int64(int32(n)) {
		p.op(binary.LittleEndian.AppendUint32([]byte{opInt32}, uint32(bits))...)
		return
	}
	sign := byte(0)
	if negative {
		sign = 0xff
	}
	p.op(append(binary.LittleEndian.AppendUint64([]byte{opLong, longestSmall}, bits), sign)...)
}

func (p *writer) text(s string) {
	p.op(binary.LittleEndian.AppendUint32([]byte{opText}, uint32(len(s)))...)
	_, _ = p.w.WriteString(s)
}

func (p *writer) list(list []any) error {
	p.op(opEmptyList, opMark)
	for _, v := range list {
		if err := p.value(v); err != nil {
			return err
		}
	}
	p.op(opAppends)
	return nil
}

func (p *writer) dict(d Dict) error {
	p.op(opEmptyDict, opMark)
	for _, item := range d {
		p.text(item.Key)
		if err := p.value(item.Value); err != nil {
			return err
		}
	}
	p.op(opSetItems)
	return nil
}

func (p *writer) tuple(t Tuple) error {
	for _, v := range t {
		if err := p.value(v); err != nil {
			return err
		}
	}
	p.op(opTuple2)
	return nil
}
