package versions

import "github.com/libtorch-go/libtorch/torch"

// Wording is an error that has other words, or is of another kind, from some version of libtorch on.
type Wording struct {
	Since int    // 212 for 2.12: the oldest version that was seen to do it
	Case  string // its name among the bad inputs of package torch's tests
	Kind  torch.Kind
	Text  string // part of it
}

// Words are all of them, older versions first.
var Words = []Wording{
	{212, "cross entropy against fractions for classes", torch.KindGeneric, "expected target dtype to be Long or Byte, but got Float"},
	{213, "one of several views changed in place", torch.KindGeneric, "Output 0 of Unbind is a view and is being modified inplace"},
	{213, "aligned tensors of nothing", torch.KindNotImplemented, "does not exist in libtorch"},
	{213, "an operator of libtorch's own runtimes", torch.KindNotImplemented, "there is no operator prepacked::linear_clamp_run"},
	{214, "bool minus bool", torch.KindNotImplemented, "Subtraction of two bool tensors is not supported"},
	{214, "minus bool", torch.KindNotImplemented, "Negation of a bool tensor is not supported"},
	{214, "a Fourier transform of bools to integers", torch.KindType, "expects a real input tensor"},
	{214, "the signal of a real spectrogram", torch.KindType, "requires a complex tensor"},
	{215, "mean of integers", torch.KindNotImplemented, "could not infer output dtype"},
	{215, "standard deviation of integers", torch.KindNotImplemented, "std and var only support floating point and complex dtypes"},
	{215, "sorting complex numbers", torch.KindType, "Sort does not support complex dtypes on CPU"},
	{215, "the larger of complex numbers", torch.KindType, "maximum not implemented for complex tensors"},
	{215, "imaginary parts of real numbers", torch.KindType, "imag is not implemented for tensors with non-complex dtypes"},
	{215, "complex numbers of integers", torch.KindNotImplemented, "Expected both inputs to be Half, Float or Double tensors"},
	{215, "a complex view of integers", torch.KindNotImplemented, "view_as_complex is only supported for half, float and double tensors"},
	{215, "a norm of integers", torch.KindNotImplemented, "input dtype should be either floating point or complex"},
	{215, "the inverse of integers", torch.KindNotImplemented, "Expected a floating point or complex tensor as input"},
}

// WordsOf is what the libtorch in use says in a case, given what 2.11 does.
func WordsOf(name string, kind torch.Kind, text string) (torch.Kind, string) {
	for _, w := range Words {
		if w.Case == name && (Difference{Since: w.Since}).Holds() {
			kind, text = w.Kind, w.Text
		}
	}
	return kind, text
}
