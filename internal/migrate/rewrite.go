package migrate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// rewriter rewrites one file. Every method returns text.
type rewriter struct {
	*program
	file   *ast.File
	source []byte
	folded map[ast.Node]ast.Expr // the parameters of the optimizer that a call makes
	gone   map[ast.Node]bool     // statements that are not there any more
}

func (f *rewriter) offset(p token.Pos) int { return f.set.Position(p).Offset }

// text is a node, rewritten.
func (f *rewriter) text(n ast.Node) string {
	if s, ok := f.replaced(n); ok {
		return s
	}
	return f.inner(n)
}

// inner is a node that stays, with its parts rewritten.
func (f *rewriter) inner(n ast.Node) string { return f.between(n, n.Pos(), n.End()) }

// between is the source from one place to another, with the parts of n there rewritten.
func (f *rewriter) between(n ast.Node, from, to token.Pos) string {
	var b strings.Builder
	at := f.offset(from)
	ast.Inspect(n, func(c ast.Node) bool {
		if c == nil || c == n {
			return true
		}
		if c.End() <= from || c.Pos() >= to {
			return false
		}
		if f.gone[c] {
			b.Write(f.source[at:f.offset(c.Pos())])
			at = f.offset(c.End())
			return false
		}
		if s, ok := f.replaced(c); ok {
			b.Write(f.source[at:f.offset(c.Pos())])
			b.WriteString(s)
			at = f.offset(c.End())
			return false
		}
		return true
	})
	b.Write(f.source[at:f.offset(to)])
	return b.String()
}

// prepare finds the statements that go, and the parameters of optimizers, which come to the optimizer's constructor.
func (f *rewriter) prepare() {
	ast.Inspect(f.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			f.foldOptimizers(n.List)
		case *ast.ExprStmt:
			f.gone[n] = f.gone[n] || f.removed(n.X)
		case *ast.DeferStmt:
			f.gone[n] = f.removed(n.Call)
		case *ast.StructType:
			for _, field := range n.Fields.List {
				f.gone[field] = len(field.Names) == 0 && keyOf(f.typeName(field.Type)) == "nn.Module"
			}
		}
		return true
	})
}

// removed tells whether a call has nothing in its place.
func (f *rewriter) removed(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	rule, ok := rules()[f.key(call.Fun)]
	return ok && rule.text == "-"
}

// foldOptimizers finds opt := torch.SGD(…) whose opt.AddParameters(…) follows in the same block.
func (f *rewriter) foldOptimizers(list []ast.Stmt) {
	for i, s := range list {
		assign, ok := s.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
			continue
		}
		call, ok := assign.Rhs[0].(*ast.CallExpr)
		if key := f.key(assignee(call)); !ok || key != "gotorch.SGD" && key != "gotorch.Adam" {
			continue
		}
		name := f.raw(assign.Lhs[0])
		for _, later := range list[i+1:] {
			statement, ok := later.(*ast.ExprStmt)
			if !ok {
				continue
			}
			add, ok := statement.X.(*ast.CallExpr)
			if !ok || f.key(add.Fun) != "gotorch.Optimizer.AddParameters" || f.raw(add.Fun.(*ast.SelectorExpr).X) != name {
				continue
			}
			if f.folded[call] == nil {
				f.folded[call], f.gone[statement] = add.Args[0], true
			}
		}
	}
}

// assignee is the function of a call, or nil.
func assignee(call *ast.CallExpr) ast.Expr {
	if call == nil {
		return nil
	}
	return call.Fun
}

// raw is the source of a node.
func (f *rewriter) raw(n ast.Node) string {
	return string(f.source[f.offset(n.Pos()):f.offset(n.End())])
}

// object is what an expression names, or nil.
func (f *rewriter) object(e ast.Expr) types.Object {
	switch e := e.(type) {
	case *ast.Ident:
		return f.info.Uses[e]
	case *ast.SelectorExpr:
		return f.info.Uses[e.Sel]
	case *ast.ParenExpr:
		return f.object(e.X)
	}
	return nil
}

// key is the name of what an expression names, as rules.txt has it, or nothing.
func (f *rewriter) key(e ast.Expr) string {
	o := f.object(e)
	if o == nil || o.Pkg() == nil {
		return ""
	}
	if s, ok := e.(*ast.SelectorExpr); ok {
		if v, ok := o.(*types.Var); ok && v.IsField() {
			if named := namedOf(f.info.TypeOf(s.X)); named != nil {
				return join(named.Obj(), o.Name())
			}
			return ""
		}
	}
	if fn, ok := o.(*types.Func); ok {
		if recv := fn.Signature().Recv(); recv != nil {
			if named := namedOf(recv.Type()); named != nil {
				return join(named.Obj(), o.Name())
			}
			return ""
		}
	}
	if o.Parent() != o.Pkg().Scope() {
		return ""
	}
	return keyOf(o)
}

