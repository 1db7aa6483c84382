package tensorboard

import (
	"encoding/binary"
	"math"
)

// A message is a Protocol Buffers message that is being written: fields in any order, by their numbers.
type message []byte

// The wire types of fields.
const (
	wireVarint = 0
	wireDouble = 1
	wireBytes  = 2
	wireFloat  = 5
)

func (m *message) key(field, wire int) { *m = binary.AppendUvarint(*m, uint64(field<<3|wire)) }

func (m *message) integer(field int, v int64) {
	m.key(field, wireVarint)
	*m = binary.AppendUvarint(*m, uint64(v))
}

func (m *message) double(field int, v float64) {
	m.key(field, wireDouble)
	*m = binary.LittleEndian.AppendUint64(*m, math.Float64bits(v))
}

func (m *message) float(field int, v float32) {
	m.key(field, wireFloat)
	*m = binary.LittleEndian.AppendUint32(*m, math.Float32bits(v))
}

func (m *message) bytes(field int, v []byte) {
	m.key(field, wireBytes)
	*m = append(binary.AppendUvarint(*m, uint64(len(v))), v...)
}

func (m *message) text(field int, v string) { m.bytes(field, []byte(v)) }

// in writes a message within the message.
func (m *message) in(field int, fill func(inner *message)) {
	var inner message
	fill(&inner)
	m.bytes(field, inner)
}

// doubles writes a packed list.
func (m *message) doubles(field int, list []float64) {
	packed := make([]byte, 0, 8*len(list))
	for _, v := range list {
		packed = binary.LittleEndian.AppendUint64(packed, math.Float64bits(v))
	}
	m.bytes(field, packed)
}
