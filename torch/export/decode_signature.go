package export

import "encoding/json"

// signature reads what inputs and outputs are.
func (p *parser) signature() (s Signature) {
	p.object(func(key string) {
		switch key {
		case "input_specs":
			p.list(func(int) { s.Inputs = append(s.Inputs, p.inputSpec()) })
		case "output_specs":
			p.list(func(int) { s.Outputs = append(s.Outputs, p.outputSpec()) })
		default:
			p.skip()
		}
	})
	return s
}

// inputKinds are the kinds by their names in the file, with the key of what they name.
var inputKinds = map[string]struct {
	kind   InputKind
	target string
}{
	"user_input":      {UserInput, ""},
	"constant_input":  {UserInput, ""},
	"parameter":       {Parameter, "parameter_name"},
	"buffer":          {Buffer, "buffer_name"},
	"tensor_constant": {ConstantTensor, "tensor_constant_name"},
	"custom_obj":      {CustomObj, "custom_obj_name"},
	"token":           {Token, ""},
}

var outputKinds = map[string]struct {
	kind   OutputKind
	target string
}{
	"user_output":            {UserOutput, ""},
	"loss_output":            {LossOutput, ""},
	"buffer_mutation":        {BufferMutation, "buffer_name"},
	"parameter_mutation":     {ParameterMutation, "parameter_name"},
	"gradient_to_parameter":  {GradientToParameter, "parameter_name"},
	"gradient_to_user_input": {GradientToUserInput, "user_input_name"},
	"user_input_mutation":    {UserInputMutation, "user_input_name"},
	"token":                  {TokenOutput, ""},
}

func (p *parser) inputSpec() (s InputSpec) {
	p.charge(costStruct)
	p.union(func(kind string) {
		k, ok := inputKinds[kind]
		if !ok {
			p.fail("there is no kind of inputs %q", kind)
			return
		}
		s.Kind = k.kind
		p.object(func(key string) {
			switch {
			case key == "arg" && kind == "user_input":
				s.Arg = p.argument()
			case key == "arg" && kind == "custom_obj":
				s.Arg = p.customObj()
			case key == "arg":
				s.Arg = TensorArgument(p.named("name"))
			case key == "name":
				s.Name = p.str()
			case key == "value":
				s.Arg = p.argument()
			case key == k.target:
				s.Target = p.str()
			case key == "persistent":
				s.Persistent = p.boolean()
			default:
				p.skip()
			}
		})
	})
	return s
}

func (p *parser) outputSpec() (s OutputSpec) {
	p.charge(costStruct)
	p.union(func(kind string) {
		k, ok := outputKinds[kind]
		if !ok {
			p.fail("there is no kind of outputs %q", kind)
			return
		}
		s.Kind = k.kind
		p.object(func(key string) {
			switch {
			case key == "arg" && kind == "user_output":
				s.Arg = p.argument()
			case key == "arg":
				s.Arg = TensorArgument(p.named("name"))
			case key == k.target:
				s.Target = p.str()
			default:
				p.skip()
			}
		})
	})
	return s
}

func (p *parser) moduleCall() (m ModuleCall) {
	p.charge(costStruct)
	p.object(func(key string) {
		switch key {
		case "fqn":
			m.Name = p.str()
		case "signature":
			if !p.null() {
				m.Signature = p.moduleSignature()
			}
		default:
			p.skip()
		}
	})
	return m
}

func (p *parser) moduleSignature() *ModuleCallSignature {
	s := &ModuleCallSignature{}
	p.object(func(key string) {
		switch key {
		case "inputs":
			s.Inputs = p.arguments()
		case "outputs":
			s.Outputs = p.arguments()
		case "in_spec":
			s.In = p.treeSpec()
		case "out_spec":
			s.Out = p.treeSpec()
		case "forward_arg_names":
			if !p.null() {
				s.ArgNames = p.strs()
			}
		default:
			p.skip()
		}
	})
	return s
}

// treeSpec reads a tree, which is JSON within a text.
func (p *parser) treeSpec() *TreeSpec {
	text := p.str()
	if p.err != nil {
		return nil
	}
	const version = 1
	inner := parser{b: []byte(text), budget: p.budget, path: p.path}
	var t *TreeSpec
	inner.list(func(i int) {
		switch i {
		case 0:
			if n := inner.integer(); n != version {
				inner.fail("version %d of trees, expected %d", n, version)
			}
		case 1:
			t = inner.tree()
		default:
			inner.fail("a tree has two parts")
		}
	})
	err := inner.end()
	if err == nil && t == nil {
		inner.fail("the tree is missing")
		err = inner.err
	}
	if p.budget = inner.budget; err != nil {
		p.err, p.at = err, len(p.b)
	}
	return t
}

// tree reads a tree.
func (p *parser) tree() *TreeSpec {
	p.charge(costStruct)
	t := &TreeSpec{}
	p.object(func(key string) {
		switch key {
		case "type":
			if !p.null() {
				t.Type = p.str()
			}
		case "context":
			if !p.null() {
				t.Context = p.str()
			}
		case "children_spec":
			p.list(func(int) { t.Children = append(t.Children, p.tree()) })
		default:
			p.skip()
		}
	})
	if p.err == nil && t.isDict() {
		if err := json.Unmarshal([]byte(t.Context), &t.Keys); err != nil {
			p.fail("the keys of a dictionary are %s, expected texts", t.Context)
		}
	}
	return t
}
