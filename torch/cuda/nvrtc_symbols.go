package cuda

import (
	"bytes"
	"debug/elf"
	"errors"
	"strconv"
	"strings"
)

// kernelsOf lists the kernels of a binary, which is an ELF file: their symbols by their names.
// Kernels made of templates have symbols only.
func kernelsOf(image []byte) (map[string]string, error) {
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		return nil, err
	}
	const entry = 0x10 // of the symbol's other flags: a __global__ function
	kernels := map[string]string{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Other&entry == 0 {
			continue
		}
		if d := demangle(s.Name); !d.template {
			kernels[d.name] = s.Name
		}
	}
	return kernels, nil
}

// paramsOf reads a kernel's parameters from its symbol; nil if the symbol does not
// tell.
func paramsOf(symbol string) []param { return demangle(symbol).params }

// demangled is what the symbol of a function says (Itanium's C++ ABI, as far as kernels go).
type demangled struct {
	name     string // "mine::axpy"
	template bool   // it is an instance of a template
	params   []param
}

func demangle(symbol string) demangled {
	rest, ok := strings.CutPrefix(symbol, "_Z")
	if !ok {
		return demangled{name: symbol} // C linkage
	}
	d := &demangler{rest: rest}
	name, template, err := d.function()
	if err != nil {
		return demangled{name: symbol}
	}
	result := demangled{name: name, template: template}
	if template { // its result comes first
		if _, err := d.param(); err != nil {
			return result
		}
	}
	params := []param{}
	for d.rest != "" {
		p, err := d.param()
		if err != nil {
			return result
		}
		params = append(params, p)
	}
	if len(params) == 1 && params[0] == (param{element: "v"}) {
		params = params[:0] // (void)
	}
	result.params = params
	return result
}

type demangler struct {
	rest string
	seen []param // what S_, S0_, … stand for
	args []param // and T_, T0_, …
}

var errSymbol = errors.New("a symbol that is not understood")

func (d *demangler) take(prefix string) bool {
	rest, ok := strings.CutPrefix(d.rest, prefix)
	if ok {
		d.rest = rest
	}
	return ok
}

// function reads the name: with its namespaces and, for a template, its arguments.
func (d *demangler) function() (name string, template bool, err error) {
	nested := d.take("N")
	d.take("L") // static
	for {
		part, err := d.name()
		if err != nil {
			return "", false, err
		}
		name += part
		last := !nested || strings.HasPrefix(d.rest, "E")
		if template = strings.HasPrefix(d.rest, "I"); template || !last {
			d.seen = append(d.seen, param{unknown: true})
		}
		if template {
			if err := d.arguments(); err != nil {
				return "", false, err
			}
			last = !nested || strings.HasPrefix(d.rest, "E")
		}
		if last {
			if nested {
				d.take("E")
			}
			return name, template, nil
		}
		name += "::"
	}
}

func (d *demangler) name() (string, error) {
	digits := len(d.rest) - len(strings.TrimLeft(d.rest, "0123456789"))
	n, err := strconv.Atoi(d.rest[:digits])
	if err != nil || digits+n > len(d.rest) {
		return "", errSymbol
	}
	name := d.rest[digits : digits+n]
	d.rest = d.rest[digits+n:]
	return name, nil
}

func (d *demangler) arguments() error {
	d.take("I")
	for !d.take("E") {
		if d.take("L") { // a value
			end := strings.IndexByte(d.rest, 'E')
			if end < 0 {
				return errSymbol
			}
			d.rest = d.rest[end+1:]
			d.args = append(d.args, param{unknown: true})
			continue
		}
		p, err := d.param()
		if err != nil {
			return err
		}
		d.args = append(d.args, p)
	}
	return nil
}

// param reads a type. Pointers to pointers are pointers to "?".
func (d *demangler) param() (param, error) {
	var p param
	var err error
	switch {
	case d.rest == "":
		return p, errSymbol
	case d.take("P"):
		var to param
		if to, err = d.param(); to.pointer {
			to = param{element: "?"}
		}
		p = param{pointer: true, fixed: to.fixed, element: to.element, unknown: to.unknown}
	case d.take("K"):
		p, err = d.param()
		p.fixed = true
	case d.take("T"):
		p, err = d.earlier(d.args)
	case d.take("S"):
		return d.earlier(d.seen)
	case d.rest[0] >= '0' && d.rest[0] <= '9':
		before := d.rest
		if _, err = d.name(); err == nil && strings.HasPrefix(d.rest, "I") {
			return p, errSymbol // an instance of a template
		}
		p = param{element: before[:len(before)-len(d.rest)]}
	default:
		p = param{element: d.rest[:1]}
		d.rest = d.rest[1:]
		if cNames[p.element] == "" {
			return p, errSymbol
		}
		return p, nil // these are never abbreviated
	}
	d.seen = append(d.seen, p)
	return p, err
}

// earlier is a type that occurred before: "_" is the first, "0_" the second.
func (d *demangler) earlier(list []param) (param, error) {
	number, rest, ok := strings.Cut(d.rest, "_")
	if !ok {
		return param{}, errSymbol
	}
	i := 0
	if number != "" {
		const digits = 36
		n, err := strconv.ParseUint(number, digits, 16)
		if err != nil {
			return param{}, errSymbol
		}
		i = int(n) + 1
	}
	if i >= len(list) {
		return param{}, errSymbol
	}
	d.rest = rest
	return list[i], nil
}
