package export

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/torch"
)

// calculation is a function of numbers that programs call by Python's name, with so many arguments.
type calculation struct {
	args int
	fn   func(args []any) (any, error)
}

func (c calculation) run(_ context.Context, args []any) ([]any, error) {
	v, err := c.fn(args)
	return []any{v}, err
}

// symbolic are the functions that compute sizes.
var symbolic = map[string]calculation{
	"_operator.add":      arithmetic(addInts, func(a, b float64) float64 { return a + b }),
	"_operator.sub":      minus,
	"_operator.mul":      arithmetic(mulInts, func(a, b float64) float64 { return a * b }),
	"_operator.floordiv": arithmetic(floorDiv, func(a, b float64) float64 { return math.Floor(a / b) }),
	"_operator.mod":      arithmetic(floorMod, func(a, b float64) float64 { return a - b*math.Floor(a/b) }),
	"_operator.pow":      arithmetic(powInts, math.Pow),
	"_operator.lshift":   arithmetic(shiftLeft, nil),
	"_operator.rshift":   arithmetic(func(a, b int) (int, bool) { return a >> uint(max(b, 0)), b >= 0 }, nil),
	"torch.sym_max":      arithmetic(func(a, b int) (int, bool) { return max(a, b), true }, func(a, b float64) float64 { return max(a, b) }),
	"torch.sym_min":      arithmetic(func(a, b int) (int, bool) { return min(a, b), true }, func(a, b float64) float64 { return min(a, b) }),
	"_operator.truediv":  {2, trueDiv},
	"_operator.eq":       comparison(func(c int) bool { return c == 0 }),
	"_operator.ne":       comparison(func(c int) bool { return c != 0 }),
	"_operator.lt":       comparison(func(c int) bool { return c == -1 }),
	"_operator.le":       comparison(func(c int) bool { return c == -1 || c == 0 }),
	"_operator.gt":       comparison(func(c int) bool { return c == 1 }),
	"_operator.ge":       comparison(func(c int) bool { return c == 1 || c == 0 }),
	"_operator.and_":     logical(func(a, b bool) bool { return a && b }),
	"_operator.or_":      logical(func(a, b bool) bool { return a || b }),
	"_operator.neg":      {1, func(a []any) (any, error) { return minus.fn([]any{0, a[0]}) }},
	"_operator.pos":      {1, func(a []any) (any, error) { return a[0], nil }},
	"torch.sym_not":      {1, func(a []any) (any, error) { v, err := truth(a[0]); return !v, err }},
	"torch.sym_float":    {1, func(a []any) (any, error) { return number(a[0]) }},
	"torch.sym_int":      {1, truncate},
	"math.trunc":         {1, truncate},
	"torch.sym_sqrt": {1, func(a []any) (any, error) {
		x, err := number(a[0])
		return math.Sqrt(x), err
	}},
	"torch.sym_ite": {3, func(a []any) (any, error) {
		if yes, err := truth(a[0]); err != nil || yes {
			return a[1], err
		}
		return a[2], nil
	}},
}

var minus = arithmetic(subInts, func(a, b float64) float64 { return a - b })

var errOverflow = errors.New("the number is larger than 64 bits, or does not exist")

