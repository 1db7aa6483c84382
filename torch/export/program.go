package export

import (
	"github.com/libtorch-go/libtorch/torch"
)

// Program is an exported program, PyTorch's ExportedProgram.
type Program struct {
	Graph      Graph
	Signature  Signature
	StateDict  map[string]torch.Tensor // parameters, and buffers that are saved with a state dict, by their names
	Constants  map[string]torch.Tensor // other buffers and constants, by their names
	Ranges     map[string]Range        // of the symbols that sizes are made of
	Guards     []string                // conditions on the inputs' sizes beyond the ranges, in Python's words
	Modules    []ModuleCall            // the modules that were called; the first is the whole program
	Metadata   map[string]string
	NamedTuple map[string][]string // the fields of named tuples by their types
	Opset      map[string]int      // versions of the operators' namespaces
	Verifiers  []string            // "TRAINING": which rules of PyTorch's the graph keeps
	Torch      string              // the version of PyTorch that exported it

	order     []string // of the symbols in the file
	operators []string // permitted beyond those of aten
	samples   []byte   // a file of torch.save with the inputs it was exported with
}

// Graph is a list of nodes in the order in which they run. Values are known by their names, which are unique.
type Graph struct {
	Inputs    []Argument
	Nodes     []Node
	Outputs   []Argument
	Tensors   map[string]TensorMeta // what is known of each tensor
	SymInts   map[string]Expr       // what each whole number is in terms of the inputs' sizes
	SymFloats map[string]Expr
	SymBools  map[string]Expr
	Objects   map[string]CustomObjArgument
	Single    bool // a graph within another one returns a tensor and not a list of one
}

// Node is one call.
type Node struct {
	Name     string // in Python
	Target   string // "torch.ops.aten.conv2d.default", "_operator.mul", "torch.ops.higher_order.cond"
	Inputs   []NamedArgument
	Outputs  []Argument
	Metadata map[string]string // "stack_trace" and "nn_module_stack": where Python made it

	single *bool // how a call of a graph returns its only result; nil for other calls
}

// NamedArgument is an argument of a node, by its name in the operator's schema.
type NamedArgument struct {
	Name    string
	Value   Argument
	Keyword bool // Python gave it by its name
}

// Argument is a value in a graph, one of
//
//	nil, int64, float64, bool, string, complex128, torch.DType, torch.Device, torch.Layout, torch.MemoryFormat
//	TensorArgument, SymIntArgument, SymFloatArgument, SymBoolArgument: values of the graph, by their names
//	[]TensorArgument, OptionalTensors, [][]TensorArgument
//	[]int64, []float64, []bool, []string, [][]int64, SymInts, SymFloats, SymBools
//	*GraphArgument, OperatorArgument, CustomObjArgument, map[string]Argument
type Argument any

type (
	// TensorArgument is the name of a tensor.
	TensorArgument string
	// SymIntArgument is the name of a whole number that depends on the inputs.
	SymIntArgument string
	// SymFloatArgument is the name of such a number that need not be whole.
	SymFloatArgument string
	// SymBoolArgument is the name of a condition that depends on the inputs.
	SymBoolArgument string
	// OperatorArgument is an operator that another one gets.
	OperatorArgument string
	// OptionalTensors is a list of TensorArgument and nil.
	OptionalTensors []Argument
	// SymInts is a list of int64 and SymIntArgument.
	SymInts []Argument
	// SymFloats is a list of float64 and SymFloatArgument.
	SymFloats []Argument
	// SymBools is a list of bool and SymBoolArgument.
	SymBools []Argument
)

// GraphArgument is a graph that an operator such as torch.cond runs.
type GraphArgument struct {
	Name  string
	Graph Graph
}

// CustomObjArgument is an object of a class that C++ has registered. No program that has one runs here.
type CustomObjArgument struct{ Name, Class string }

// TensorMeta is what is known of a tensor when a program is exported.
type TensorMeta struct {
	DType         torch.DType
	Sizes         []Expr
	Strides       []Expr
	StorageOffset Expr
	RequiresGrad  bool
	Device        torch.Device
	Layout        torch.Layout
}

// Range is the least and the greatest value of a symbol; nil where there is none.
type Range struct{ Min, Max *int64 }

// Signature says what the inputs and outputs of a graph are.
type Signature struct {
	Inputs  []InputSpec
	Outputs []OutputSpec
}

// InputSpec is what an input of the graph is.
type InputSpec struct {
	Kind       InputKind
	Arg        Argument // TensorArgument for tensors; the value itself where it was a constant
	Name       string   // of a constant; others have that of Arg
	Target     string   // the parameter, buffer or constant
	Persistent bool     // a buffer that is in the state dict
}

// OutputSpec is what an output of the graph is.
type OutputSpec struct {
	Kind   OutputKind
	Arg    Argument
	Target string // the buffer, parameter or input that it replaces
}

// InputKind is a kind of inputs.
type InputKind struct{ name string }

// The kinds of inputs.
var (
	UserInput      = InputKind{"USER_INPUT"}
	Parameter      = InputKind{"PARAMETER"}
	Buffer         = InputKind{"BUFFER"}
	ConstantTensor = InputKind{"CONSTANT_TENSOR"}
	CustomObj      = InputKind{"CUSTOM_OBJ"}
	Token          = InputKind{"TOKEN"}
)

// String is PyTorch's name: "USER_INPUT".
func (k InputKind) String() string { return k.name }

// OutputKind is a kind of outputs.
type OutputKind struct{ name string }

// The kinds of outputs.
var (
	UserOutput          = OutputKind{"USER_OUTPUT"}
	LossOutput          = OutputKind{"LOSS_OUTPUT"}
	BufferMutation      = OutputKind{"BUFFER_MUTATION"}
	ParameterMutation   = OutputKind{"PARAMETER_MUTATION"}
	GradientToParameter = OutputKind{"GRADIENT_TO_PARAMETER"}
	GradientToUserInput = OutputKind{"GRADIENT_TO_USER_INPUT"}
	UserInputMutation   = OutputKind{"USER_INPUT_MUTATION"}
	TokenOutput         = OutputKind{"TOKEN"}
)

// String is PyTorch's name: "USER_OUTPUT".
func (k OutputKind) String() string { return k.name }

// ModuleCall is a module that was called, and how, if its signature was kept.
type ModuleCall struct {
	Name      string
	Signature *ModuleCallSignature
}

// ModuleCallSignature is what a module takes and returns.
type ModuleCallSignature struct {
	Inputs, Outputs []Argument
	In, Out         *TreeSpec // In is a tuple of the positional arguments and of those by name
	ArgNames        []string  // of forward
}

// Close frees the program's tensors.
func (p *Program) Close() {
	for _, t := range p.StateDict {
		t.Close()
	}
	for _, t := range p.Constants {
		t.Close()
	}
}

// state finds the tensor of an input that the caller does not give.
func (p *Program) state(s InputSpec) (torch.Tensor, bool) {
	if s.Kind == Parameter || s.Kind == Buffer && s.Persistent {
		t, ok := p.StateDict[s.Target]
		return t, ok
	}
	t, ok := p.Constants[s.Target]
	return t, ok
}
