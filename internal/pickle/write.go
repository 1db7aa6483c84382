package pickle

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
)

// protocol is the one that files are written in: that of torch.save, which every reader knows.
const protocol = 2

// Write writes v: nil, a bool, int, int64, uint64, *big.Int, float64, string, []byte, []any or a value of
// this package's types. What pointers, texts and globals occur more than once is written once. It
// fails for other types, and where w does.
func Write(w io.Writer, v any) error {
	p := &writer{w: bufio.NewWriter(w), memo: map[any]uint32{}}
	p.op(opProto, protocol)
	if err := p.value(v); err != nil {
		return err
	}
	p.op(opStop)
	return p.w.Flush()
}

// writer leaves errors of the file to the last flush: bufio keeps the first.
type writer struct {
	w    *bufio.Writer
	memo map[any]uint32 // of values that can be referred to
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
		p.integer(int64(v))
	case int64:
		p.integer(v)
	case uint64:
		p.big(new(big.Int).SetUint64(v))
	case *big.Int:
		p.big(v)
	case float64:
		p.op(binary.BigEndian.AppendUint64([]byte{opFloat}, math.Float64bits(v))...)
	case []any:
		return p.list(v)
	case Dict:
		return p.dict(v)
	case Tuple:
		return p.tuple(v)
	case *Ref:
		if err := p.value(v.ID); err != nil {
			return err
		}
		p.op(opRef)
	default:
		return p.shared(v)
	}
	return nil
}

// shared writes what is written once and referred to from then on.
func (p *writer) shared(v any) error {
	key := v
	if b, ok := v.([]byte); ok {
		return p.object(&Object{Class: Global{"_codecs", "encode"}, Args: Tuple{latin1(b), "latin1"}})
	}
	switch v.(type) {
	case string, Global, *Object, *List, *Dict, *Tuple, *Set:
	default:
		return fmt.Errorf("pickle: cannot write a %T", v)
	}
	if n, ok := p.memo[key]; ok {
		p.numbered(opGet, opLongGet, n)
		return nil
	}
	var err error
	switch v := v.(type) {
	case string:
		err = p.text(v)
	case Global:
		p.op(opGlobal)
		_, _ = fmt.Fprintf(p.w, "%s\n%s\n", v.Module, v.Name)
	case *Object:
		return p.object(v)
	case *List: // remembered before it is filled: it may contain itself
		p.op(opEmptyList)
		p.remember(key)
		return p.fill(*v, opAppends)
	case *Dict:
		p.op(opEmptyDict)
		p.remember(key)
		return p.items(*v)
	case *Tuple:
		err = p.tuple(*v)
	case *Set:
		name := "set"
		if v.Frozen {
			name = "frozenset"
		}
		err = p.object(&Object{Class: Global{"__builtin__", name}, Args: Tuple{v.Items}})
	}
	if err == nil {
		p.remember(key)
	}
	return err
}

// latin1 is the text whose letters are the bytes: how protocol 2 has them.
func latin1(b []byte) string {
	letters := make([]rune, len(b))
	for i, c := range b {
		letters[i] = rune(c)
	}
	return string(letters)
}

func (p *writer) remember(key any) {
	n := uint32(len(p.memo))
	p.memo[key] = n
	p.numbered(opPut, opLongPut, n)
}

func (p *writer) numbered(short, long byte, n uint32) {
	if n <= math.MaxUint8 {
		p.op(short, byte(n))
		return
	}
	p.op(binary.LittleEndian.AppendUint32([]byte{long}, n)...)
}

func (p *writer) integer(n int64) {
	switch {
	case n >= 0 && n <= math.MaxUint8:
		p.op(opInt8, byte(n))
	case n >= 0 && n <= math.MaxUint16:
		p.op(opInt16, byte(n), byte(n>>8))
	case n == int64(int32(n)):
		p.op(binary.LittleEndian.AppendUint32([]byte{opInt32}, uint32(n))...)
	default:
		p.big(big.NewInt(n))
	}
}

// big writes an integer of any size, in two's complement.
func (p *writer) big(n *big.Int) {
	if n.IsInt64() && n.Int64() == int64(int32(n.Int64())) {
		p.integer(n.Int64())
		return
	}
	size := n.BitLen()/8 + 1
	rest := n
	if n.Sign() < 0 {
		rest = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	bytes := rest.FillBytes(make([]byte, size))
	slices.Reverse(bytes)
	if size <= math.MaxUint8 {
		p.op(opLong, byte(size))
	} else {
		p.op(binary.LittleEndian.AppendUint32([]byte{opLong4}, uint32(size))...)
	}
	p.op(bytes...)
}

func (p *writer) text(s string) error {
	if len(s) > math.MaxUint32 {
		return fmt.Errorf("pickle: a text of %d bytes is too long", len(s))
	}
	p.op(binary.LittleEndian.AppendUint32([]byte{opText}, uint32(len(s)))...)
	_, _ = p.w.WriteString(s)
	return nil
}

// all writes values one after the other.
func (p *writer) all(list []any) error {
	for _, v := range list {
		if err := p.value(v); err != nil {
			return err
		}
	}
	return nil
}

// fill writes values for the container before them.
func (p *writer) fill(list []any, end byte) error {
	if len(list) == 0 {
		return nil
	}
	p.op(opMark)
	if err := p.all(list); err != nil {
		return err
	}
	p.op(end)
	return nil
}

func (p *writer) list(list []any) error {
	p.op(opEmptyList)
	return p.fill(list, opAppends)
}

func (p *writer) dict(d Dict) error {
	p.op(opEmptyDict)
	return p.items(d)
}

func (p *writer) items(items []Item) error {
	flat := make([]any, 0, 2*len(items))
	for _, item := range items {
		flat = append(flat, item.Key, item.Value)
	}
	return p.fill(flat, opSetAll)
}

func (p *writer) tuple(t Tuple) error {
	switch len(t) {
	case 0:
		p.op(opEmptyTuple)
		return nil
	case 1, 2, 3:
		if err := p.all(t); err != nil {
			return err
		}
		p.op(opTuple1 + byte(len(t)-1))
		return nil
	}
	return p.fill(t, opTuple)
}

func (p *writer) object(o *Object) error {
	if err := p.value(o.Class); err != nil {
		return err
	}
	if err := p.tuple(o.Args); err != nil {
		return err
	}
	if o.New {
		p.op(opNewObj)
	} else {
		p.op(opReduce)
	}
	p.remember(o)
	if err := p.fill(o.List, opAppends); err != nil {
		return err
	}
	if err := p.items(o.Dict); err != nil {
		return err
	}
	if o.State == nil {
		return nil
	}
	if err := p.value(o.State); err != nil {
		return err
	}
	p.op(opBuild)
	return nil
}
