package main

import (
	"fmt"
	"slices"
	"strings"
)

// Check is a call of a hand-written function that refuses the arguments over which
// libtorch would end the process, read outside memory or never come back.
type Check struct {
	Function string
	Args     []string // Go expressions
}

// check is what the tables have the Go form look at first.
func (f *Func) check(t *Tables) (*Check, error) {
	line := lookup(t.Checks, f.Op)
	switch {
	case line == nil:
		return nil, nil
	case f.Op.Place != Public:
		return nil, fmt.Errorf("%s: only forms of package torch are checked", f.Op.Name())
	}
	c := &Check{Function: line.function}
	for _, name := range line.args {
		i := slices.IndexFunc(f.Slots, func(s Slot) bool { return s.checkName() == name })
		if i < 0 {
			return nil, fmt.Errorf("%s: there is no argument %s to check", f.Op.Name(), name)
		}
		expr, err := f.Slots[i].value()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Op.Name(), err)
		}
		c.Args = append(c.Args, expr)
	}
	return c, nil
}

// checkName is how a check line calls the argument: as the schema does, and dtype, layout,
// device and pin_memory together "options".
func (s Slot) checkName() string {
	if s.Source == FromTensor {
		return "options"
	}
	return s.Name
}

// value is the Go expression for what libtorch will be given.
func (s Slot) value() (string, error) {
	switch {
	case s.Source == FromParam, s.Source == FromTensor:
		return s.Expr, nil
	case s.Source == FromField && s.Negate:
		return "!" + s.Expr, nil
	case s.Source == FromField && s.Type.Key() == "int" && !zeroDefault(s.Arg):
		return fmt.Sprintf("orInt(%s, %s)", s.Expr, s.Default), nil
	case s.Source == FromField && (zeroDefault(s.Arg) || defaultText(s.Arg) == ""):
		return s.Expr, nil
	}
	return "", fmt.Errorf("argument %s cannot be checked", s.Name)
}

// check writes the call: the number of the operator, for the error, and the arguments.
func (e *emitter) check(f *Func) {
	if f.Check != nil {
		e.line("%s(cgo.%s, %s)", f.Check.Function, f.Op.Const, strings.Join(f.Check.Args, ", "))
	}
}
