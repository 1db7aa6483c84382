package nnutils

import "github.com/libtorch-go/libtorch/torch"

// ParametersToVector puts all elements of the parameters into one vector, in their order. It
// is recorded for autograd.
func ParametersToVector(params []torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		flat := make([]torch.Tensor, len(params))
		for i, p := range params {
			flat[i] = p.View(-1)
		}
		return torch.Cat(flat)
	})
}

// VectorToParameters makes the parameters views of a vector, one piece after the other: the
// opposite of [ParametersToVector]. As in PyTorch they share the vector's memory from then
// on. A vector with fewer elements than the parameters have panics; more are passed over.
func VectorToParameters(vector torch.Tensor, params []torch.Tensor) {
	torch.NoGrad(func() {
		torch.Scope(func() {
			from := 0
			for _, p := range params {
				n := p.NumEl()
				p.SetData(vector.Narrow(0, from, n).ViewAs(p))
				from += n
			}
		})
	})
}
