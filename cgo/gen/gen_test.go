package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/generated.golden")

// tables are the committed ones.
func tables(t *testing.T) *Tables {
	tab, err := readTables(".")
	require.NoError(t, err)
	return tab
}

// parse makes operators of schema lines, functions unless marked as methods.
func parse(t *testing.T, lines ...string) []*Op {
	var ops []*Op
	for _, line := range lines {
		line, method := strings.CutPrefix(line, "method ")
		s, err := parseSchema(line)
		require.NoError(t, err)
		ops = append(ops, &Op{Schema: s, Method: method})
	}
	return ops
}

// renderOne returns the generated Go of package torch for some operators.
func renderOne(t *testing.T, lines ...string) string {
	files, _, err := render(parse(t, lines...), nil, tables(t))
	require.NoError(t, err)
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(path, "torch/") && !strings.Contains(path, "support") {
			b.Write(files[path])
		}
	}
	return b.String()
}

func TestParseType(t *testing.T) {
	for text, want := range map[string]Type{
		"Tensor":         {Base: "Tensor"},
		"Tensor(a)":      {Base: "Tensor", Alias: true},
		"Tensor(a!)?":    {Base: "Tensor", Alias: true, Mutable: true, Opt: true},
		"Tensor(a -> *)": {Base: "Tensor", Alias: true},
		"Tensor(a!)[]":   {Base: "Tensor", Alias: true, Mutable: true, List: true},
		"Tensor?[]":      {Base: "Tensor", ElemOpt: true, List: true},
		"SymInt[2]":      {Base: "SymInt", List: true, Size: 2},
		"int[1]?":        {Base: "int", List: true, Size: 1, Opt: true},
		"ScalarType?":    {Base: "ScalarType", Opt: true},
	} {
		got, err := parseType(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "int[x]", "Tensor!", "int[2]??"} {
		_, err := parseType(text)
		require.Error(t, err, text)
	}
}

func TestParseSchema(t *testing.T) {
	s, err := parseSchema(`f.o(Tensor(a -> *) self, str sep=", ", *, int[2] k=[0,1], Generator? generator) -> (Tensor(a)[], Tensor b)`)
	require.NoError(t, err)
	require.Equal(t, "f.o", s.Name())
	require.Equal(t, []string{"self", "sep", "k", "generator"}, []string{s.Args[0].Name, s.Args[1].Name, s.Args[2].Name, s.Args[3].Name})
	require.Equal(t, `", "`, s.Args[1].Default)
	require.False(t, s.Args[1].KwOnly)
	require.True(t, s.Args[2].KwOnly)
	require.False(t, s.Args[3].HasDefault)
	require.Len(t, s.Returns, 2)
	require.True(t, s.Returns[0].Type.List)
	require.Equal(t, "b", s.Returns[1].Name)

	for _, line := range []string{"f", "f(Tensor self)", "f(Tensor) -> Tensor", "f(Tensor? ? x) -> Tensor"} {
		_, err := parseSchema(line)
		require.Error(t, err, line)
	}
}

// TestGolden holds all that is made of a few operators against a file reviewed by eye.
func TestGolden(t *testing.T) {
	ops, err := readYAML("testdata/ops.yaml")
	require.NoError(t, err)
	tab := tables(t)
	tab.Settings = []string{"deterministic_fill", "cudnn_enabled"}
	files, _, err := render(ops, []string{"free", "item"}, tab)
	require.NoError(t, err)
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "-- %s --\n%s", path, files[path])
	}
	const golden = "testdata/generated.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err, "run go test ./cgo/gen -update")
	require.Equal(t, string(want), b.String(), "after a wanted change run go test ./cgo/gen -update and read the diff")
}

