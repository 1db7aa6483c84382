package export

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
)

// sym reads what is known of a number: an expression or its value.
func (p *parser) sym() (e Expr) {
	p.charge(costStruct)
	p.union(func(kind string) {
		switch kind {
		case "as_int":
			e = integer(p.integer())
		case "as_float":
			e = Expr{Op: "Float", Num: p.float()}
		case "as_bool":
			e = Expr{Op: "Boolean"}
			if p.boolean() {
				e.Int = 1
			}
		case "as_expr":
			e = p.expr()
		default:
			p.fail("expected an expression or a number")
		}
	})
	return e
}

func (p *parser) expr() (e Expr) {
	var hint any
	p.object(func(key string) {
		switch key {
		case "expr_str":
			text := p.str()
			p.charge(costStruct / 2 * int64(len(text)))
			if p.err != nil {
				return
			}
			var err error
			if e, err = parseExpr(text); err != nil {
				p.fail("%w", err)
			}
		case "hint":
			if !p.null() {
				hint = p.argument()
			}
		default:
			p.skip()
		}
	})
	switch hint.(type) {
	case nil, int64, float64, bool:
		e.Hint = hint
	default:
		p.fail("a hint is a number")
	}
	if e.Op == "" {
		p.fail("an expression is missing")
	}
	return e
}

func (p *parser) complex() complex128 {
	var re, im float64
	p.object(func(key string) {
		switch key {
		case "real":
			re = p.float()
		case "imag":
			im = p.float()
		default:
			p.skip()
		}
	})
	return complex(re, im)
}

func (p *parser) device() torch.Device {
	kind, index := "", int64(-1)
	p.object(func(key string) {
		switch key {
		case "type":
			kind = p.str()
		case "index":
			if !p.null() {
				index = p.integer()
			}
		default:
			p.skip()
		}
	})
	if p.err != nil {
		return torch.Device{}
	}
	if index < -1 || index > math.MaxInt8 {
		p.fail("there is no device number %d", index)
		return torch.Device{}
	}
	d, err := deviceOf(kind, int(index))
	if err != nil {
		p.fail("%w", err)
	}
	return d
}

func (p *parser) graphArgument() *GraphArgument {
	g := &GraphArgument{}
	p.object(func(key string) {
		switch key {
		case "name":
			g.Name = p.str()
		case "graph":
			g.Graph = p.graph()
		default:
			p.skip()
		}
	})
	return g
}

func (p *parser) customObj() (o CustomObjArgument) {
	p.object(func(key string) {
		switch key {
		case "name":
			o.Name = p.str()
		case "class_fqn":
			o.Class = p.str()
		default:
			p.skip()
		}
	})
	return o
}

func (p *parser) syms() []Expr {
	list := []Expr{}
	p.list(func(int) { list = append(list, p.sym()) })
	return list
}

func (p *parser) tensorMeta() (m TensorMeta) {
	p.charge(costStruct)
	m.StorageOffset = integer(0)
	p.object(func(key string) {
		switch key {
		case "dtype":
			m.DType = p.dtype()
		case "sizes":
			m.Sizes = p.syms()
		case "strides":
			m.Strides = p.syms()
		case "storage_offset":
			m.StorageOffset = p.sym()
		case "requires_grad":
			m.RequiresGrad = p.boolean()
		case "device":
			m.Device = p.device()
		case "layout":
			m.Layout = enum(p, "layout", layouts)
		default:
			p.skip()
		}
	})
	if p.err == nil && (m.DType.IsZero() || len(m.Sizes) != len(m.Strides)) {
		p.fail("a tensor has a dtype and as many strides as sizes")
	}
	return m
}
