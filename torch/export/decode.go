package export

// decodeProgram reads models/model.json.
func decodeProgram(p *parser) *Program {
	prog := &Program{}
	major, minor := int64(0), int64(0)
	p.object(func(key string) {
		switch key {
		case "graph_module":
			prog.graphModule(p)
		case "opset_version":
			prog.Opset = map[string]int{}
			p.object(func(name string) { prog.Opset[name] = int(p.integer()) })
		case "range_constraints":
			prog.Ranges = map[string]Range{}
			p.object(func(name string) {
				prog.Ranges[name], prog.order = p.rangeOf(), append(prog.order, name)
			})
		case "schema_version":
			p.object(func(name string) {
				switch name {
				case "major":
					major = p.integer()
				case "minor":
					minor = p.integer()
				default:
					p.skip()
				}
			})
		case "verifiers":
			prog.Verifiers = p.strs()
		case "torch_version":
			prog.Torch = p.str()
		case "guards_code":
			prog.Guards = p.strs()
		default:
			p.skip()
		}
	})
	if p.err == nil && major != schemaMajor {
		p.fail("version %d.%d of the format, expected %d: export the program with PyTorch 2.7 or later", major, minor, schemaMajor)
	}
	return prog
}

// The version of the format that is read and written.
const schemaMajor, schemaMinor = 8, 17

func (prog *Program) graphModule(p *parser) {
	p.object(func(key string) {
		switch key {
		case "graph":
			prog.Graph = p.graph()
		case "signature":
			prog.Signature = p.signature()
		case "module_call_graph":
			p.list(func(int) { prog.Modules = append(prog.Modules, p.moduleCall()) })
		case "metadata":
			prog.Metadata = p.texts()
		case "treespec_namedtuple_fields":
			prog.NamedTuple = map[string][]string{}
			p.object(func(name string) {
				p.object(func(key string) {
					if key == "field_names" {
						prog.NamedTuple[name] = p.strs()
						return
					}
					p.skip()
				})
			})
		default:
			p.skip()
		}
	})
}

func (p *parser) strs() []string {
	list := []string{}
	p.list(func(int) { list = append(list, p.str()) })
	return list
}

func (p *parser) ints() []int64 {
	list := []int64{}
	p.list(func(int) { list = append(list, p.integer()) })
	return list
}

func (p *parser) texts() map[string]string {
	m := map[string]string{}
	p.object(func(key string) { m[key] = p.str() })
	return m
}

func (p *parser) rangeOf() (r Range) {
	p.object(func(key string) {
		var n *int64
		if !p.null() {
			n = new(p.integer())
		}
		switch key {
		case "min_val":
			r.Min = n
		case "max_val":
			r.Max = n
		}
	})
	return r
}

// graph reads a graph, which may have others in it.
func (p *parser) graph() (g Graph) {
	p.charge(costStruct)
	g.Tensors, g.SymInts, g.SymFloats, g.SymBools, g.Objects = map[string]TensorMeta{}, map[string]Expr{}, map[string]Expr{},
		map[string]Expr{}, map[string]CustomObjArgument{}
	p.object(func(key string) {
		switch key {
		case "inputs":
			g.Inputs = p.arguments()
		case "outputs":
			g.Outputs = p.arguments()
		case "nodes":
			p.list(func(int) { g.Nodes = append(g.Nodes, p.node()) })
		case "tensor_values":
			p.object(func(name string) { g.Tensors[name] = p.tensorMeta() })
		case "sym_int_values":
			p.object(func(name string) { g.SymInts[name] = p.sym() })
		case "sym_float_values":
			p.object(func(name string) { g.SymFloats[name] = p.sym() })
		case "sym_bool_values":
			p.object(func(name string) { g.SymBools[name] = p.sym() })
		case "custom_obj_values":
			p.object(func(name string) { g.Objects[name] = p.customObj() })
		case "is_single_tensor_return":
			g.Single = p.boolean()
		default:
			p.skip()
		}
	})
	return g
}

func (p *parser) node() (n Node) {
	p.charge(costStruct)
	p.object(func(key string) {
		switch key {
		case "target":
			n.Target = p.str()
		case "inputs":
			p.list(func(int) { n.Inputs = append(n.Inputs, p.namedArgument()) })
		case "outputs":
			n.Outputs = p.arguments()
		case "metadata":
			n.Metadata = p.texts()
		case "is_hop_single_tensor_return":
			if !p.null() {
				n.single = new(p.boolean())
			}
		case "name":
			if !p.null() {
				n.Name = p.str()
			}
		default:
			p.skip()
		}
	})
	return n
}

func (p *parser) namedArgument() (a NamedArgument) {
	p.object(func(key string) {
		switch key {
		case "name":
			a.Name = p.str()
		case "arg":
			a.Value = p.argument()
		case "kind":
			const keyword = 2
			a.Keyword = !p.null() && p.integer() == keyword
		default:
			p.skip()
		}
	})
	return a
}

