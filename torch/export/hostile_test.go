package export_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/archive"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// The records that are bent.
const (
	model     = "models/model.json"
	weights   = "data/weights/model_weights_config.json"
	constants = "data/constants/model_constants_config.json"
)

// An argument of the sample's second node, its result, and a result of the program.
const (
	output   = `"outputs":[{"as_tensor":{"name":"linear"}}]`
	last     = `{"user_output":{"arg":{"as_tensor":{"name":"right"}}}}`
	inputEnd = `,"kind":1,"name":"input"`
	inputX   = `{"as_tensor":{"name":"x"}}` + inputEnd
)

// rewritten is a file whose records are changed: change gets the name and the content of each, and returns the new content, or false
// to leave it out.
func rewritten(t testing.TB, file []byte, change func(name, text string) (string, bool)) []byte {
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	var b bytes.Buffer
	a := archive.NewWriter(&b, "model")
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		name := strings.TrimPrefix(f.Name, "model/")
		if text, ok := change(name, string(content)); ok {
			a.Text(name, text)
		}
	}
	require.NoError(t, a.Finish())
	return b.Bytes()
}

func read(file []byte) error {
	p, err := export.Read(bytes.NewReader(file), int64(len(file)))
	if err == nil {
		_ = p.String()
		p.Close()
	}
	return err
}

