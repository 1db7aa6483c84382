package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// put is the statement that packs the argument of slot s.
func (e *emitter) put(s *Slot) string {
	switch s.Source {
	case FromTensor:
		return fmt.Sprintf("putOptions(&c, &o, %s)", enumCode(s.Arg))
	case FromGiven:
		return fmt.Sprintf("c.OptInt(&%s)", s.Expr)
	case FromDefault:
		return e.putDefault(s)
	case FromInts:
		return fmt.Sprintf("c.Int(intAt(%s, %d, %s))", s.Expr, s.Index, s.Default)
	case FromVariadic:
		return e.putVariadic(s)
	case FromField:
		return e.putField(s)
	}
	if s.Type.Key() == "Scalar?" && !e.aten {
		return fmt.Sprintf("putScalar(&c, %s)", s.Expr) // what is left out has a form of its own: no nil
	}
	return e.putValue(s, s.Expr)
}

// putValue packs a value that is always given.
func (e *emitter) putValue(s *Slot, expr string) string {
	switch s.Type.Key() {
	case "Tensor", "Tensor?":
		if s.Type.Mutable {
			return fmt.Sprintf("putChanged(&c, %s)", expr)
		}
		return fmt.Sprintf("putTensor(&c, %s)", expr)
	case "Tensor[]", "Tensor?[]":
		if s.Type.Mutable {
			return fmt.Sprintf("putAllChanged(&c, %s)", expr)
		}
		return fmt.Sprintf("putTensors(&c, %s)", expr)
	case "Generator?":
		return fmt.Sprintf("putGenerator(&c, %s)", expr)
	case "Scalar":
		return fmt.Sprintf("putScalar(&c, %s)", expr)
	case "Scalar?":
		return fmt.Sprintf("putOptScalar(&c, %s)", expr)
	case "Scalar[]":
		return fmt.Sprintf("putScalars(&c, %s)", expr)
	case "str?":
		return fmt.Sprintf("putOptStr(&c, %s)", expr)
	case "ScalarType", "ScalarType?", "Layout", "Layout?", "MemoryFormat", "MemoryFormat?", "Device", "Device?":
		return fmt.Sprintf("c.Code(%s)", e.code(expr))
	}
	if isReduction(s.Arg) {
		return "c.Code(how)"
	}
	method := map[string]string{
		"int": "Int", "int?": "OptInt", "float": "Float", "float?": "OptFloat", "bool": "Bool", "bool?": "Bool",
		"int[]": "Ints", "int[]?": "OptInts", "float[]": "Floats", "float[]?": "OptFloats", "bool[]": "Bools", "str": "Str",
	}[s.Type.Key()]
	return fmt.Sprintf("c.%s(%s)", method, expr)
}

// reductionFirst looks up the number of a reduction, which fails for an unknown one, before
// the call pins any tensor.
func (e *emitter) reductionFirst(f *Func) {
	i := slices.IndexFunc(f.Slots, func(s Slot) bool { return isReduction(s.Arg) })
	if i < 0 {
		return
	}
	expr := f.Slots[i].Expr
	if f.Slots[i].Source == FromVariadic {
		expr = "optional(" + expr + ")"
	}
	if e.aten {
		e.statement("how := bridge.Reduction(%s)", expr)
	} else {
		e.statement("how := %s.code()", expr)
	}
}

func (e *emitter) code(expr string) string {
	if e.aten {
		return "code(" + expr + ")"
	}
	return expr + ".code()"
}

// putField packs an option whose zero value means the schema's default.
func (e *emitter) putField(s *Slot) string {
	expr := s.Expr
	if s.Negate {
		return fmt.Sprintf("c.Bool(!%s)", expr)
	}
	switch key := s.Type.Key(); {
	case key == "bool?":
		return fmt.Sprintf("c.OptBool(%s)", expr)
	case key == "int" && !isReduction(s.Arg) && !zeroDefault(s.Arg):
		return fmt.Sprintf("c.Int(orInt(%s, %s))", expr, s.Default)
	case key == "float" && !zeroDefault(s.Arg):
		return fmt.Sprintf("c.Float(orFloat(%s, %s))", expr, s.Default)
	case key == "Scalar":
		return fmt.Sprintf("putScalar(&c, or(%s, %s))", expr, s.Default)
	}
	return e.putOr(s, expr)
}

// putOr packs an option of a kind that is the same in a field and in a variadic tail.
func (e *emitter) putOr(s *Slot, expr string) string {
	if list, ok := listDefault(s.Arg); ok && len(list) > 0 {
		return fmt.Sprintf("c.Ints(orInts(%s, %s))", expr, strings.Join(list, ", "))
	}
	if text, ok := unquote(s.Default); ok && text != "" {
		return fmt.Sprintf("c.Str(orStr(%s, %s))", expr, strconv.Quote(text))
	}
	if code := enumCode(s.Arg); code != "-1" {
		return fmt.Sprintf("c.Code(orCode(%s, %s))", e.code(expr), code)
	}
	return e.putValue(s, expr)
}

// putVariadic packs the only option of an operator.
func (e *emitter) putVariadic(s *Slot) string {
	first := func(def string) string { return fmt.Sprintf("optionalOr(%s, %s)", s.Expr, def) }
	zero := func() string { return fmt.Sprintf("optional(%s)", s.Expr) }
	switch s.Type.Key() {
	case "int[]", "int[]?", "float[]?", "Tensor[]":
		return e.putOr(s, s.Expr)
	case "int?":
		return fmt.Sprintf("c.OptInt(pointer(%s))", s.Expr)
	case "float?":
		return fmt.Sprintf("c.OptFloat(pointer(%s))", s.Expr)
	case "int", "float":
		if !isReduction(s.Arg) {
			return e.putValue(s, first(s.Default))
		}
	case "Scalar":
		return e.putValue(s, fmt.Sprintf("or(%s, %s)", zero(), s.Default))
	}
	return e.putOr(s, zero())
}

// putDefault packs the value of an argument that Go does not offer.
func (e *emitter) putDefault(s *Slot) string {
	switch key := s.Type.Key(); {
	case s.Default == "None" && (key == "int?" || key == "float?"):
		return "c.OptInt(nil)"
	case s.Default == "None":
		return "c.Code(-1)"
	case s.Type.Base == "bool":
		return fmt.Sprintf("c.Bool(%s)", strings.ToLower(s.Default))
	}
	return e.putValue(s, s.Default)
}

// enumCode is the number of an enumeration's default, "-1" for none.
func enumCode(a Arg) string {
	switch a.Default {
	case "long":
		return "4"
	case "contiguous_format":
		return "0"
	}
	return "-1"
}
