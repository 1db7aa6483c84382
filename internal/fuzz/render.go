package fuzz

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// Go is the call of a case as a program would write it.
func (t *target) Go(c Case) string {
	w := &writer{case_: c}
	if t.fn == nil {
		return w.named(t.name)
	}
	return w.function(*t.fn, named(t.fn.fn.Interface()))
}

// writer writes Go.
type writer struct {
	case_ Case
	made  int
	names []string // of tensors that were written
}

// named is a call of torch.Call, or of one of our own functions.
func (w *writer) named(name string) string {
	op, ok := strings.CutPrefix(name, byName)
	if !ok {
		return w.case_.String()
	}
	args := []string{strconv.Quote(op)}
	for _, a := range w.case_.Args {
		args = append(args, fmt.Sprintf("torch.Arg(%q, %s)", a.Name, w.value(a.Value, nil)))
	}
	return "torch.Call(" + strings.Join(args, ", ") + ")"
}

func (w *writer) function(f function, name string) string {
	typ := f.fn.Type()
	args := make([]string, typ.NumIn())
	fields := map[int][]string{}
	var rest []string
	for _, a := range w.case_.Args {
		at, ok := f.named[a.Name]
		if !ok {
			continue
		}
		p := f.params[at]
		text := w.value(a.Value, p.typ)
		switch {
		case p.field != "":
			if p.typ.Kind() == reflect.Pointer && text != "nil" {
				text = "new(" + text + ")"
			}
			if p.negate {
				text = map[string]string{"true": "false", "false": "true"}[text]
			}
			fields[p.param] = append(fields[p.param], p.field+": "+text)
		case p.elem >= 0 || typ.IsVariadic() && p.param == len(args)-1:
			rest = append(rest, text)
		default:
			args[p.param] = text
		}
	}
	for i := range args {
		t := typ.In(i)
		switch {
		case len(fields[i]) > 0:
			args[i] = strings.TrimPrefix(strings.TrimPrefix(t.String(), "[]"), "*") + "{" + strings.Join(fields[i], ", ") + "}"
			if t.Kind() == reflect.Pointer {
				args[i] = "&" + args[i]
			}
		case args[i] == "" && i == len(args)-1 && typ.IsVariadic():
			args[i] = strings.Join(rest, ", ")
		case args[i] == "":
			args[i] = zeroText(t)
		}
	}
	if n := len(args); n > 0 && args[n-1] == "" {
		args = args[:n-1]
	}
	if method, ok := strings.CutPrefix(name, "torch.Tensor."); ok && len(args) > 0 {
		return args[0] + "." + method + "(" + strings.Join(args[1:], ", ") + ")"
	}
	if method, ok := strings.CutPrefix(name, "torch.TensorOptions."); ok && len(args) > 0 {
		return args[0] + "." + method + "(" + strings.Join(args[1:], ", ") + ")"
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

func zeroText(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		return t.String() + "{}"
	case reflect.Bool:
		return "false"
	case reflect.String:
		return `""`
	case reflect.Pointer, reflect.Slice, reflect.Interface, reflect.Func:
		return "nil"
	}
	return "0"
}

func (w *writer) value(v any, typ reflect.Type) string {
	switch v := v.(type) {
	case *Tensor:
		text := v.goText()
		w.names = append(w.names, text)
		return text
	case Ref:
		if v.Number < len(w.names) {
			return goForms(w.names[v.Number], v.Forms) + " /* the same tensor as argument " + strconv.Itoa(v.Number) + " */"
		}
	case Word:
		return v.goText()
	case List:
		words := make([]string, len(v))
		for i, x := range v {
			words[i] = w.value(x, nil)
		}
		kind := "[]any"
		switch {
		case typ != nil && typ.Kind() == reflect.Slice:
			kind = typ.String()
		case len(v) > 0:
			kind = map[reflect.Type]string{reflect.TypeFor[*Tensor](): "[]torch.Tensor", reflect.TypeFor[int64](): "[]int"}[reflect.TypeOf(v[0])]
		}
		if kind == "" {
			kind = "[]any"
		}
		return kind + "{" + strings.Join(words, ", ") + "}"
	case nil:
		if typ == tensorType {
			return "torch.Tensor{}"
		}
		return "nil"
	case int64:
		if names := []string{"ReductionNone", "ReductionMean", "ReductionSum"}; typ == reflect.TypeFor[torch.Reduction]() && v >= 0 && v < 3 {
			return "torch." + names[v]
		}
	case float64:
		return strings.NewReplacer("+Inf", "math.Inf(1)", "-Inf", "math.Inf(-1)", "NaN", "math.NaN()").Replace(floatText(v))
	case string:
		return strconv.Quote(v)
	}
	return text(v)
}

func (w Word) goText() string {
	switch w.Kind {
	case "dtype":
		return "torch." + goDType(w.Name)
	case "device":
		return map[string]string{"cpu": "torch.CPU", "meta": "torch.Meta"}[w.Name]
	case "layout":
		return "torch.Layout(" + w.Name + ")"
	case "format":
		return "torch.MemoryFormat(" + w.Name + ")"
	case "gen":
		return "torch.NewGenerator(torch.CPU).Seed(" + w.Name + ")"
	}
	return w.Name
}

func goDType(name string) string {
	s := strings.ToUpper(name[:1]) + name[1:]
	return strings.NewReplacer("Bfloat", "BFloat", "Qint", "QInt", "Quint", "QUint", "_e", "E").Replace(s)
}

// goText is an expression for the tensor; where its elements are many, it says what they are
// in a comment.
func (t *Tensor) goText() string {
	n := 1
	for _, s := range t.Shape {
		n *= max(0, s)
	}
	shape := strings.ReplaceAll(join(t.Shape), ",", ", ")
	typed := func(text string) string {
		if t.DType == "float32" {
			return "torch." + text
		}
		return "torch.TensorOptions{DType: torch." + goDType(t.DType) + "}." + text
	}
	var base string
	switch {
	case len(t.Forms) > 0 && t.Forms[0] == "wide":
		return typed("Zeros(1)") + ".Expand(" + shape + ")"
	case t.Data != nil:
		base = fmt.Sprintf("torch.FromSlice([]int64{%s}, %s)", join(literal(t.Data, n)), shape)
		if t.DType != "int64" {
			base += ".To(torch." + goDType(t.DType) + ")"
		}
	case t.Fill == "o":
		base = typed("Ones(" + shape + ")")
	case t.Fill == "z" || n == 0:
		base = typed("Zeros(" + shape + ")")
	default:
		base = typed("Empty("+shape+")") + "/* " + strings.TrimSpace("filled "+t.Fill) + " */"
	}
	return goForms(base, t.Forms)
}

var goForm = map[string]string{
	"t": ".Transpose(-1, -2).Contiguous().Transpose(-1, -2)", "coo": ".ToSparse()", "grad": ".SetRequiresGrad(true)",
	"meta": ".To(torch.Meta)",
	"view": ".View(shape)", "expand": ".Narrow(0, 0, 1).Expand(shape)", "conj": "/* .Conj() */", "closed": "/* closed */",
	"undefined": "/* undefined */",
}

func goForms(base string, words []string) string {
	for _, f := range words {
		if text, ok := goForm[f]; ok {
			base += text
		} else {
			base += "/* " + f + " */"
		}
	}
	return base
}
