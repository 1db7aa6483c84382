package optable_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/optable"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

func TestFind(t *testing.T) {
	form, ok := optable.Find("topk")
	require.True(t, ok)
	require.Equal(t, "self=#0 k=#1 dim=.Dim largest=!Smallest sorted=!Unsorted", form.Args)
	_, ok = optable.Find("no_such_operator")
	require.False(t, ok)
	for _, form := range optable.Forms() {
		require.NotEmpty(t, optable.FindAll(form.Op), "%s: the table is sorted", form.Op)
	}
}

func TestCall(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.FromSlice([]float32{3, 1, 2})
		form, _ := optable.Find("topk")
		out, err := form.Call(map[string]any{"self": x, "k": 2, "largest": false})
		require.NoError(t, err)
		require.Equal(t, []float32{1, 2}, torch.Values[float32](out[0].(torch.Tensor)))
		require.Equal(t, []int64{1, 2}, torch.Values[int64](out[1].(torch.Tensor)))

		for args, want := range map[string]map[string]any{
			"none of these":   {"self": x, "k": 2, "length": 1},
			"does not fit":    {"self": x, "k": "two"},
			"expected a bool": {"self": x, "k": 2, "largest": 1},
		} {
			_, err := form.Call(want)
			require.Error(t, err, args)
		}
	})
}

// TestFormsAgreeWithSchema calls every public form with what the schema requires, and
// again with each option set, and holds the results against those of the same operator
// called by name with the same arguments: there the schema itself says what goes where
// and what the defaults are. Where the values do not suit the operator, both must fail
// with the same error.
func TestFormsAgreeWithSchema(t *testing.T) {
	torchtest.NoLeaks(t)
	ran, options := 0, 0
	here := map[string]bool{}
	for _, name := range torch.Operators() {
		here[strings.TrimSuffix(strings.TrimPrefix(name, "aten::"), ".")] = true
	}
	generator := torch.NewGenerator(torch.CPU)
	defer generator.Close()
	for _, form := range optable.Forms() {
		if form.Private && !strings.HasPrefix(form.Op, "_foreach_") {
			continue
		}
		c := check{t: t, form: form, generator: generator}
		if !here[form.Op] {
			torch.Scope(c.gone)
			continue
		}
		torch.Scope(c.run)
		ran += c.ran
		options += c.options
	}
	t.Logf("%d forms and %d options ran", ran, options)
	require.GreaterOrEqual(t, ran, 1100, "the values made here no longer suit the operators")
	require.GreaterOrEqual(t, options, 590, "the values made here no longer suit the options")
}

type check struct {
	t            *testing.T
	form         optable.Form
	generator    *torch.Generator
	ran, options int
}

func (c *check) run() {
	var last error
	for _, shape := range optable.ExampleShapes {
		args := c.form.Example(shape, c.generator)
		ok, err := c.same(args)
		last = err
		if ok {
			c.ran = 1
			c.withOptions(args, shape)
			return
		}
	}
	c.t.Logf("%s accepts nothing that is tried here: %v", c.form.Op, last)
}

// gone checks the form of an operator that the loaded libtorch does not have.
func (c *check) gone() {
	err := torch.Try(func() {
		_, err := c.form.Call(c.form.Example(optable.ExampleShapes[0], c.generator))
		require.NoError(c.t, err)
	})
	require.ErrorIs(c.t, err, torch.ErrNotImplemented, c.form.Op)
}

// untried are options that say where a result goes, not what it is.
var untried = []string{"generator", "layout", "device", "pin_memory"}

// withOptions sets one option after the other. Of several ints by position the first.
func (c *check) withOptions(args map[string]any, shape []int) {
	for _, p := range c.form.Places() {
		if _, given := args[p.Arg]; given || p.Fixed != "" || p.Elem > 0 || slices.Contains(untried, p.Arg) {
			continue
		}
		more := maps.Clone(args)
		more[p.Arg] = c.form.ExampleOption(p, shape)
		if ok, _ := c.same(more); ok {
			c.options++
		}
	}
}

// uninitialised operators make tensors whose elements are not set.
var uninitialised = regexp.MustCompile(`^(new_)?empty|^resize`)

// same runs both ways; it reports whether they succeeded, and fails if they differ.
func (c *check) same(args map[string]any) (ok bool, err error) {
	torch.ManualSeed(1)
	var want []any
	wantErr := torch.Try(func() {
		var named []any
		for _, p := range c.form.Places() {
			if v, ok := args[p.Arg]; ok {
				named = append(named, torch.Arg(p.Arg, fresh(v)))
			} else if p.Fixed == "True" {
				named = append(named, torch.Arg(p.Arg, true))
			}
		}
		want = torch.Call(c.form.Op, named...)
	})
	torch.ManualSeed(1)
	var got []any
	gotErr := torch.Try(func() {
		mine := map[string]any{}
		for k, v := range args {
			mine[k] = fresh(v)
		}
		var err error
		got, err = c.form.Call(mine)
		require.NoError(c.t, err)
	})
	if wantErr != nil && refusedInGo(gotErr) || gotErr != nil && strings.HasPrefix(c.form.Op, "sparse_") {
		return false, gotErr // of two mistakes each side names one; to libtorch wild indices are none
	}
	if wantErr != nil || gotErr != nil {
		assert.Equal(c.t, message(wantErr), message(gotErr), "%s%v", c.form.Op, args)
		return false, wantErr
	}
	if !uninitialised.MatchString(c.form.Op) {
		assert.Equal(c.t, describe(want), describe(got), "%s%v", c.form.Op, args)
	}
	return true, nil
}

// refusedInGo reports an error of the checks that come before libtorch. They do not list
// the tensors of the call.
func refusedInGo(err error) bool {
	var e *torch.Error
	return errors.As(err, &e) && e.Args == nil
}

func message(err error) string {
	if err == nil {
		return ""
	}
	var e *torch.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	return fmt.Sprint(e.Kind, ": ", e.Msg)
}

// fresh copies tensors, so that operators that write in place start from the same.
func fresh(v any) any {
	switch v := v.(type) {
	case torch.Tensor:
		return v.Clone()
	case *torch.Generator:
		return v.ManualSeed(1)
	case []torch.Tensor:
		list := slices.Clone(v)
		for i := range list {
			list[i] = list[i].Clone()
		}
		return list
	}
	return v
}

// describe makes results comparable.
func describe(out []any) (text []string) {
	for _, v := range out {
		switch v := v.(type) {
		case torch.Tensor:
			text = append(text, describeTensor(v))
		case []torch.Tensor:
			for _, x := range v {
				text = append(text, describeTensor(x))
			}
		case torch.DType:
			text = append(text, fmt.Sprint(bridge.Code(v))) // called by name it comes as libtorch's number
		case float64:
			text = append(text, fmt.Sprint(v))
		default:
			if reflect.ValueOf(v).Kind() == reflect.Int64 {
				v = int(v.(int64))
			}
			text = append(text, fmt.Sprint(v))
		}
	}
	return text
}

func describeTensor(x torch.Tensor) string {
	if !x.Defined() {
		return "undefined"
	}
	head := fmt.Sprint(x.DType(), x.Layout(), x.Shape())
	if x.Layout() != torch.Strided {
		return head
	}
	return fmt.Sprintf("%s %x", head, bytes.TrimSpace(x.Detach().ResolveConj().ResolveNeg().Contiguous().Bytes()))
}
