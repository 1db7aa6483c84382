package option

import "github.com/libtorch-go/libtorch/torch"

// One is the options that were given, or the zero value, which holds PyTorch's defaults. It
// panics with a *torch.Error for more than one: which of them would count?
func One[T any](opts []T) (o T) {
	switch len(opts) {
	case 0:
	case 1:
		o = opts[0]
	default:
		tooMany(o, len(opts))
	}
	return o
}

func tooMany(o any, n int) {
	torch.Throw("options", torch.KindValue, "at most one %T may be given, got %d; put all of it into one", o, n)
}
