package migrate

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"strings"
)

// call is a call of something of gotorch's or gocv's.
func (f *rewriter) call(n *ast.CallExpr) (string, bool) {
	if s, ok := f.conversion(n); ok {
		return s, true
	}
	if s, ok := f.gob(n); ok {
		return s, true
	}
	key := f.key(n.Fun)
	if key == "" {
		return "", false
	}
	r, ok := rules()[key]
	if !ok || r.text == "?" {
		f.leave(n, key)
		return "", false
	}
	a := &arguments{rewriter: f, call: n}
	if s, ok := n.Fun.(*ast.SelectorExpr); ok && f.info.Selections[s] != nil {
		a.receiver = s.X
	}
	var text string
	if fn := special(r.text); fn != nil {
		text, ok = fn(a)
	} else {
		text = a.fill(r.text)
	}
	if !ok || a.failed {
		f.leave(n, key)
		return "", false
	}
	return text, true
}

// conversion is int(x.Dim()) and its like, which need no conversion any more.
func (f *rewriter) conversion(n *ast.CallExpr) (string, bool) {
	if id, ok := n.Fun.(*ast.Ident); !ok || id.Name != "int" || len(n.Args) != 1 {
		return "", false
	}
	text := f.text(n.Args[0])
	inner, ok := strings.CutPrefix(text, "int64(")
	if !ok || !strings.HasSuffix(inner, ")") || text == f.raw(n.Args[0]) {
		return "", false
	}
	return strings.TrimSuffix(inner, ")"), true
}

// gob is gob.NewEncoder(w).Encode(x) and gob.NewDecoder(r).Decode(&x) of tensors by name, which a file of Python's holds now.
func (f *rewriter) gob(n *ast.CallExpr) (string, bool) {
	method, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || len(n.Args) != 1 {
		return "", false
	}
	maker, ok := method.X.(*ast.CallExpr)
	if !ok || len(maker.Args) != 1 {
		return "", false
	}
	o := f.object(maker.Fun)
	if o == nil || o.Pkg() == nil || o.Pkg().Path() != "encoding/gob" {
		return "", false
	}
	t := f.info.TypeOf(n.Args[0])
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	m, ok := t.Underlying().(*types.Map)
	if !ok {
		return "", false
	}
	if named := namedOf(m.Elem()); named == nil || keyOf(named.Obj()) != "gotorch.Tensor" {
		return "", false
	}
	if method.Sel.Name == "Encode" {
		return f.named("support:writeState(") + f.text(maker.Args[0]) + ", " + f.text(n.Args[0]) + ")", true
	}
	return f.named("support:readState(") + f.text(maker.Args[0]) + ", " + f.text(n.Args[0]) + ")", true
}

// integer is an expression as an int.
func (f *rewriter) integer(e ast.Expr) string {
	text := f.text(e)
	tv := f.info.Types[e]
	if tv.Value != nil && isLiteral(e) {
		return text
	}
	if inner, ok := strings.CutPrefix(text, "int64("); ok && strings.HasSuffix(inner, ")") && balanced(inner[:len(inner)-1]) {
		return inner[:len(inner)-1]
	}
	if b, ok := tv.Type.Underlying().(*types.Basic); ok && (b.Kind() == types.Int || b.Kind() == types.UntypedInt) {
		return text
	}
	return "int(" + text + ")"
}

// isLiteral tells whether a constant has no type of its own.
func isLiteral(e ast.Expr) bool {
	literal := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr:
			literal = false
		}
		return literal
	})
	return literal
}

// balanced tells whether no parenthesis of a text closes what was opened before it.
func balanced(s string) bool {
	open := 0
	for _, c := range s {
		switch c {
		case '(':
			open++
		case ')':
			if open--; open < 0 {
				return false
			}
		}
	}
	return open == 0
}

// integers are a slice of int64 as a list of ints, or as one slice of ints with its dots.
func (f *rewriter) integers(e ast.Expr) (list string, dots bool) {
	if literal, ok := e.(*ast.CompositeLit); ok {
		items := make([]string, len(literal.Elts))
		for i, item := range literal.Elts {
			items[i] = f.integer(item)
		}
		return strings.Join(items, ", "), false
	}
	if call, ok := e.(*ast.CallExpr); ok && f.key(call.Fun) == "gotorch.Tensor.Shape" {
		return f.text(call.Fun.(*ast.SelectorExpr).X) + ".Shape()", true
	}
	return f.named("support:toInts(") + f.text(e) + ")", true
}

var (
	packageName = regexp.MustCompile(`(^|[^\w.])(torch|nn|F|nninit|optim|cuda|aten|pt|fmt)\.`)
	helperName  = regexp.MustCompile(`support:(\w+)`)
)

// named notes what a text of rules.txt names.
func (f *rewriter) named(text string) string {
	for _, m := range packageName.FindAllStringSubmatch(text, -1) {
		f.used[m[2]] = true
	}
	for _, m := range helperName.FindAllStringSubmatch(text, -1) {
		f.helpers[m[1]] = true
	}
	return helperName.ReplaceAllString(text, "$1")
}

// arguments fills a rule with those of a call.
type arguments struct {
	*rewriter
	call     *ast.CallExpr
	receiver ast.Expr
	failed   bool
}

