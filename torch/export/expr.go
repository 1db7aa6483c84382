package export

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Expr is a number or a condition in terms of symbols, as sympy has it: sizes of a program's inputs are such.
type Expr struct {
	Op   string // "Integer", "Symbol", "Add", "Mul", "Pow", "FloorDiv", "Mod", "Eq", … and "Float", "Boolean"
	Args []Expr
	Name string  // of a symbol
	Int  int64   // of an integer; 1 of a boolean that is true
	Num  float64 // of a float

	Hint any // the value it had when the program was exported: int64, float64, bool or nil

	text    string // as the file has it
	unfound bool   // a size of a captured model that is no expression of the inputs' sizes
}

// integer is an expression of a number alone.
func integer(n int64) Expr { return Expr{Op: "Integer", Int: n} }

// Value is the number of an expression that has no symbols in it.
func (e Expr) Value() (int64, bool) { return e.Int, e.Op == "Integer" }

// exprParser reads what sympy's srepr writes: calls with names, numbers, and texts.
type exprParser struct {
	text  string
	at    int
	depth int
}

const deepestExpr = 100

// parseExpr reads an expression. One whose functions nobody knows is kept as it is: only its value cannot be had.
func parseExpr(text string) (Expr, error) {
	p := exprParser{text: text}
	e, err := p.expr()
	if err != nil {
		return Expr{}, err
	}
	if p.skip(); p.at < len(text) {
		return Expr{}, fmt.Errorf("something follows the expression: %q", text)
	}
	e.text = text
	return e, nil
}

func (p *exprParser) skip() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

func (p *exprParser) take(c byte) bool {
	if p.skip(); p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// word reads a name or a number.
func (p *exprParser) word() string {
	p.skip()
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c != '_' && c != '.' && c != '-' && c != '+' && !(c >= '0' && c <= '9') && !(c|32 >= 'a' && c|32 <= 'z') {
			break
		}
		p.at++
	}
	return p.text[from:p.at]
}

func (p *exprParser) failed() error {
	return fmt.Errorf("no expression of sympy's: %q at character %d", p.text, p.at)
}

func (p *exprParser) expr() (Expr, error) {
	if p.depth++; p.depth > deepestExpr {
		return Expr{}, fmt.Errorf("an expression nests more than %d deep", deepestExpr)
	}
	defer func() { p.depth-- }()
	word := p.word()
	switch {
	case word == "":
		return Expr{}, p.failed()
	case word == "true" || word == "false":
		e := Expr{Op: "Boolean"}
		if word == "true" {
			e.Int = 1
		}
		return e, nil
	case word[0] == '-' || word[0] >= '0' && word[0] <= '9':
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return Expr{}, p.failed()
		}
		return integer(n), nil
	case !p.take('('):
		return Expr{Op: word}, nil // a constant such as oo
	}
	return p.call(word)
}

// call reads the arguments of a call.
func (p *exprParser) call(name string) (Expr, error) {
	e := Expr{Op: name}
	for first := true; !p.take(')'); first = false {
		if !first && !p.take(',') {
			return e, p.failed()
		}
		if p.skip(); p.at < len(p.text) && (p.text[p.at] == '\'' || p.text[p.at] == '"') {
			quote := p.text[p.at]
			n := strings.IndexByte(p.text[p.at+1:], quote)
			if n < 0 {
				return e, p.failed()
			}
			e.Name = p.text[p.at+1 : p.at+1+n]
			p.at += n + 2
			continue
		}
		arg, err := p.expr()
		if err != nil {
			return e, err
		}
		if p.take('=') { // positive=True: an assumption
			if _, err := p.expr(); err != nil {
				return e, err
			}
			continue
		}
		e.Args = append(e.Args, arg)
	}
	switch {
	case name == "Symbol" && e.Name == "", name == "Integer" && (len(e.Args) != 1 || e.Args[0].Op != "Integer"):
		return e, p.failed()
	case name == "Integer":
		return e.Args[0], nil
	case name == "Float":
		x, err := strconv.ParseFloat(e.Name, 64)
		if err != nil {
			return e, p.failed()
		}
		e.Num = x
	}
	return e, nil
}

// Eval computes an expression of whole numbers from the values of its symbols; ok is false where a symbol has none, where
// the result is no whole number of 64 bits, and for functions that are not known.
func (e Expr) Eval(symbols map[string]int64) (n int64, ok bool) {
	switch e.Op {
	case "Integer":
		return e.Int, true
	case "Symbol":
		n, ok = symbols[e.Name]
		return n, ok
	}
	args := make([]int64, len(e.Args))
	for i, a := range e.Args {
		if args[i], ok = a.Eval(symbols); !ok {
			return 0, false
		}
	}
	return fold(e.Op, args)
}