func TestSignatures(t *testing.T) {
	for schema, want := range map[string]string{
		"method relu(Tensor self) -> Tensor":                                       "func (x Tensor) ReLU() Tensor",
		"method view(Tensor(a) self, SymInt[] size) -> Tensor(a)":                  "func (x Tensor) View(size ...int) Tensor",
		"as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)":  "func AsStrided(x Tensor, size, stride []int) Tensor",
		"cat(Tensor[] tensors, int dim=0) -> Tensor":                               "func Cat(tensors []Tensor, dim ...int) Tensor",
		"block_diag(Tensor[] tensors) -> Tensor":                                   "func BlockDiag(tensors ...Tensor) Tensor",
		"method argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor":  "func (x Tensor) ArgMax(dim ...int) Tensor",
		"method argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor": "func (x Tensor) ArgSort(opts ...ArgSortOptions) Tensor",
		"mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor": "func MSELoss(x, target " +
			"Tensor, opts ...MSELossOptions) Tensor",
		"linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor":        "func Linear(input, weight Tensor, bias ...Tensor) Tensor",
		"method clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor": "func (x Tensor) Clamp(minimum, maximum Scalar) Tensor",
		"method logit(Tensor self, float? eps=None) -> Tensor":                    "func (x Tensor) Logit(opts ...LogitOptions) Tensor",
		"where.self(Tensor condition, Tensor self, Tensor other) -> Tensor":       "func Where(condition, x, other Tensor) Tensor",
		"method zero_(Tensor(a!) self) -> Tensor(a!)":                             "func (x Tensor) ZeroInPlace() Tensor",
		"method unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]":        "func (x Tensor) Unbind(dim ...int) []Tensor",
		"method equal(Tensor self, Tensor other) -> bool":                         "func (x Tensor) Equal(other Tensor) bool",
		"promote_types(ScalarType type1, ScalarType type2) -> ScalarType":         "func PromoteTypes(type1, type2 DType) DType",
		"method std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None) -> Tensor": "func (x Tensor) StdDim(dim " +
			"[]int, opts ...StdOptions) Tensor",
		"lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih) -> (Tensor, Tensor)": "func LSTMCell(input torch.Tensor, " +
			"hx []torch.Tensor, wIH torch.Tensor) (hidden, cell torch.Tensor)",
		"method special_logit(Tensor self, float? eps=None) -> Tensor":                "func (x Tensor) Logit(opts ...LogitOptions) Tensor",
		"fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor": "func RFFT(x Tensor, opts ...RFFTOptions) Tensor",
		"method index_put(Tensor self, Tensor?[] indices, Tensor values) -> Tensor": "func (x Tensor) IndexPut(indices " +
			"[]Tensor, values Tensor) Tensor",
		"method random_.from(Tensor(a!) self, int from, int? to) -> Tensor(a!)": "func (x Tensor) RandomRangeInPlace(from, to int) Tensor",
		"method div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor": "func (x Tensor) DivMode(other " +
			"Tensor, roundingMode string) Tensor",
	} {
		require.Contains(t, renderOne(t, schema), want+" {\n", schema)
	}
}

// TestOptions checks that an option left alone packs the schema's default.
func TestOptions(t *testing.T) {
	src := renderOne(t, `method f(Tensor self, *, bool a=False, bool b=True, int c=3, int d=0, float e=0.5, Scalar g=2, Scalar? `+
		`h=None, int? i=None, bool? j=None, `+
		`str k='x', str? l=None, int[2] m=1, int[] n=[], int[1]? q=None, ScalarType? s=None, ScalarType? t=long, Tensor? u=None, `+
		`Generator? v=None, int reduction=Mean) -> Tensor`)
	for _, want := range []string{
		"c.Bool(o.A)", "c.Bool(!o.NoB)", "c.Int(orInt(o.C, 3))", "c.Int(o.D)", "c.Float(orFloat(o.E, 0.5))", "putScalar(&c, or(o.G, 2))",
		"putOptScalar(&c, o.H)", "c.OptInt(o.I)", "c.OptBool(o.J)", `c.Str(orStr(o.K, "x"))`, "putOptStr(&c, o.L)", "c.Ints(orInts(o.M, 1, 1))",
		"c.Ints(o.N)", "c.OptInts(o.Q)", "c.Code(o.S.code())", "c.Code(orCode(o.T.code(), 4))", "putTensor(&c, o.U)",
		"putGenerator(&c, o.V)", "how := o.Reduction.code()", "c.Code(how)",
	} {
		require.Contains(t, src, want+"\n")
	}
}

func TestFailures(t *testing.T) {
	for name, c := range map[string]struct{ ops, text []string }{
		"two operators of one name": {[]string{"foo_bar(Tensor x) -> Tensor", "fooBar(Tensor x) -> Tensor",
			"foo_Bar(Tensor x) -> Tensor"}, []string{"name collision", "FooBar"}},
		"an argument of an unknown type":   {[]string{"foo(Gizmo g) -> Tensor"}, []string{"foo", "Gizmo"}},
		"a result of an unknown type":      {[]string{"foo(Tensor x) -> Gizmo"}, []string{"foo", "Gizmo"}},
		"a parameter that Go has taken":    {[]string{"foo(Tensor func) -> Tensor"}, []string{"foo", "func", "names.txt"}},
		"a method without a tensor to own": {[]string{"method foo(int n) -> Tensor"}, []string{"foo", "self"}},
	} {
		_, _, err := render(parse(t, c.ops...), nil, tables(t))
		require.Error(t, err, name)
		for _, text := range c.text {
			require.ErrorContains(t, err, text, name)
		}
	}
}

