package cgo

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func words(fill func(c *Call)) []uint64 {
	var c Call
	fill(&c)
	if len(c.long) > 0 {
		return c.long
	}
	return c.words[:c.n]
}

func TestArgumentsOnTheWire(t *testing.T) {
	var eight uint64 = 0x6867666564636261 // "abcdefgh"
	cases := []struct {
		name string
		fill func(c *Call)
		want []uint64
	}{
		{"no tensor", func(c *Call) { c.Tensor(nil) }, []uint64{0}},
		{"int", func(c *Call) { c.Int(-1) }, []uint64{none}},
		{"optional int", func(c *Call) { c.OptInt(new(7)); c.OptInt(nil) }, []uint64{1, 7, 0, 0}},
		{"float", func(c *Call) { c.Float(-0.5) }, []uint64{math.Float64bits(-0.5)}},
		{"optional float", func(c *Call) { c.OptFloat(new(0.5)); c.OptFloat(nil) }, []uint64{1, math.Float64bits(0.5), 0, 0}},
		{"bool", func(c *Call) { c.Bool(true); c.Bool(false) }, []uint64{1, 0}},
		{"optional bool", func(c *Call) { c.OptBool(new(false)); c.OptBool(nil) }, []uint64{0, none}},
		{"ints", func(c *Call) { c.Ints([]int{3, -1}); c.Ints(nil) }, []uint64{2, 3, none, 0}},
		{"optional ints", func(c *Call) { c.OptInts([]int{}); c.OptInts(nil) }, []uint64{0, none}},
		{"floats", func(c *Call) { c.Floats([]float64{1}); c.OptFloats(nil); c.OptFloats([]float64{}) },
			[]uint64{1, math.Float64bits(1), none, 0}},
		{"bools", func(c *Call) { c.Bools([]bool{true, false}) }, []uint64{2, 1, 0}},
		{"string", func(c *Call) { c.Str("abcdefghab"); c.Str(""); c.OptStr(nil); c.OptStr(new("ab")) },
			[]uint64{10, eight, 0x6261, 0, none, 2, 0x6261}},
		{"scalars", func(c *Call) {
			c.NoScalar()
			c.ScalarFloat(2)
			c.ScalarInt(-2)
			c.ScalarBool(true)
			c.ScalarComplex(1 + 2i)
			c.ScalarUint(5)
		}, []uint64{0, 1, math.Float64bits(2), 2, ^uint64(1), 3, 1, 4, math.Float64bits(1), math.Float64bits(2), 5, 5}},
		{"enumerators", func(c *Call) { c.Code(6); c.Code(-1) }, []uint64{6, none}},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, words(c.fill), c.name)
	}
	for n := range 3 * inlineWords {
		list := make([]int, n)
		for i := range list {
			list[i] = i + 1
		}
		got := words(func(c *Call) { c.Ints(list) })
		require.Len(t, got, n+1)
		for i, v := range list {
			require.Equal(t, uint64(v), got[i+1])
		}
	}
}

// Lists of any length cross: words and pins that do not fit into a Call go to the heap.
func TestLongLists(t *testing.T) {
	clean(t)
	for _, n := range []int{1, inlinePins, inlinePins + 1, inlineWords - 2, inlineWords, 100, 3000} {
		parts := make([]*Handle, n)
		var c Call
		c.Begin(OpCat)
		c.List(n)
		for i := range parts {
			parts[i] = newHandle(t, float32(i))
			c.Tensor(parts[i])
		}
		c.Int(0)
		require.Nil(t, c.Run())
		all := c.Handle(0)
		got := values(t, all, n)
		for i, v := range got {
			require.Equal(t, float32(i), v)
			require.Zero(t, parts[i].uses.Load())
			parts[i].Close()
		}
		all.Close()
	}
}

func TestStringsCross(t *testing.T) {
	clean(t)
	for n := range 40 {
		name := "no operator " + strings.Repeat("é", n)
		var c Call
		c.Begin(OpBoxed)
		c.Str(name)
		c.Str("")
		c.List(0)
		c.List(0)
		err := c.Run()
		require.NotNil(t, err)
		assert.Equal(t, KindNotImplemented, err.Kind)
		assert.Contains(t, err.Msg, name)
	}
}

func TestEveryOperatorHasAName(t *testing.T) {
	seen := map[string]bool{}
	for op := range Op(len(opEnds)) {
		name := op.String()
		require.NotEmpty(t, name)
		if op >= opsByHand {
			require.False(t, seen[name], name)
			seen[name] = true
		}
	}
	assert.Greater(t, len(seen), 1500)
	assert.Equal(t, "unknown operator", Op(len(opEnds)).String())
	for op, want := range map[Op]bool{OpAddTensor: true, OpMM: true, OpAddInPlaceTensor: false, OpBackward: false, OpFree: false,
		OpEmptyMemoryFormat: true} {
		assert.Equal(t, want, op.functional(), op.String())
	}
}

func TestBoxedValues(t *testing.T) {
	clean(t)
	words := []uint64{
		boxInt, none, boxFloat, math.Float64bits(0.5), boxBool, 1, boxNone, boxComplex, math.Float64bits(1), math.Float64bits(2),
		boxString, 9, 0x6867666564636261, 0x69, boxList, 2, boxNone, boxInt, 1, boxTuple, 1, boxBool, 0,
		boxDict, 1, boxInt, boxFloat, boxInt, 3, boxFloat, math.Float64bits(4),
	}
	list, dict := []any{int64(1), Tuple{false}}, Dict{OfInts, OfFloats, []any{int64(3)}, []any{4.0}}
	r := boxReader{Reader: Reader{words}}
	assert.Equal(t, []any{int64(-1), 0.5, true, nil, 1 + 2i, "abcdefghi", list, dict}, r.values(8))
	assert.False(t, r.More())
	r = boxReader{Reader: Reader{words}, typed: true}
	assert.Equal(t, []any{List{OfAny, list}, dict}, r.values(8)[6:])
}