// fold computes a function of whole numbers.
func fold(op string, args []int64) (int64, bool) {
	if len(args) == 0 {
		return 0, false
	}
	total, two := big.NewInt(args[0]), len(args) == 2
	for _, a := range args[1:] {
		b := big.NewInt(a)
		switch {
		case op == "Add":
			total.Add(total, b)
		case op == "Mul":
			total.Mul(total, b)
		case op == "Max" && total.Cmp(b) < 0, op == "Min" && total.Cmp(b) > 0:
			total = b
		case op == "Max" || op == "Min":
		case two && a > 0 && (op == "FloorDiv" || op == "CleanDiv"):
			total.Div(total, b) // rounds down where the divisor is positive
		case two && a > 0 && (op == "Mod" || op == "PythonMod"):
			total.Mod(total, b)
		case two && a >= 0 && a < 63 && (op == "Pow" || op == "PowByNatural"):
			total.Exp(total, b, nil)
		default:
			return 0, false
		}
		if !total.IsInt64() {
			return 0, false
		}
	}
	return total.Int64(), true
}

// symbols adds the names of all symbols.
func (e Expr) symbols(to map[string]bool) {
	if e.Op == "Symbol" {
		to[e.Name] = true
	}
	for _, a := range e.Args {
		a.symbols(to)
	}
}

// solve finds the value of the only symbol without one for which the expression is n. It knows sums and products.
func (e Expr) solve(n int64, known map[string]int64) (name string, value int64, ok bool) {
	if e.Op == "Symbol" {
		return e.Name, n, true
	}
	if e.Op != "Add" && e.Op != "Mul" {
		return "", 0, false
	}
	var open *Expr
	for i, a := range e.Args {
		v, known := a.Eval(known)
		switch {
		case !known && open != nil:
			return "", 0, false
		case !known:
			open = &e.Args[i]
		case e.Op == "Add":
			if v < 0 && n > math.MaxInt64+v || v > 0 && n < math.MinInt64+v {
				return "", 0, false
			}
			n -= v
		case v == 0 || n%v != 0:
			return "", 0, false
		default:
			n /= v
		}
	}
	if open == nil {
		return "", 0, false
	}
	return open.solve(n, known)
}

// How strongly the operators of a printed expression bind.
const (
	bindsComparison = iota
	bindsAdd
	bindsMul
	bindsPow
	bindsAtom
)

// String is the expression as Python prints it: "2*s77 + 1".
func (e Expr) String() string {
	text, _ := e.format()
	return text
}

func (e Expr) format() (text string, binds int) {
	switch e.Op {
	case "Integer":
		if e.Int < 0 {
			return strconv.FormatInt(e.Int, 10), bindsMul
		}
		return strconv.FormatInt(e.Int, 10), bindsAtom
	case "Symbol":
		return e.Name, bindsAtom
	case "Boolean":
		return map[int64]string{0: "False", 1: "True"}[e.Int], bindsAtom
	case "Float":
		return strconv.FormatFloat(e.Num, 'g', -1, 64), bindsAtom
	case "Add":
		return e.sum(), bindsAdd
	case "Mul":
		return e.infix("*", bindsMul), bindsMul
	case "Pow", "PowByNatural":
		return e.infix("**", bindsAtom), bindsPow
	case "FloorDiv", "CleanDiv":
		return "(" + e.infix("//", bindsMul+1) + ")", bindsComparison
	case "Mod", "PythonMod":
		return e.call(e.Op), bindsComparison // as PyTorch's functions say of themselves
	case "Equality":
		return e.call("Eq"), bindsAtom
	case "Unequality":
		return e.call("Ne"), bindsAtom
	case "GreaterThan":
		return e.infix(" >= ", bindsAdd), bindsComparison
	case "LessThan":
		return e.infix(" <= ", bindsAdd), bindsComparison
	case "StrictGreaterThan":
		return e.infix(" > ", bindsAdd), bindsComparison
	case "StrictLessThan":
		return e.infix(" < ", bindsAdd), bindsComparison
	}
	return e.call(e.Op), bindsAtom
}

func (e Expr) call(name string) string {
	if e.Args == nil {
		return name
	}
	list := make([]string, len(e.Args))
	for i, a := range e.Args {
		list[i] = a.String()
	}
	return name + "(" + strings.Join(list, ", ") + ")"
}

// infix joins the arguments, with brackets around those that bind less than they should.
func (e Expr) infix(op string, least int) string {
	list := make([]string, len(e.Args))
	for i, a := range e.Args {
		text, binds := a.format()
		if binds < least && !(i == 0 && a.Op == "Integer") {
			text = "(" + text + ")"
		}
		list[i] = text
	}
	if op == "*" && len(list) > 1 && list[0] == "-1" {
		return "-" + strings.Join(list[1:], op)
	}
	return strings.Join(list, op)
}

// sum prints terms, numbers last, with minus signs for what is negative.
func (e Expr) sum() string {
	var first, last []string
	for _, a := range e.Args {
		text, binds := a.format()
		if binds < bindsAdd {
			text = "(" + text + ")"
		}
		if a.Op == "Integer" {
			last = append(last, text)
		} else {
			first = append(first, text)
		}
	}
	text := ""
	for _, t := range append(first, last...) {
		switch {
		case text == "":
			text = t
		case strings.HasPrefix(t, "-"):
			text += " - " + t[1:]
		default:
			text += " + " + t
		}
	}
	return text
}
