package modparity

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
)

// declared is a field of a struct of options, as its source has it.
type declared struct{ name, kind, comment string }

// face is what the sources of the packages declare: structs by package and name, aliases of
// them, and functions by the options that they take.
type face struct {
	structs map[string][]declared
	aliases map[string]string
	takes   map[string]string // "F.ELU" takes "F.ELUOptions"
}

// folders are the packages whose options are held against Python's signatures.
var folders = map[string]string{"nn": "../../torch/nn", "F": "../../torch/nn/functional", "aten": "../../torch/aten",
	"torch": "../../torch"}

// readFace reads the sources.
func readFace(t *testing.T) face {
	f := face{map[string][]declared{}, map[string]string{}, map[string]string{}}
	for pkg, folder := range folders {
		set := token.NewFileSet()
		packages, err := parser.ParseDir(set, folder, nil, parser.ParseComments) //nolint:staticcheck // no types are wanted
		require.NoError(t, err)
		for name, p := range packages {
			if strings.HasSuffix(name, "_test") {
				continue
			}
			for _, file := range p.Files {
				for _, d := range file.Decls {
					f.read(pkg, d)
				}
			}
		}
	}
	return f
}

func (f face) read(pkg string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.GenDecl:
		for _, s := range d.Specs {
			s, ok := s.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if list, ok := s.Type.(*ast.StructType); ok {
				f.structs[pkg+"."+s.Name.Name] = fieldsOf(list)
			} else if at := qualified(pkg, s.Type); at != "" {
				f.aliases[pkg+"."+s.Name.Name] = at
			}
		}
	case *ast.FuncDecl:
		params := d.Type.Params.List
		if d.Recv != nil || !d.Name.IsExported() || len(params) == 0 {
			return
		}
		if rest, ok := params[len(params)-1].Type.(*ast.Ellipsis); ok {
			f.takes[pkg+"."+d.Name.Name] = qualified(pkg, rest.Elt)
		}
	}
}

func qualified(pkg string, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return pkg + "." + e.Name
	case *ast.SelectorExpr:
		return e.X.(*ast.Ident).Name + "." + e.Sel.Name
	}
	return ""
}

func fieldsOf(s *ast.StructType) (list []declared) {
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			if name.IsExported() {
				list = append(list, declared{name.Name, types.ExprString(f.Type), strings.TrimSpace(f.Doc.Text() + f.Comment.Text())})
			}
		}
	}
	return list
}

// fields are those of a struct, through its aliases.
func (f face) fields(name string) []declared {
	for f.structs[name] == nil && f.aliases[name] != "" {
		name = f.aliases[name]
	}
	return f.structs[name]
}

// pythonsSignatures are the parameters, with their defaults, of the classes of torch.nn and of
// torch.nn.functional's functions.
const pythonsSignatures = `
import ast, inspect, json, re, torch
from torch import nn
import torch.nn.functional as F
def of(fn):
    try:
        return {k: repr(p.default) if p.default is not p.empty else "" for k, p in inspect.signature(fn).parameters.items()}
    except (TypeError, ValueError):  # of C++: the first line of its documentation has the signature
        line = re.match(r"\s*\w+\((.*?)\)\s*->", fn.__doc__ or "", re.S)
        if not line:
            return None
        try:
            f = ast.parse("def f(" + line[1] + "): pass").body[0].args
        except SyntaxError:
            return None
        names, values = [a.arg for a in f.args + f.kwonlyargs], f.defaults + [d for d in f.kw_defaults if d]
        return dict.fromkeys(names, "") | {n: ast.unparse(d) for n, d in zip(names[len(names) - len(values):], values)}
table = {}
for name in nn.modules.__all__:
    cls = getattr(nn, name)
    table["nn." + name] = of(cls.__init__) | (of(nn.RNNBase.__init__) if issubclass(cls, nn.RNNBase) else {})
for name in dir(F):
    if callable(getattr(F, name)) and not name.startswith("_"):
        both = getattr(F, "_" + name, None)  # what a function that dispatches on a bool calls
        table["F." + name] = of(both if inspect.isfunction(both) else getattr(F, name))
print(json.dumps(table))
`

// plainName is a name without what the two languages write differently.
func plainName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

var defaults = regexp.MustCompile(`default:? ("[^"]*"|[\w./\[\]-]+)|("\w+") \(default\)`)

// Fields of options have the names and defaults of Python's parameters.
func TestOptionsArePythons(t *testing.T) {
	answer, err := peer.Command(t, "-c", pythonsSignatures).Output()
	require.NoError(t, err)
	var signatures map[string]map[string]string
	require.NoError(t, json.Unmarshal(answer, &signatures))
	python := map[string]map[string]string{}
	for name, parameters := range signatures {
		if parameters != nil {
			python[strings.ReplaceAll(name[:strings.Index(name, ".")]+"."+plainName(name[strings.Index(name, ".")+1:]), " ", "")] = parameters
		}
	}
	f, held, used := readFace(t), 0, map[string]bool{}
	check := func(subject, options string) {
		room, name, _ := strings.Cut(subject, ".")
		parameters, ok := python[room+"."+plainName(strings.TrimSuffix(strings.TrimPrefix(name, "New"), "WithIndices"))]
		if !ok {
			return
		}
		for _, field := range f.fields(options) {
			held++
			why := mismatch(field, parameters)
			for _, key := range []string{subject + "." + field.name, options + "." + field.name, field.name} {
				if _, known := deliberate[key]; known && why != "" {
					used[key], why = true, ""
				}
			}
			assert.Empty(t, why, "%s: field %s of %s", subject, field.name, options)
		}
	}
	for subject, options := range f.takes {
		check(subject, options)
	}
	for name := range f.structs { // modules that are structs of their arguments
		if strings.HasPrefix(name, "nn.") && f.takes["nn.New"+name[3:]] == "" && modules[name[3:]].make != nil {
			check(name, name)
		}
	}
	assert.Greater(t, held, 300, "fields held against parameters")
	for key := range deliberate {
		assert.True(t, used[key], "%s: there is no such exception any more", key)
	}
}

