package versions

import "github.com/libtorch-go/libtorch/torch"

// Wording is an error that has other words, or is of another kind, from some version of libtorch on.
type Wording struct {
	Since int    // 212 for 2.12
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
