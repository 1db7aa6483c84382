package export

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/fuzz/networks"
	"github.com/libtorch-go/libtorch/torch"
)

// What a captured network says of the sizes of its values holds for inputs of other sizes, too:
//
//	LIBTORCH_GO_RANDOM_NETWORKS=0:5000 go test -timeout 1h -run TestRandomSizes ./torch/export
func TestRandomSizes(t *testing.T) {
	EachSeed(t, 80, func(t *testing.T, seed uint64) {
		n := networks.Draw(seed)
		if !n.Free && !n.Sides {
			return
		}
		var all []int // values
		for k := range n.Steps() {
			all = append(all, 1+k)
		}
		p, err := ExportRandom(n, all...)
		require.NoError(t, err)
		defer p.Close()
		fn := n.Forward(all...)
		for _, in := range randomInputs(fn, n.Input(), p) {
			x := in[0].(torch.Tensor)
			symbols := map[string]int64{}
			for d, size := range p.Graph.Tensors["x"].Sizes {
				if size.Op == "Symbol" {
					symbols[size.Name] = int64(x.Size(d))
				}
			}
			for i, y := range fn(x) {
				name, _ := kindOf(p.Graph.Outputs[i])
				for d, size := range p.Graph.Tensors[name].Sizes {
					if own, known := size.Eval(symbols); known {
						require.Equal(t, int64(y.Size(d)), own, "size %d of value %d, %v, of %v%s", d, all[i], size, x.Shape(), n.Describe(all...))
					}
				}
			}
		}
	})
}