// bends are changes of a sound program's JSON, and what the error says.
var bends = []struct{ record, old, with, want string }{
	{model, `"graph_module"`, `"graph_modula"`, "it does not say what it takes"},
	{model, `"major":8`, `"major":9`, "version 9.17 of the format"},
	{model, `"major":8`, `"major":8.5`, "whole number"},
	{model, `"major":8`, `"major":99999999999999999999`, "whole number of 64 bits"},
	{model, `{"graph_module"`, `{"graph_module":{},"graph_module"`, "stands there twice"},
	{model, `{"graph_module"`, `[{"graph_module"`, `expected '{'`},
	{model, `"opset_version":{"aten":10}`, `"opset_version":{"aten":"ten"}`, "expected a number"},
	{model, `"opset_version":{"aten":10}`, `"opset_version":{"aten":10`, `expected`},
	{model, `"opset_version":{"aten":10}`, `"opset_version":null`, `expected '{'`},
	{model, `torch.ops.aten.linear.default`, `torch.ops.aten.from_file.default`, "aten::from_file of node \"linear\" is refused"},
	{model, `torch.ops.aten.linear.default`, `torch.ops.aten._print.default`, "aten::_print of node \"linear\" is refused"},
	{model, `torch.ops.aten.linear.default`, `torch.ops.aten.linear`, "is refused: it is no operator"},
	{model, `torch.ops.aten.linear.default`, `torch.ops.aten.linear.nope`, "libtorch has no such operator"},
	{model, `torch.ops.aten.linear.default`, `torch.ops.aten.evil.default`, "libtorch has no such operator"},
	{model, `torch.ops.aten.linear.default`, `torch.ops.mylib.evil.default`, "it is none of aten's"},
	{model, `torch.ops.aten.linear.default`, `torch.ops.mkldnn._linear_pointwise.default`, "it is none of aten's"},
	{model, `torch.ops.aten.linear.default`, `os.system`, "it is no operator"},
	{model, `torch.ops.aten.linear.default`, `builtins.eval`, "it is no operator"},
	{model, `torch.ops.aten.linear.default`, `_operator.attrgetter`, "it is no operator"},
	{model, `torch.ops.aten.linear.default`, `torch.ops.higher_order.run_const_graph`, "is refused"},
	{model, `torch.ops.aten.linear.default`, `torch.ops.higher_order.cond`, "argument 1 is no graph"},
	{model, `torch.ops.aten.linear.default`, `torch.ops.aten.record_stream.default`, "is refused"},
	{model, `torch.ops.aten.linear.default`, `torch.ops.aten.relu.default`, `argument "self" is missing`},
	{model, `"name":"input"`, `"name":"inputs"`, `argument "input" is missing`},
	{model, `"name":"weight"`, `"name":"input"`, "was given twice"},
	{model, inputX, `{"as_int":1}` + inputEnd, `argument "input" is 1, expected Tensor`},
	{model, inputX, `{"as_tensor":{"name":"y"}}` + inputEnd, `"y" is used before it is defined`},
	{model, inputX, `{"as_tensor":{"name":"right"}}` + inputEnd, `"right" is used before`},
	{model, inputX, `{"as_tensor":{"name":"rows"}}` + inputEnd, `is a SymInt, and is used as a Tensor`},
	{model, inputX, `{"as_tensor":{}}` + inputEnd, `"name" is missing`},
	{model, inputX, `{}` + inputEnd, "expected one value with its kind, found 0"},
	{model, inputX, `{"as_tensor":{"name":"x"},"as_int":1}` + inputEnd, "found 2"},
	{model, inputX, `{"as_evil":1}` + inputEnd, "there is no kind of values"},
	{model, inputX, `{"as_operator":"os.system"}` + inputEnd, `argument "input" is os.system, expected Tensor`},
	{model, inputX, `{"as_custom_obj":{"name":"x","class_fqn":"y"}}` + inputEnd, "expected Tensor"},
	{model, output, `"outputs":[{"as_tensor":{"name":"x"}}]`, `two values have the name "x"`},
	{model, output, `"outputs":[{"as_tensor":{"name":"nobody"}}]`, `the graph says nothing of the Tensor "nobody"`},
	{model, output, `"outputs":[]`, "0 results, expected 1"},
	{model, output, `"outputs":[{"as_tensors":[{"name":"linear"}]}]`, "result 0 is [linear], expected Tensor"},
	{model, output, `"outputs":[{"as_int":7}]`, "result 0 is 7, expected Tensor"},
	{model, `{"as_scalar_type":7}`, `{"as_scalar_type":77}`, "there is no dtype number 77"},
	{model, `{"as_scalar_type":7}`, `{"as_layout":70}`, "there is no layout number 70"},
	{model, `{"as_scalar_type":7}`, `{"as_memory_format":70}`, "there is no memory format number 70"},
	{model, `{"as_scalar_type":7}`, `{"as_device":{"type":"quantum","index":null}}`, "is not a device"},
	{model, `{"as_scalar_type":7}`, `{"as_device":{"type":"cuda","index":9999}}`, "there is no device number 9999"},
	{model, `{"as_scalar_type":7}`, `{"as_string":"float32"}`, "expected ScalarType"},
	{model, `"Symbol('n', positive=True, integer=True)"`, `"__import__('os').system('x')"`, "something follows the expression"},
	{model, `"Symbol('n', positive=True, integer=True)"`, `"Symbol('n"`, "no expression of sympy's"},
	{model, `"Symbol('n', positive=True, integer=True)"`, `"` + strings.Repeat("f(", 200) + `"`, "nests more than"},
	{model, `"Symbol('n', positive=True, integer=True)"`, `""`, "no expression of sympy's"},
	{model, `"dtype":7`, `"dtype":null`, "expected a number"},
	{model, `"sizes":[{"as_int":4},{"as_int":3}]`, `"sizes":[{"as_int":3},{"as_int":4}]`, "its shape is [4 3]"},
	{model, `"sizes":[{"as_int":4},{"as_int":3}]`, `"sizes":[{"as_int":4}]`, "as many strides as sizes"},
	{model, `"sizes":[{"as_int":4},{"as_int":3}]`, `"sizes":` + strings.Repeat("[", 300), "expected"},
	{model, `"parameter_name":"weight"`, `"parameter_name":"height"`, `PARAMETER "height" is missing`},
	{model, `"parameter":{`, `"parametre":{`, "there is no kind of inputs"},
	{model, `"user_output":{`, `"token":{},"loss_output":{`, `"name" is missing`},
	{model, last, `{"loss_output":{"arg":{"name":"right"}}}`, "this is a program for training"},
	{model, `"user_output":{`, `"user_ouput":{`, "there is no kind of outputs"},
	{model, `"in_spec":"[1,`, `"in_spec":"[2,`, "version 2 of trees"},
	{model, `"in_spec":"[1,`, `"in_spec":"[1,{},`, "a tree has two parts"},
	{model, `"out_spec":"[1,`, `"out_spec":"[1]","x":"[1,`, "the tree is missing"},
	{model, `"fqn":""`, `"fqn":7`, "expected a text"},
	{model, `"metadata":{}`, `"metadata":{"stack_trace":"\q"}`, "invalid"},
	{model, `"metadata":{}`, "\"metadata\":{\"stack_trace\":\"\n\"}", "a text has no end"},
	{model, `"metadata":{}`, `"metadata":` + strings.Repeat(`{"a":`, 1000), "expected"},
	{weights, `"config"`, `"confit"`, "is missing"},
	{weights, `"path_name":"weight_`, `"path_name":"../weight_`, "is missing"},
	{weights, `"path_name":"weight_`, `"path_name":"wait_`, "is missing"},
	{weights, `"use_pickle":false`, `"use_pickle":true`, "not a sound file of torch.save"},
	{weights, `"sizes":[{"as_int":4}`, `"sizes":[{"as_int":5}`, "do not fit into the"},
	{weights, `"sizes":[{"as_int":4}`, `"sizes":[{"as_int":-4}`, "expected a number that is not negative"},
	{weights, `"sizes":[{"as_int":4}`, `"sizes":[{"as_int":9223372036854775807}`, "do not fit into the"},
	{weights, `"sizes":[{"as_int":4}`, `"sizes":[{"as_expr":{"expr_str":"Symbol('n')"}}`, "expected a number"},
	{weights, `"strides":[{"as_int":3}`, `"strides":[{"as_int":4611686018427387904}`, "do not fit into the"},
	{weights, `"strides":[{"as_int":3}`, `"strides":[{"as_int":-3}`, "not negative"},
	{weights, `"storage_offset":{"as_int":0}`, `"storage_offset":{"as_int":1000000}`, "do not fit into the"},
	{weights, `"dtype":7`, `"dtype":8`, "do not fit into the"},
	{weights, `"dtype":7`, `"dtype":4`, "it is of int32, expected float32"},
	{weights, `"dtype":7,"layout":7,"requires_grad":false`, `"dtype":4,"layout":7,"requires_grad":true`, "floating point"},
	{weights, `"layout":7`, `"layout":1`, "its layout is"},
	{weights, `"tensor_meta":{`, `"tensor_meta":null,"x":{`, "an object of a C++ class"},
	{"archive_format", "pt2", "pt3", "expected \"pt2\""},
	{"archive_version", "0", "1", "expected \"0\""},
	{"byteorder", "little", "big", "expected \"little\""},
}

