package jit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// What TorchScript raises keeps its class, its message and where it happened.
func TestExceptions(t *testing.T) {
	torchtest.NoLeaks(t)
	raises := load(t, "raises")
	x := torch.Ones(2, 3)
	defer x.Close()
	for how, want := range []struct {
		kind           error
		class, message string
	}{
		{torch.ErrValue, "ValueError", "the value is wrong"},
		{torch.ErrIndex, "IndexError", "beyond the end"},
		{nil, "RuntimeError", "mat1 and mat2 shapes cannot be multiplied (2x3 and 7x7)"},
		{nil, "AssertionError", "the size is wrong"},
		{nil, "RuntimeError", "list index out of range"},
	} {
		_, err := raises.Forward(x, how)
		var failed *torch.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, "Raises.forward", failed.Op)
		require.Contains(t, failed.Error(), want.message)
		require.NotContains(t, failed.Error(), "\n")
		if want.kind != nil {
			require.ErrorIs(t, err, want.kind)
		}
		var raised *jit.Exception
		require.ErrorAs(t, err, &raised)
		require.True(t, strings.HasSuffix(raised.Class, want.class), raised.Class)
		require.Contains(t, raised.Message, want.message)
		require.Contains(t, raised.Traceback, "testdata/modules.py\", line ")
		require.Contains(t, raised.Error(), want.message)
	}
}

// Arguments that do not fit are told with the method and its schema; so are results that Go cannot have.
func TestWrongCalls(t *testing.T) {
	torchtest.NoLeaks(t)
	values, objects := load(t, "values"), load(t, "objects")
	x := torch.Ones(2, 3)
	defer x.Close()
	one, none := []torch.Tensor{x}, map[string]torch.Tensor{}
	for _, c := range []struct {
		m      *jit.Module
		method string
		args   []any
		want   []string
	}{
		{values, "numbers", []any{1}, []string{"argument f is missing", "numbers(__torch__.", "int i, float f, bool b, str s"}},
		{values, "numbers", []any{1, 2.0, true, "a", 5}, []string{"Values.numbers: too many arguments: 5 given"}},
		{values, "numbers", []any{1, "2", true, "a"}, []string{"numbers() Expected a value of type 'float' for argument 'f'", "'str'"}},
		{values, "numbers", []any{1, 2.0, true, torch.Arg("s", "a"), torch.Arg("i", 3)}, []string{"argument i was given twice"}},
		{values, "numbers", []any{torch.Arg("i", 3), 1}, []string{"a positional argument follows"}},
		{values, "numbers", []any{1, 2.0, true, torch.Arg("t", "a")}, []string{"has no argument t"}},
		{values, "lists", []any{[]string{"a"}, nil, nil, nil}, []string{"expected int as element 0 of a list, got str"}},
		{values, "forward", []any{x, 1, nil, nil}, []string{"Dict[str, Tensor]"}},
		{values, "forward", []any{x, map[int]torch.Tensor{1: x}, one, jit.Tuple{1, 2.0}}, []string{"expected str as element 0 of a dict's keys"}},
		{values, "forward", []any{x, none, one, jit.Tuple{1}}, []string{"a tuple of 1 values was given where"}},
		{values, "absent", nil, []string{"Values.absent: the module Values has no method absent"}},
		{values, "keyword", []any{torch.Tensor{}}, []string{"argument x must be a tensor, but got one that is undefined"}},
		{values, "keyword", []any{make(chan int)}, []string{"a value of type chan int cannot be passed"}},
		{objects, "forward", []any{x}, []string{"Objects.forward: a result of type", "Box cannot be returned to Go"}},
		{objects, "own", []any{1}, []string{"nests more than 32 deep"}},
		{objects, "tensors", []any{x}, []string{"whose keys are no texts and no numbers"}},
	} {
		_, err := c.m.Call(c.method, c.args...)
		for _, want := range c.want {
			require.ErrorContains(t, err, want)
		}
	}
	_, err := values.Run(1)
	require.Error(t, err)
	require.ErrorContains(t, torch.Try(func() { values.Forward1(x, nil, nil, nil) }), "Values.forward")
	values.Close()
	_, err = values.Forward()
	require.ErrorIs(t, err, torch.ErrClosed)
	require.Equal(t, "a module that was closed", values.String())
}
