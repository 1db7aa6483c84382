package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
)

// machine is Python's pickle machine, for data alone.
type machine struct {
	source
	limits Limits
	left   int64 // of the budget
	stack  []any
	high   int   // how high the stack was
	marks  []int // heights of the stack
	memo   []any
	rare   map[uint32]any // memo entries whose numbers do not follow each other
}

// What values cost: their size in Go's memory, that of what programs make of them, and some more.
const (
	costStack  = 64 // as high as it ever was
	costSlot   = 32 // of a list
	costItem   = 256
	costMemo   = 80
	costValue  = 8
	costTuple  = 64
	costObject = 256
)

// charge takes memory from the budget, before it is allocated.
func (m *machine) charge(n int64) error {
	if m.left -= n; m.left < 0 {
		return fmt.Errorf("%w: more than the %d bytes that it may", ErrBudget, m.limits.Budget)
	}
	return nil
}

// run executes opcodes until the one that stops.
func (m *machine) run() (any, error) {
	for {
		code, err := m.next(1)
		if err != nil {
			return nil, err
		}
		if code[0] == opStop {
			return m.pop()
		}
		if err := m.step(code[0]); err != nil {
			return nil, err
		}
	}
}

// step executes one opcode: what frames and versions, what brings values, what works on the stack.
func (m *machine) step(code byte) error {
	switch code {
	case opProto:
		b, err := m.next(1)
		if err == nil && b[0] > newest {
			err = malformed("protocol %d is not known", b[0])
		}
		return err
	case opFrame:
		_, err := m.next(8)
		return err
	}
	if v, ok := constants[code]; ok {
		return m.push(v, costValue)
	}
	if make, ok := empty[code]; ok {
		return m.push(make(), costObject)
	}
	if read, ok := readers[code]; ok {
		return read(m)
	}
	if work, ok := works[code]; ok {
		return work(m)
	}
	return malformed("opcode %#02x is none of those that data needs", code)
}

// constants are the values of opcodes without arguments.
var constants = map[byte]any{opNone: nil, opTrue: true, opFalse: false}

// empty makes the containers that opcodes stand for.
var empty = map[byte]func() any{
	opEmptyList: func() any { return &List{} }, opEmptyDict: func() any { return &Dict{} },
	opEmptyTuple: func() any { return &Tuple{} }, opEmptySet: func() any { return &Set{} },
}

// readers are opcodes whose values follow them.
var readers = map[byte]func(*machine) error{
	opInt8: func(m *machine) error { return m.number(1, func(b []byte) any { return int(b[0]) }) },
	opInt16: func(m *machine) error {
		return m.number(2, func(b []byte) any { return int(binary.LittleEndian.Uint16(b)) })
	},
	opInt32: func(m *machine) error {
		return m.number(4, func(b []byte) any { return int(int32(binary.LittleEndian.Uint32(b))) })
	},
	opFloat: func(m *machine) error {
		return m.number(8, func(b []byte) any { return math.Float64frombits(binary.BigEndian.Uint64(b)) })
	},
	opLong:       func(m *machine) error { return m.sized(1, longest, long) },
	opLong4:      func(m *machine) error { return m.sized(4, longest, long) },
	opShortText:  func(m *machine) error { return m.sized(1, math.MaxInt, text) },
	opText:       func(m *machine) error { return m.sized(4, math.MaxInt, text) },
	opLongText:   func(m *machine) error { return m.sized(8, math.MaxInt, text) },
	opShortBytes: func(m *machine) error { return m.sized(1, math.MaxInt, octets) },
	opBytes:      func(m *machine) error { return m.sized(4, math.MaxInt, octets) },
	opLongBytes:  func(m *machine) error { return m.sized(8, math.MaxInt, octets) },
	opShortOld:   func(m *machine) error { return m.sized(1, math.MaxInt, old) },
	opOld:        func(m *machine) error { return m.sized(4, math.MaxInt, old) },
	opByteArray:  func(m *machine) error { return m.sized(8, math.MaxInt, byteArray) },
	opGlobal:     (*machine).global,
	opGet:        func(m *machine) error { return m.get(1) },
	opLongGet:    func(m *machine) error { return m.get(4) },
	opPut:        func(m *machine) error { return m.put(1) },
	opLongPut:    func(m *machine) error { return m.put(4) },
}

func (m *machine) number(size int, convert func([]byte) any) error {
	b, err := m.next(size)
	if err != nil {
		return err
	}
	return m.push(convert(b), costValue)
}

// longest is how many bytes an integer may have: what is written in decimal takes time that
// grows with the square of them.
const longest = 1 << 14

// sized reads a length, which is at most most, and so many bytes.
func (m *machine) sized(width, most int, convert func([]byte) any) error {
	n, err := m.unsigned(width)
	if err != nil {
		return err
	}
	if n > uint64(min(m.remaining(), int64(most))) {
		return malformed("a value of %d bytes is longer than it can be", n)
	}
	if err := m.charge(2 * int64(n)); err != nil { // the bytes and what they are converted to
		return err
	}
	b, err := m.next(int(n))
	if err != nil {
		return err
	}
	return m.push(convert(b), costValue)
}

func (m *machine) unsigned(width int) (uint64, error) {
	b, err := m.next(width)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], b)
	return binary.LittleEndian.Uint64(wide[:]), nil
}

func text(b []byte) any   { return string(b) }
func octets(b []byte) any { return slices.Clone(b) }

// old is a text of Python 2, whose texts are bytes.
func old(b []byte) any { return string(b) }

func byteArray(b []byte) any {
	return &Object{Class: Global{"builtins", "bytearray"}, Args: Tuple{slices.Clone(b)}}
}

// long is an integer in two's complement: an int where it fits.
func long(b []byte) any {
	n := new(big.Int)
	be := slices.Clone(b)
	slices.Reverse(be)
	n.SetBytes(be)
	if len(be) > 0 && be[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(be))))
	}
	if n.IsInt64() {
		return int(n.Int64())
	}
	return n
}

// global reads the name of a class or a function.
func (m *machine) global() error {
	module, err := m.line()
	if err != nil {
		return err
	}
	name, err := m.line()
	if err != nil {
		return err
	}
	return m.pushGlobal(module, name)
}

// renamed are modules whose names changed with Python 3.
var renamed = map[string]string{"__builtin__": "builtins", "copy_reg": "copyreg"}

func (m *machine) pushGlobal(module, name string) error {
	if now, ok := renamed[module]; ok {
		module = now
	}
	g := Global{module, name}
	if m.limits.Allow != nil {
		if err := m.limits.Allow(g); err != nil {
			return err
		}
	}
	return m.push(g, costValue+int64(len(module)+len(name)))
}

func (m *machine) get(width int) error {
	n, err := m.unsigned(width)
	if err != nil {
		return err
	}
	if n < uint64(len(m.memo)) {
		return m.push(m.memo[n], 0)
	}
	v, ok := m.rare[uint32(n)]
	if !ok {
		return malformed("value %d was never remembered", n)
	}
	return m.push(v, 0)
}

func (m *machine) put(width int) error {
	n, err := m.unsigned(width)
	if err != nil {
		return err
	}
	return m.remember(uint32(n))
}

// remember gives the value on top of the stack a number.
func (m *machine) remember(n uint32) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	if err := m.charge(costMemo); err != nil {
		return err
	}
	switch {
	case int(n) < len(m.memo):
		m.memo[n] = v
	case int(n) == len(m.memo):
		m.memo = append(m.memo, v)
	default:
		if m.rare == nil {
			m.rare = map[uint32]any{}
		}
		m.rare[n] = v
	}
	return nil
}
