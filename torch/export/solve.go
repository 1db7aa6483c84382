package export

import (
	"fmt"
	"maps"
	"slices"
)

// Dim is a size that may differ from call to call: PyTorch's Dim. Sizes with the same name are equal.
type Dim struct {
	Name     string // of a Go or Python identifier: "batch"
	Min, Max int    // defaults: 0 and none
}

// symbol is a Dim with the size that it has in the inputs.
type symbol struct {
	Dim
	hint int64
}

// most is how many sizes may differ: a model runs twice for each of their subsets.
const mostSymbols = 4

func (s symbol) fits(n int64) bool {
	return n >= int64(max(s.Min, 1)) && (s.Max == 0 || n <= int64(s.Max))
}

// sizesToTry are values of the symbols for the runs of a model: all subsets of them larger by one, or smaller, than they are, and then, to
// compare with what was found, two runs in which all are larger by more, and where there are several each alone.
func sizesToTry(symbols []symbol) ([]map[string]int64, error) {
	var list []map[string]int64
	for subset := range 1 << len(symbols) {
		sizes := map[string]int64{}
		for i, s := range symbols {
			n := s.hint
			if subset>>i&1 == 1 {
				n += s.step()
			}
			if !s.fits(n) {
				return nil, fmt.Errorf("the dimension %s is %d, from %d to %d: it has to have two sizes at least", s.Name, s.hint, s.Min, s.Max)
			}
			sizes[s.Name] = n
		}
		list = append(list, sizes)
	}
	if len(symbols) == 0 {
		return list, nil
	}
	for _, by := range []int64{3, 8} {
		sizes := map[string]int64{}
		for i, s := range symbols {
			sizes[s.Name] = s.farther(by + int64(i))
		}
		list = append(list, sizes)
	}
	if len(symbols) > 1 {
		for _, far := range symbols {
			sizes := maps.Clone(list[0])
			sizes[far.Name] = far.farther(13)
			list = append(list, sizes)
		}
	}
	return list, nil
}

// farther is a size that is so much farther away than that of the inputs, or as much as may be.
func (s symbol) farther(by int64) int64 {
	for ; by > 0 && !s.fits(s.hint+by*s.step()); by-- {
	}
	return s.hint + by*s.step()
}

func (s symbol) step() int64 {
	if s.fits(s.hint + 1) {
		return 1
	}
	return -1
}

// quotient finds the expression that has these values for these sizes: one symbol and a number, divided by another one and rounded down.
func quotient(symbols []symbol, sizes []map[string]int64, values []int64) (Expr, bool) {
	const mostDivisor = 64
	for _, s := range symbols {
		name := Expr{Op: "Symbol", Name: s.Name, Hint: s.hint}
		for by := int64(2); by <= mostDivisor; by++ {
			// floor((n + offset) / by) + more
			for offset := int64(0); offset < by; offset++ {
				e := Expr{Op: "FloorDiv", Args: []Expr{sum(name, offset), integer(by)}}
				v, _ := e.Eval(sizes[0])
				if e = sum(e, values[0]-v); has(e, sizes, values) {
					return hinted(e, values[0]), true
				}
			}
		}
	}
	return Expr{}, false
}

// has tells whether an expression has these values for these sizes.
func has(e Expr, sizes []map[string]int64, values []int64) bool {
	for i, n := range values {
		if v, ok := e.Eval(sizes[i]); !ok || v != n {
			return false
		}
	}
	return true
}

func hinted(e Expr, n int64) Expr {
	if e.Op != "Integer" {
		e.Hint = n
	}
	return e
}

// sum adds a number to an expression.
func sum(e Expr, n int64) Expr {
	if e.Op == "Add" && len(e.Args) == 2 && e.Args[1].Op == "Integer" {
		e, n = e.Args[0], n+e.Args[1].Int
	}
	if n == 0 {
		return e
	}
	return Expr{Op: "Add", Args: []Expr{e, integer(n)}}
}

// polynomial is the sum of products of symbols, none squared, that has these values where subset i of the symbols is one
// step from their hints.
func polynomial(symbols []symbol, values []int64) Expr {
	count := 1 << len(symbols)
	// What each subset adds beyond those within it, per step of its symbols.
	c := slices.Clone(values[:count])
	for i, s := range symbols {
		for subset := range count {
			if subset>>i&1 == 1 {
				c[subset] = (c[subset] - c[subset&^(1<<i)]) * s.step()
			}
		}
	}
	// The product of (symbol - hint) over a subset, multiplied out.
	for i, s := range symbols {
		for subset := range count {
			if subset>>i&1 == 1 {
				c[subset&^(1<<i)] -= c[subset] * s.hint
			}
		}
	}
	var terms []Expr
	for subset := count - 1; subset >= 0; subset-- {
		if c[subset] == 0 {
			continue
		}
		var factors []Expr
		if c[subset] != 1 || subset == 0 {
			factors = append(factors, integer(c[subset]))
		}
		for i, s := range symbols {
			if subset>>i&1 == 1 {
				factors = append(factors, Expr{Op: "Symbol", Name: s.Name, Hint: s.hint})
			}
		}
		terms = append(terms, joined("Mul", factors))
	}
	if terms == nil {
		return integer(0)
	}
	return joined("Add", terms)
}

func joined(op string, list []Expr) Expr {
	if len(list) == 1 {
		return list[0]
	}
	return Expr{Op: op, Args: list}
}