// TestRules holds which operators a rule line speaks of, and what it may name.
func TestRules(t *testing.T) {
	ops := []string{
		"f.Tensor(Tensor self, Tensor other, *, int a=0) -> Tensor", "f_.Tensor(Tensor(a!) self, Tensor other, *, int a=0) -> Tensor(a!)",
		"f.out(Tensor self, Tensor other, *, int a=0, Tensor(a!) out) -> Tensor(a!)", "g(Tensor input, SymInt[2] kernel_size) -> Tensor",
		"_h(Tensor self) -> Tensor",
	}
	write := func(lines ...string) (typed, named string, err error) {
		tab := tables(t)
		tab.Rules, tab.Unsafe, tab.Safe = nil, nil, nil
		for _, l := range lines {
			require.NoError(t, tab.nameLine(l))
		}
		var all []*Op
		for _, op := range ops {
			all = append(all, parse(t, op)...)
		}
		files, _, err := render(all, nil, tab)
		for i := range shards {
			typed += string(files[fmt.Sprintf("cgo/shim/ops_gen_ruled_%02d.cc", i)])
		}
		return typed, string(files["cgo/shim/ops_gen_rules.cc"]), cmp.Or(err, tab.unusedRules())
	}
	_, _, err := write("rule r(self|input,a?) f.* g", "unsafe _*", "safe _g")
	require.ErrorContains(t, err, "match no operator: _g")
	typed, named, err := write("rule r(self|input,a?) f.* g", "unsafe _*")
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(typed, "rule::r(rule::of(self), rule::of(a_));"), "f and f_")
	require.Contains(t, typed, "rule::r(rule::of(input), {});")
	require.Contains(t, typed, "rule::lengths(\"kernel_size\", rule::of(kernel_size));")
	require.Contains(t, typed, "{\n\trule::refuse_unsafe(\"_h\");\n\tconst auto& self = a.needed(\"self\");")
	require.Contains(t, named, "\trule::r(boxed::tensor(s[0]), boxed::integer(s[2]));")
	for _, row := range []string{`"aten::_h", "", f0`, `"aten::f", "Tensor", f1`, `"aten::f_", "Tensor", f1`, `"aten::f", "out", f1`,
		`"aten::g", "", f2`} {
		require.Contains(t, named, row)
	}
	_, _, err = write("rule r(nobody) f.*")
	require.ErrorContains(t, err, "f.Tensor: rule r asks for an argument nobody, which is not there")
	require.ErrorContains(t, tables(t).nameLine("rule r f"), "want function(argument,argument)")
}

// TestTables checks that lines without effect, doubled lines and unknown ones are errors.
func TestTables(t *testing.T) {
	tab := tables(t)
	tab.Stems["no_such_operator"] = "X"
	require.ErrorContains(t, tab.unused(parse(t, "add(Tensor x) -> Tensor")), "no_such_operator")
	require.ErrorContains(t, tab.nameLine("word relu ReLU"), "twice")
	require.ErrorContains(t, tab.nameLine("wrd a b"), "wrd")
	require.ErrorContains(t, tab.nameLine("word a"), "word a")
	require.ErrorContains(t, tab.docLine("add"), "add")
	require.ErrorContains(t, tab.versionLine("add"), "add")
}

// TestSentences checks what docs.txt leaves to the generator: names, and the comments of fields.
func TestSentences(t *testing.T) {
	fresh := func() *Tables {
		tab := tables(t)
		tab.Docs = map[string]string{}
		return tab
	}
	tab := fresh()
	for _, line := range []string{
		"f returns {alpha}*{self} {many}, as {op:g.Tensor} and {op:_h} do.", "g.Tensor is {op:f}.",
		"@alpha the factor", "g@many default: all", "@many do fewer", "_h is {op:f}.",
	} {
		require.NoError(t, tab.docLine(line))
	}
	ops := parse(t, "f(Tensor self, *, Scalar alpha=1, bool many=True) -> Tensor",
		"g.Tensor(Tensor self, *, Scalar alpha=1, int[]? many=None) -> Tensor", "_h(Tensor self) -> Tensor")
	require.NoError(t, tab.docKeys(ops))
	files, _, err := render(ops, nil, tab)
	require.NoError(t, err)
	require.Contains(t, string(files["torch/ops_function_gen.go"]), "// F returns Alpha*x NoMany, as G and aten.H do.")
	require.Contains(t, string(files["torch/ops_function_gen.go"]), "// G is F.")
	require.Contains(t, string(files["torch/aten/ops_gen.go"]), "// H is torch.F.")
	options := string(files["torch/ops_options_gen.go"])
	require.Contains(t, options, "Alpha  Scalar // the factor; default 1")
	require.Contains(t, options, "NoMany bool   // do fewer; Python's many=False")
	require.Contains(t, options, "Many  []int  // default: all")

	tab = fresh()
	require.NoError(t, tab.docLine("g takes {beta}."))
	_, _, err = render(parse(t, "g(Tensor self) -> Tensor"), nil, tab)
	require.ErrorContains(t, err, "{beta}")
	require.NoError(t, tab.docLine("f is {op:nothing}."))
	require.ErrorContains(t, tab.docKeys(ops), "f speaks of nothing")
	require.NoError(t, tab.docLine("f@beta none"))
	require.ErrorContains(t, tab.docKeys(ops), "f@beta")
}