// Programs that are not sound are refused with an error that says why, and nothing of them is left.
func TestHostile(t *testing.T) {
	torchtest.NoLeaks(t)
	file := written(t)
	require.NoError(t, read(file))
	for i, b := range bends {
		done := false
		bent := rewritten(t, file, func(name, text string) (string, bool) {
			if name == b.record {
				require.Contains(t, text, b.old, "case %d", i)
				text, done = strings.Replace(text, b.old, b.with, 1), true
			}
			return text, true
		})
		require.True(t, done)
		err := read(bent)
		require.ErrorContains(t, err, b.want, fmt.Sprintf("case %d: %s for %s", i, b.with, b.old))
	}
}

// A file without one of its records, or one that was cut off, is an error.
func TestIncomplete(t *testing.T) {
	torchtest.NoLeaks(t)
	file := written(t)
	for _, record := range []string{model, weights, constants, "data/weights/weight_0", "archive_format"} {
		err := read(rewritten(t, file, func(name, text string) (string, bool) { return text, name != record }))
		require.ErrorIs(t, err, export.ErrFormat, record)
	}
	for _, n := range []int{0, 1, 10, len(file) / 2, len(file) - 1} {
		require.ErrorIs(t, read(file[:n]), export.ErrFormat)
	}
}

// What is allocated is bounded: many small values in a file are an error before they are a lot of memory.
func TestBudget(t *testing.T) {
	torchtest.NoLeaks(t)
	file := rewritten(t, written(t), func(name, text string) (string, bool) {
		if name == model {
			text = strings.Replace(text, `"nodes":[`, `"nodes":[`+strings.Repeat("{},", 1<<18), 1)
		}
		return text, true
	})
	require.ErrorContains(t, read(file), "more memory")
}

// An operator of another library is permitted by name alone.
func TestOperators(t *testing.T) {
	torchtest.NoLeaks(t)
	p := sample()
	defer p.Close()
	p.Graph.Nodes[1].Target = "torch.ops.mkldnn._linear_pointwise.default"
	err := p.Verify()
	var refused *export.OperatorError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "mkldnn::_linear_pointwise", refused.Operator)
	require.Equal(t, "linear", refused.Node)
}

// FuzzRead reads files of strangers:
//
//	go test ./torch/export -run '^$' -fuzz FuzzRead -fuzztime 60s
func FuzzRead(f *testing.F) {
	file := written(f)
	f.Add(file)
	for _, b := range bends {
		f.Add(rewritten(f, file, func(name, text string) (string, bool) {
			if name == b.record {
				text = strings.Replace(text, b.old, b.with, 1)
			}
			return text, true
		}))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		torch.Scope(func() { _ = read(file) })
	})
}

// FuzzModel reads programs whose zip file is sound: it finds its way faster.
func FuzzModel(f *testing.F) {
	file := written(f)
	texts := recordsOf(f, file).texts
	f.Add(texts[model], texts[weights])
	f.Fuzz(func(t *testing.T, program, config string) {
		_ = read(rewritten(t, file, func(name, text string) (string, bool) {
			switch name {
			case model:
				text = program
			case weights:
				text = config
			}
			return text, true
		}))
	})
}
