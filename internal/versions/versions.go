package versions

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

// Difference is something that libtorch and its Python do from some version on.
type Difference struct {
	What  string
	Since int // 212 for 2.12
}

// The differences.
var (
	TruncNormalDrawsAgain = Difference{"nn.init.trunc_normal_ draws again what is out of bounds, where 2.11 cuts it", 212}
	UndefinedBecomesZeros = Difference{"a gradient that a backward pass leaves undefined arrives as zeros", 212}
	LinearCrossEntropy    = Difference{"torch.nn.functional.linear_cross_entropy, which has warnings of its own", 213}
	SetFillsByNumber      = Difference{"an element that is set to a number leaves no edge for it in Python's graph, but in Go's", 215}
	SetsOfParameters      = Difference{"torch.optim warns of parameters that come as a set", 215}
	LBFGSMaximizes        = Difference{"torch.optim.LBFGS has maximize, which optim.LBFGS has not", 214}
)

// Holds reports whether the libtorch in use does it.
func (d Difference) Holds() bool { return d.HoldsIn(torch.Version()) }

// HoldsIn reports whether a version of libtorch does it.
func (d Difference) HoldsIn(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		panic(fmt.Sprintf("versions: libtorch's version is %q: %v", version, err))
	}
	return major*100+minor >= d.Since
}