func (p *parser) arguments() []Argument {
	list := []Argument{}
	p.list(func(int) { list = append(list, p.argument()) })
	return list
}

// union reads an object that has one key.
func (p *parser) union(see func(key string)) {
	n := 0
	p.object(func(key string) {
		n++
		see(key)
	})
	if n != 1 {
		p.fail("expected one value with its kind, found %d", n)
	}
}

// named reads an object of which one key, a text, matters.
func (p *parser) named(want string) (name string) {
	found := false
	p.object(func(key string) {
		if key != want {
			p.skip()
			return
		}
		name, found = p.str(), true
	})
	if !found {
		p.fail("%q is missing", want)
	}
	return name
}

// argument reads a value with its kind.
func (p *parser) argument() (a Argument) {
	p.union(func(kind string) {
		switch kind {
		case "as_none":
			p.skip()
		case "as_int":
			a = p.integer()
		case "as_float":
			a = p.float()
		case "as_bool":
			a = p.boolean()
		case "as_string":
			a = p.str()
		case "as_complex":
			a = p.complex()
		case "as_tensor":
			a = TensorArgument(p.named("name"))
		case "as_optional_tensor":
			a = p.optionalTensor()
		case "as_sym_int":
			a = p.symArgument("as_int", func(name string) Argument { return SymIntArgument(name) })
		case "as_sym_float":
			a = p.symArgument("as_float", func(name string) Argument { return SymFloatArgument(name) })
		case "as_sym_bool":
			a = p.symArgument("as_bool", func(name string) Argument { return SymBoolArgument(name) })
		case "as_scalar_type":
			a = p.dtype()
		case "as_memory_format":
			a = enum(p, "memory format", memoryFormats)
		case "as_layout":
			a = enum(p, "layout", layouts)
		case "as_device":
			a = p.device()
		case "as_graph":
			a = p.graphArgument()
		case "as_operator":
			a = OperatorArgument(p.str())
		case "as_custom_obj":
			a = p.customObj()
		case "as_string_to_argument":
			m := map[string]Argument{}
			p.object(func(key string) { m[key] = p.argument() })
			a = m
		default:
			a = p.listArgument(kind)
		}
	})
	return a
}

// listArgument reads a list by its kind.
func (p *parser) listArgument(kind string) Argument {
	switch kind {
	case "as_ints":
		return p.ints()
	case "as_floats":
		list := []float64{}
		p.list(func(int) { list = append(list, p.float()) })
		return list
	case "as_bools":
		list := []bool{}
		p.list(func(int) { list = append(list, p.boolean()) })
		return list
	case "as_strings":
		return p.strs()
	case "as_tensors":
		return p.tensorList()
	case "as_nested_tensors":
		list := [][]TensorArgument{}
		p.list(func(int) { list = append(list, p.tensorList()) })
		return list
	case "as_int_lists":
		list := [][]int64{}
		p.list(func(int) { list = append(list, p.ints()) })
		return list
	case "as_optional_tensors":
		list := OptionalTensors{}
		p.list(func(int) { list = append(list, p.optionalTensor()) })
		return list
	case "as_sym_ints":
		return SymInts(p.symList("as_int", func(name string) Argument { return SymIntArgument(name) }))
	case "as_sym_floats":
		return SymFloats(p.symList("as_float", func(name string) Argument { return SymFloatArgument(name) }))
	case "as_sym_bools":
		return SymBools(p.symList("as_bool", func(name string) Argument { return SymBoolArgument(name) }))
	}
	p.fail("there is no kind of values %q", kind)
	return nil
}

func (p *parser) tensorList() []TensorArgument {
	list := []TensorArgument{}
	p.list(func(int) { list = append(list, TensorArgument(p.named("name"))) })
	return list
}

func (p *parser) optionalTensor() (a Argument) {
	p.union(func(kind string) {
		switch kind {
		case "as_tensor":
			a = TensorArgument(p.named("name"))
		case "as_none":
			p.skip()
		default:
			p.fail("expected a tensor or nothing")
		}
	})
	return a
}

func (p *parser) symList(number string, symbol func(string) Argument) []Argument {
	list := []Argument{}
	p.list(func(int) { list = append(list, p.symArgument(number, symbol)) })
	return list
}

// symArgument is the name of a number or the number.
func (p *parser) symArgument(number string, symbol func(string) Argument) (a Argument) {
	p.union(func(kind string) {
		switch {
		case kind == "as_name":
			a = symbol(p.str())
		case kind != number:
			p.fail("expected as_name or %s", number)
		case kind == "as_int":
			a = p.integer()
		case kind == "as_float":
			a = p.float()
		default:
			a = p.boolean()
		}
	})
	return a
}
