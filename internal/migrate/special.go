package migrate

import (
	"go/ast"
	"go/constant"
	"strings"
)

// special are the rules that no template can say: what they return is the call's text.
func special(name string) func(a *arguments) (string, bool) {
	return map[string]func(a *arguments) (string, bool){
		"sum": sum, "arg:ArgMin": argument("ArgMin"), "arg:ArgMax": argument("ArgMax"), "item": item, "shape": shape, "index": index,
		"device": device, "train": train, "relu": relu, "leaky": leaky,
	}[name]
}

// constantOf is what an expression is known to be.
func (f *rewriter) constantOf(e ast.Expr) string {
	if v := f.info.Types[e].Value; v != nil {
		if v.Kind() == constant.String {
			return constant.StringVal(v)
		}
		return v.ExactString()
	}
	return ""
}

// sum is a sum of all elements, or along the dimension of a literal map.
func sum(a *arguments) (string, bool) {
	x, rest := a.receiver, a.call.Args
	if x == nil {
		x, rest = rest[0], rest[1:]
	}
	if len(rest) == 0 {
		return a.text(x) + ".Sum()", true
	}
	literal, ok := rest[0].(*ast.CompositeLit)
	if !ok {
		return "", false
	}
	dim, keep := "", ""
	for _, e := range literal.Elts {
		pair := e.(*ast.KeyValueExpr)
		switch a.constantOf(pair.Key) {
		case "dim":
			dim = a.integer(pair.Value)
		case "keepDim":
			if a.constantOf(pair.Value) != "false" {
				keep = a.text(pair.Value)
			}
		}
	}
	switch {
	case dim == "":
		return a.text(x) + ".Sum()", true
	case keep == "":
		return a.text(x) + ".Sum(" + dim + ")", true
	}
	return a.text(x) + a.named(".SumDim([]int{"+dim+"}, torch.SumOptions{KeepDim: "+keep+"})"), true
}

// argument is ArgMin or ArgMax.
func argument(name string) func(a *arguments) (string, bool) {
	return func(a *arguments) (string, bool) {
		x := a.text(a.receiver) + "." + name
		if a.call.Ellipsis.IsValid() {
			return "", false
		}
		switch len(a.call.Args) {
		case 0:
			return x + "()", true
		case 1:
			return x + "(" + a.integer(a.call.Args[0]) + ")", true
		}
		return x + a.named("Dim("+a.integer(a.call.Args[0])+", torch."+name+"Options{KeepDim: "+a.text(a.call.Args[1])+"})"), true
	}
}

// item is a value as an interface, where no type assertion is around it.
func item(a *arguments) (string, bool) {
	return a.named("support:itemOf(") + a.text(a.receiver) + ")", true
}

// shape is a []int64, where it is not the arguments of another call.
func shape(a *arguments) (string, bool) {
	return a.named("support:shapeOf(") + a.text(a.receiver) + ")", true
}

// index is x.Index(i, j).
func index(a *arguments) (string, bool) {
	if a.call.Ellipsis.IsValid() {
		return "", false
	}
	list := make([]string, len(a.call.Args))
	for i, e := range a.call.Args {
		list[i] = a.text(e)
	}
	return a.text(a.receiver) + ".Index(" + strings.Join(list, ", ") + ")", true
}

func device(a *arguments) (string, bool) {
	switch a.constantOf(a.call.Args[0]) {
	case "cpu":
		return a.named("torch.CPU"), true
	case "cuda":
		return a.named("torch.CUDA(0)"), true
	}
	return "", false
}

func train(a *arguments) (string, bool) {
	switch a.constantOf(a.call.Args[0]) {
	case "true":
		return a.fill("nn.Train($0)"), true
	case "false":
		return a.fill("nn.Eval($0)"), true
	}
	return a.fill("support:setTraining($0, $1)"), true
}

func relu(a *arguments) (string, bool) {
	switch a.constantOf(a.call.Args[1]) {
	case "true":
		return a.text(a.call.Args[0]) + ".ReLUInPlace()", true
	case "false":
		return a.named("F.ReLU(") + a.text(a.call.Args[0]) + ")", true
	}
	return "", false
}

func leaky(a *arguments) (string, bool) {
	switch a.constantOf(a.call.Args[2]) {
	case "true":
		return a.fill("aten.LeakyReLUInPlace($1{{aten.LeakyReLUOptions; NegativeSlope: $2|0.01}})"), true
	case "false":
		return a.fill("F.LeakyReLU($1{{F.LeakyReLUOptions; NegativeSlope: new($2)|0.01}})"), true
	}
	return "", false
}
