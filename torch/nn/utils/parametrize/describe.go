package parametrize

import (
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// String describes the module, see [nn.String].
func (m *Module[M]) String() string { return nn.String(m) }

// ReprName is PyTorch's name, ParametrizedLinear for a Linear.
func (m *Module[M]) ReprName() string {
	name, _, _ := strings.Cut(nn.String(m.shaped()), "(")
	return "Parametrized" + name
}

// ExtraRepr is what the module says of itself where nothing is computed.
func (m *Module[M]) ExtraRepr() string {
	_, text, _ := strings.Cut(nn.String(m.shaped()), "(")
	lines := strings.Split(strings.TrimSuffix(text, ")"), "\n")
	if len(lines) == 1 {
		return lines[0]
	}
	var own []string
	for _, line := range lines[1:] {
		if line = strings.TrimPrefix(line, "  "); line != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "(") && line != ")" {
			own = append(own, line)
		}
	}
	return strings.Join(own, "\n")
}

// shaped is the module with tensors of the right shapes in the place of the computed ones: of the
// originals the largest. Computing them would change the state of some parametrizations.
func (m *Module[M]) shaped() M {
	tensors := map[string]torch.Tensor{}
	for _, p := range m.Parametrizations {
		var largest torch.Tensor
		for _, t := range p.Module.Originals {
			if !largest.Defined() || t.NumEl() > largest.NumEl() {
				largest = t
			}
		}
		tensors[p.Name] = largest
	}
	return nn.WithTensors(m.Base, tensors)
}

// ReprName is PyTorch's name.
func (l *List) ReprName() string { return "ParametrizationList" }

// ReprName is PyTorch's name.
func (o *Orthogonalization) ReprName() string { return "_Orthogonal" }

// ReprName is PyTorch's name.
func (s *SpectralNormalization) ReprName() string { return "_SpectralNorm" }

// ReprName is PyTorch's name.
func (w *WeightNormalization) ReprName() string { return "_WeightNorm" }