var (
	options     = regexp.MustCompile(`\{\{([\w.]+);(.*?)\}\}`)
	omittable   = regexp.MustCompile(`\{((?:[^{}|]|\{[^{}]*\})*)\|([^{}|]+)\}`)
	placeholder = regexp.MustCompile(`\$(\.\.\.|[islvrnpu]?\d?)`)
)

// fill replaces what rules.txt says.
func (a *arguments) fill(text string) string {
	text = options.ReplaceAllStringFunc(text, func(s string) string {
		m := options.FindStringSubmatch(s)
		var fields []string
		for _, field := range strings.Split(m[2], ";") {
			name, rest, _ := strings.Cut(strings.TrimSpace(field), ": ")
			value, standard, _ := strings.Cut(rest, "|")
			if value, there := a.optional(value, standard); there {
				fields = append(fields, name+": "+value)
			}
		}
		if len(fields) == 0 {
			return ""
		}
		return ", " + m[1] + "{" + strings.Join(fields, ", ") + "}"
	})
	text = omittable.ReplaceAllStringFunc(text, func(s string) string {
		m := omittable.FindStringSubmatch(s)
		value, there := a.optional(m[1], m[2])
		if !there {
			return ""
		}
		return value
	})
	return a.place(a.named(text))
}

// optional is a text with its argument, unless that is what is standard anyway.
func (a *arguments) optional(text, standard string) (string, bool) {
	m := placeholder.FindStringSubmatch(text)
	e := a.numbered(m[1])
	if e == nil {
		a.failed = true
		return "", false
	}
	if standard == "zero" {
		if literal, ok := e.(*ast.CompositeLit); ok && len(literal.Elts) == 0 {
			return "", false
		}
	} else if v := a.info.Types[e].Value; v != nil && sameConstant(v, standard) {
		return "", false
	}
	return a.place(a.named(text)), true
}

func sameConstant(v constant.Value, text string) bool {
	tv, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	if err != nil || tv.Value == nil {
		return false
	}
	a, b := constant.ToFloat(v), constant.ToFloat(tv.Value)
	if a.Kind() == constant.Unknown || b.Kind() == constant.Unknown {
		return v.ExactString() == tv.Value.ExactString()
	}
	x, _ := constant.Float64Val(a)
	y, _ := constant.Float64Val(b)
	return x == y
}

// numbered is the argument that a placeholder names, or nil.
func (a *arguments) numbered(name string) ast.Expr {
	n := int(name[len(name)-1] - '0')
	switch {
	case n == 0:
		return a.receiver
	case n <= len(a.call.Args):
		return a.call.Args[n-1]
	}
	return nil
}

// place replaces placeholders.
func (a *arguments) place(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string { return a.argument(s[1:]) })
}

// reductions are the words of losses.
var reductions = map[string]string{"none": "torch.ReductionNone", "mean": "torch.ReductionMean", "sum": "torch.ReductionSum"}

func (a *arguments) argument(name string) string {
	switch name {
	case "...":
		return a.all()
	case "p":
		if params := a.folded[a.call]; params != nil {
			return a.text(params)
		}
		a.failed = true
		return ""
	}
	kind := strings.TrimRight(name, "0123456789")
	if kind == "s" {
		return a.spread(int(name[1] - '0'))
	}
	e := a.numbered(name)
	if e == nil {
		a.failed = true
		return ""
	}
	switch kind {
	case "i":
		return a.integer(e)
	case "l":
		list, slice := a.integers(e)
		if slice {
			return list
		}
		return "[]int{" + list + "}"
	case "u":
		if a.info.Types[e].Value != nil && isLiteral(e) {
			return a.text(e)
		}
		return "uint64(" + a.text(e) + ")"
	case "v":
		if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
			return a.text(u.X)
		}
		return "*" + a.text(e)
	case "r":
		if v := a.info.Types[e].Value; v != nil && reductions[constant.StringVal(v)] != "" {
			return a.named(reductions[constant.StringVal(v)])
		}
		a.failed = true
		return ""
	case "n":
		if v := a.info.Types[e].Value; v != nil {
			return types.ExprString(&ast.Ident{Name: map[bool]string{true: "false", false: "true"}[constant.BoolVal(v)]})
		}
		return "!" + a.text(e)
	}
	if _, binary := e.(*ast.BinaryExpr); binary {
		return "(" + a.text(e) + ")"
	}
	return a.text(e)
}

// all are all arguments, on the lines they are on.
func (a *arguments) all() string { return a.between(a.call, a.call.Lparen+1, a.call.Rparen) }

// spread are the arguments from n on, which are int64 or a slice of them, as ints.
func (a *arguments) spread(n int) string {
	if n > len(a.call.Args) {
		return ""
	}
	if _, slice := a.info.TypeOf(a.call.Args[n-1]).Underlying().(*types.Slice); slice {
		list, dots := a.integers(a.call.Args[n-1])
		if dots {
			list += "..."
		}
		return list
	}
	var list []string
	for _, e := range a.call.Args[n-1:] {
		list = append(list, a.integer(e))
	}
	return strings.Join(list, ", ")
}