// mismatch says what is wrong with a field, given Python's parameters.
func mismatch(field declared, parameters map[string]string) string {
	want, negated := "", false
	found := false
	for name, value := range parameters {
		switch plainName(name) {
		case plainName(field.name):
			want, found, negated = value, true, false
		case plainName(strings.TrimPrefix(field.name, "No")):
			if !found {
				want, found, negated = value, true, true
			}
		}
	}
	switch {
	case !found:
		return "Python has no such parameter"
	case field.kind == "bool" && negated && want != "True":
		return "Python's default is " + want + ", so that there is nothing to switch off"
	case field.kind == "bool" && !negated && want != "False" && want != "None":
		return "Python's default is " + want + ": the field should be No" + field.name
	case field.kind == "bool":
		return ""
	}
	return otherDefault(field, want)
}

// otherDefault compares the default in a field's comment with Python's.
func otherDefault(field declared, want string) string {
	given := ""
	if m := defaults.FindStringSubmatch(field.comment); m != nil {
		given = strings.Trim(m[1]+m[2], `"`)
	}
	want = strings.Trim(want, "'")
	given = strings.ToLower(strings.TrimPrefix(given, "Reduction"))
	if given == "none" && want != "none" { // the zero value
		given = ""
	}
	if want == "" || want == "None" || given == want {
		return ""
	}
	a, notNumber := quotient(want)
	b, notGiven := quotient(given)
	switch {
	case notNumber == nil && a == 0 && given == "": // the zero value
		return ""
	case notNumber == nil && notGiven == nil && a == b:
		return ""
	}
	return "the comment says that the default is " + strconv.Quote(given) + ", Python's is " + want
}

// quotient reads a number that may be written as a quotient.
func quotient(text string) (float64, error) {
	over, under, ok := strings.Cut(text, "/")
	if !ok {
		return strconv.ParseFloat(text, 64)
	}
	a, err := strconv.ParseFloat(strings.TrimSpace(over), 64)
	if err != nil {
		return 0, err
	}
	b, err := strconv.ParseFloat(strings.TrimSpace(under), 64)
	return a / b, err
}

// deliberate are fields that differ from Python's parameters on purpose, by subject, by type or
// everywhere, and why.
var deliberate = map[string]string{
	"BatchMean":        "reduction='batchmean' in Python, for this loss alone: a Reduction has three values",
	"Cumulative":       "momentum=None in Python: nil is the default here, which is 0.1",
	"Lambda":           "lambd in Python, where lambda is a keyword",
	"CountExcludePad":  "count_include_pad=False: one negation in the place of two",
	"NoWeights":        "need_weights=False",
	"WeightsPerHead":   "average_attn_weights=False: what it does rather than what it leaves out",
	"Generator":        "libtorch's operator takes one, Python's function does not",
	"NoBias":           "one type for layer and function: a function's bias is an argument",
	"PaddingMode":      "one type for layer and function: the function has the modes of the layer",
	"Offsets":          "one type for layer and function: the layer's Forward takes it in BagOptions",
	"PerSampleWeights": "one type for layer and function: the layer's Forward takes it in BagOptions",

	"nn.NewAvgPool1d.DivisorOverride":         "one type for three dimensions, of which PyTorch's first has none",
	"F.AvgPool1d.DivisorOverride":             "one type for three dimensions, of which PyTorch's first has none",
	"nn.MaxUnpoolOptions.OutputSize":          "an argument of forward in Python",
	"nn.RNNOptions.Nonlinearity":              "among **kwargs in Python",
	"nn.GRUOptions.Nonlinearity":              "one type for three networks, refused where it is not for them",
	"nn.LSTMOptions.Nonlinearity":             "one type for three networks, refused where it is not for them",
	"F.Upsample.RecomputeScaleFactor":         "Upsample is Interpolate by another name, and takes its options",
	"F.Upsample.Antialias":                    "Upsample is Interpolate by another name, and takes its options",
	"nn.Unfold.Options":                       "the options of the function, in one field",
	"nn.Fold.Options":                         "the options of the function, in one field",
	"nn.LocalResponseNorm.Options":            "the options of the function, in one field",
	"nn.TransformerOptions.Layer":             "the arguments of all layers are the options of a layer",
	"nn.TransformerLayerOptions.Activation":   "the default is the same function, which prints as an address",
	"F.InstanceNormOptions.UseRunning":        "use_input_stats=False: what it does rather than what it leaves out",
	"F.MultiHeadAttentionOptions.AddZeroAttn": "Python has no default for it",
}