// namedOf is the type of a value or of what it points to, if that has a name.
func namedOf(t types.Type) *types.Named {
	if t == nil {
		return nil
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

// keyOf is the name of an object of gotorch's or gocv's.
func keyOf(o types.Object) string {
	if o == nil || o.Pkg() == nil {
		return ""
	}
	path := o.Pkg().Path()
	if path != gocv && !isAncestor(path) {
		return ""
	}
	return path[strings.LastIndex(path, "/")+1:] + "." + o.Name()
}

func join(o types.Object, name string) string {
	if key := keyOf(o); key != "" {
		return key + "." + name
	}
	return ""
}

// typeName is the type that an expression names.
func (f *rewriter) typeName(e ast.Expr) types.Object {
	if t, ok := f.object(e).(*types.TypeName); ok {
		return t
	}
	return nil
}

// leave notes that something stays as it is.
func (f *rewriter) leave(n ast.Node, key string) {
	hint := ""
	if r, ok := rules()[key]; ok {
		hint = r.hint
	}
	l := Left{f.set.Position(n.Pos()), key, hint}
	if !slices.Contains(f.left, l) {
		f.left = append(f.left, l)
	}
}

// replaced is what stands in the place of a node, if it does not stay.
func (f *rewriter) replaced(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.CallExpr:
		return f.call(n)
	case *ast.StarExpr:
		if o := f.typeName(n.X); o != nil && noPointer[keyOf(o)] {
			return f.text(n.X), true
		}
	case *ast.TypeAssertExpr:
		return f.assertion(n)
	case *ast.BinaryExpr:
		return f.comparison(n)
	case *ast.SelectorExpr:
		return f.selector(n)
	case *ast.UnaryExpr, *ast.IndexExpr:
		return f.shapeIndex(n)
	}
	return "", false
}

// noPointer are types that were pointed to and are values now.
var noPointer = map[string]bool{
	"nn.SequentialModule": true, "nn.FunctionalModule": true, "transforms.ComposeTransformer": true, "transforms.ToTensorTransformer": true,
	"transforms.NormalizeTransformer": true,
}

// selector is a type, a constant, a function as a value, or a field.
func (f *rewriter) selector(n *ast.SelectorExpr) (string, bool) {
	key := f.key(n)
	rule, ok := rules()[key]
	switch {
	case key == "":
		return "", false
	case !ok, rule.text == "?":
		f.leave(n, key)
		return "", false
	}
	if s := f.info.Selections[n]; s != nil && s.Kind() == types.FieldVal {
		return f.text(n.X) + "." + n.Sel.Name, true
	}
	if fn, ok := f.object(n).(*types.Func); ok {
		method, simple := strings.CutPrefix(rule.text, "$1.")
		name, plain := strings.CutSuffix(method, "()")
		if fn.Signature().Recv() != nil || !simple || !plain {
			f.leave(n, key)
			return "", false
		}
		f.used["torch"] = true
		return "torch.Tensor." + name, true
	}
	return f.named(rule.text), true
}

// comparison is x.T == nil.
func (f *rewriter) comparison(n *ast.BinaryExpr) (string, bool) {
	s, ok := n.X.(*ast.SelectorExpr)
	if !ok || f.key(s) != "gotorch.Tensor.T" || f.raw(n.Y) != "nil" {
		return "", false
	}
	if n.Op == token.EQL {
		return "!" + f.text(s.X) + ".Defined()", true
	}
	return f.text(s.X) + ".Defined()", n.Op == token.NEQ
}

// assertion is x.Item().(float32), net.Forward(x).(torch.Tensor), whose result is a Tensor now, or m.(*nn.Module), which is m.
func (f *rewriter) assertion(n *ast.TypeAssertExpr) (string, bool) {
	if n.Type == nil {
		return "", false // of a type switch
	}
	if named := namedOf(f.info.TypeOf(n.Type)); named != nil && keyOf(named.Obj()) == "nn.Module" {
		return f.text(n.X), true
	}
	call, ok := n.X.(*ast.CallExpr)
	if !ok {
		return "", false
	}
	switch f.key(call.Fun) {
	case "nn.SequentialModule.Forward":
		return f.text(call), true
	case "gotorch.Tensor.Item":
		x := f.text(call.Fun.(*ast.SelectorExpr).X)
		switch t := f.raw(n.Type); t {
		case "float64":
			return x + ".Float64()", true
		case "float32":
			return "float32(" + x + ".Float64())", true
		case "int64", "int32", "int16", "int8", "byte":
			return t + "(" + x + ".Int())", true
		}
	}
	return "", false
}

// shapeIndex is x.Shape()[i].
func (f *rewriter) shapeIndex(n ast.Node) (string, bool) {
	index, ok := n.(*ast.IndexExpr)
	if !ok {
		return "", false
	}
	call, ok := index.X.(*ast.CallExpr)
	if !ok || f.key(call.Fun) != "gotorch.Tensor.Shape" {
		return "", false
	}
	return "int64(" + f.text(call.Fun.(*ast.SelectorExpr).X) + ".Size(" + f.integer(index.Index) + "))", true
}