// whole is a value as a whole number, as Python takes it.
func whole(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func number(v any) (float64, error) {
	if n, ok := whole(v); ok {
		return float64(n), nil
	}
	if x, ok := v.(float64); ok {
		return x, nil
	}
	return 0, fmt.Errorf("expected a number, got %T", v)
}

func truth(v any) (bool, error) {
	if n, ok := whole(v); ok {
		return n != 0, nil
	}
	return false, fmt.Errorf("expected a condition, got %T", v)
}

// arithmetic is a function of two numbers: whole where both are. of may be nil.
func arithmetic(ints func(a, b int) (int, bool), of func(a, b float64) float64) calculation {
	return calculation{2, func(args []any) (any, error) {
		a, okA := whole(args[0])
		b, okB := whole(args[1])
		if okA && okB {
			n, ok := ints(a, b)
			if !ok {
				return nil, errOverflow
			}
			return n, nil
		}
		x, err := number(args[0])
		y, err2 := number(args[1])
		if err = errors.Join(err, err2); err != nil || of == nil {
			return nil, errors.Join(err, errOverflow)
		}
		return of(x, y), nil
	}}
}

func addInts(a, b int) (int, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func subInts(a, b int) (int, bool) {
	c := a - b
	return c, (c < a) == (b > 0)
}

func mulInts(a, b int) (int, bool) {
	c := a * b
	return c, a == 0 || c/a == b && !(a == -1 && b == math.MinInt)
}

func floorDiv(a, b int) (int, bool) {
	if b == 0 || a == math.MinInt && b == -1 {
		return 0, false
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, true
}

func floorMod(a, b int) (int, bool) {
	if b == 0 {
		return 0, false
	}
	m := a % b
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m, true
}

func powInts(a, b int) (n int, ok bool) {
	const most = 1 << 20 // powers of one alone go on for long
	if b < 0 || b > most {
		return 0, false
	}
	n, ok = 1, true
	for i := 0; i < b && ok; i++ {
		n, ok = mulInts(n, a)
	}
	return n, ok
}

func shiftLeft(a, b int) (int, bool) {
	const bits = 63
	if b < 0 || b >= bits {
		return 0, false
	}
	return mulInts(a, 1<<b)
}

func trueDiv(args []any) (any, error) {
	a, err := number(args[0])
	b, err2 := number(args[1])
	if err = errors.Join(err, err2); err == nil && b == 0 {
		err = errors.New("division by zero")
	}
	return a / b, err
}

func truncate(args []any) (any, error) {
	if n, ok := whole(args[0]); ok {
		return n, nil
	}
	x, err := number(args[0])
	if err == nil && !(math.Abs(x) < 1<<63) {
		err = errOverflow
	}
	return int(math.Trunc(x)), err
}

// comparison compares two numbers: is gets -1, 0 or 1, or 2 where one is NaN.
func comparison(is func(int) bool) calculation {
	return calculation{2, func(args []any) (any, error) {
		a, okA := whole(args[0])
		b, okB := whole(args[1])
		if okA && okB {
			return is(order(a, b)), nil
		}
		x, err := number(args[0])
		y, err2 := number(args[1])
		return is(order(x, y)), errors.Join(err, err2)
	}}
}

func order[T int | float64](a, b T) int {
	const unordered = 2
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return unordered
}

func logical(fn func(a, b bool) bool) calculation {
	return calculation{2, func(args []any) (any, error) {
		a, err := truth(args[0])
		b, err2 := truth(args[1])
		return fn(a, b), errors.Join(err, err2)
	}}
}

// replaced are operators that Go does itself: those about numbers, and those that libtorch keeps to itself but every
// program has.
var replaced = map[string]doing{
	"aten::sym_size.int":                 sizeOf,
	"aten::_assert_scalar":               assertScalar,
	"aten::sym_constrain_range":          nothing,
	"aten::sym_constrain_range_for_size": nothing,
	"aten::_assert_tensor_metadata":      nothing,
	"aten::item":                         item,
	"aten::_local_scalar_dense":          item,
	"aten::lift_fresh_copy": func(_ context.Context, a []any) ([]any, error) {
		return onTensor(a, func(x torch.Tensor) torch.Tensor { return x.Clone() })
	},
	"aten::lift_fresh": func(_ context.Context, a []any) ([]any, error) { return onTensor(a, torch.Tensor.Alias) },
}

func onTensor(args []any, fn func(torch.Tensor) torch.Tensor) ([]any, error) {
	t, err := torch.Try1(func() torch.Tensor { return fn(tensorOf(args[0])) })
	return []any{t}, err
}

func nothing(context.Context, []any) ([]any, error) { return nil, nil }

// tensorOf is the first argument of an operator, which its schema says is a tensor.
func tensorOf(v any) torch.Tensor {
	if n, ok := v.(torch.Named); ok {
		v = n.Value
	}
	t, _ := v.(torch.Tensor)
	return t
}

func sizeOf(_ context.Context, args []any) ([]any, error) {
	dim := args[1]
	if n, ok := dim.(torch.Named); ok {
		dim = n.Value
	}
	d, _ := dim.(int)
	n, err := torch.Try1(func() int { return tensorOf(args[0]).Size(d) })
	return []any{n}, err
}

func assertScalar(_ context.Context, args []any) ([]any, error) {
	holds, err := truth(args[0])
	if err == nil && !holds {
		err = fmt.Errorf("the inputs break a condition of the program: %v", args[len(args)-1])
	}
	return nil, err
}

// item is the number that a tensor of one element holds.
func item(_ context.Context, args []any) ([]any, error) {
	return torch.Try1(func() []any { return torch.Call("aten::item", tensorOf(args[0])) })
}