// module lays out a little module for the generator to work on.
func layout(t *testing.T, versions string) (root, yaml string) {
	root = t.TempDir()
	for name, text := range map[string]string{
		"cgo/gen/names.txt":     "word relu ReLU\nhand item torch.Tensor.Item\n",
		"cgo/gen/docs.txt":      "relu returns max(x, 0).\n",
		"cgo/gen/versions.txt":  versions,
		"cgo/shim/entries.def":  "// comment\nENTRY(free)\n",
		"cgo/shim/settings.def": "// comment\nSETTING(deterministic)\n",
		"torch/tensor.go":       "package torch\n\nfunc (t Tensor) Item() any { return nil }\n",
		"native_functions.yaml": "- func: relu(Tensor self) -> Tensor\n  variants: method\n- func: item(Tensor self) -> " +
			"Scalar\n  variants: method\n- func: qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)\n",
		"other.yaml":               "- func: relu(Tensor self, bool flag=False) -> Tensor\n- func: item(Tensor self) -> Scalar\n",
		"torch/ops_method_gen.go":  "stale",
		"torch/ops_retired_gen.go": "stale",
	} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root, filepath.Join(root, "native_functions.yaml")
}

func TestWriteAndCheck(t *testing.T) {
	root, yaml := layout(t, "")
	err := run(root, yaml, "", "", true)
	require.ErrorContains(t, err, "torch/ops_method_gen.go")
	require.ErrorContains(t, err, "torch/ops_retired_gen.go")
	require.NoError(t, run(root, yaml, "", "", false))
	require.NoFileExists(t, filepath.Join(root, "torch/ops_retired_gen.go"))
	require.NoError(t, run(root, yaml, "", "", true), "a second run writes the same")

	before, err := os.Stat(filepath.Join(root, "torch/ops_method_gen.go"))
	require.NoError(t, err)
	require.NoError(t, run(root, yaml, "", "", false))
	after, err := os.Stat(filepath.Join(root, "torch/ops_method_gen.go"))
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime(), "files that do not change are left alone")
}

func TestHandWritten(t *testing.T) {
	root, yaml := layout(t, "")
	path := filepath.Join(root, "torch/more.go")
	require.NoError(t, os.WriteFile(path, []byte("package torch\n\nfunc (t *Tensor) ReLU() Tensor { return *t }\n"), 0o644))
	require.ErrorContains(t, run(root, yaml, "", "", true), "Tensor.ReLU of relu is already in torch/more.go")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(filepath.Join(root, "torch/tensor.go"), []byte("package torch\n\ntype Other int\n"), 0o644))
	require.ErrorContains(t, run(root, yaml, "", "", true), "there is no torch.Tensor.Item")
}

func TestCompare(t *testing.T) {
	root, yaml := layout(t, "")
	other := filepath.Join(root, "other.yaml")
	require.ErrorContains(t, run(root, yaml, other, "", false), "-as")
	require.ErrorContains(t, run(root, yaml, other, "2.15", false), "2.15")
	versions := func() string {
		text, err := os.ReadFile(filepath.Join(root, "cgo/gen/versions.txt"))
		require.NoError(t, err)
		return string(text)
	}
	require.NoError(t, run(root, yaml, other, "2.15.0", false))
	require.Contains(t, versions(), "qr 2.15.0\nrelu 2.15.0\n")
	require.NoError(t, run(root, yaml, other, "2.14.0", false), "an earlier version wins")
	require.NoError(t, run(root, yaml, other, "2.15.0", false), "a later one does not")
	require.Contains(t, versions(), "qr 2.14.0\nrelu 2.14.0\n")
	require.NoError(t, run(root, yaml, "", "", false))
	shard, err := os.ReadFile(filepath.Join(root, "cgo/shim/ops_gen_03.cc"))
	require.NoError(t, err)
	require.Contains(t, string(shard), "#if TG_TORCH_VERSION < 21400\n")
}

// TestCommitted holds the repository's generated files against the generator.
func TestCommitted(t *testing.T) {
	const yaml = "../../third_party/libtorch/torchgen/packaged/ATen/native/native_functions.yaml"
	if _, err := os.Stat(yaml); err != nil {
		t.Skip("libtorch is not here; ./build.sh deps fetches it")
	}
	require.NoError(t, run("../..", yaml, "", "", true))
}
