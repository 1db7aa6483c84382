package nn

import "github.com/libtorch-go/libtorch/torch"

// MACs implements [MACCounter].
func (c *Conv) MACs(_, outputs []torch.Tensor) int {
	return outputs[0].NumEl() * c.Weight.NumEl() / c.Weight.Size(0)
}

// MACs implements [MACCounter].
func (c *ConvTranspose) MACs(inputs, _ []torch.Tensor) int {
	return inputs[0].NumEl() * c.Weight.NumEl() / c.Weight.Size(0)
}

// MACs implements [MACCounter].
func (l *Linear) MACs(_, outputs []torch.Tensor) int { return outputs[0].NumEl() * l.Weight.Size(1) }

// MACs implements [MACCounter].
func (b *Bilinear) MACs(_, outputs []torch.Tensor) int {
	return outputs[0].NumEl() * b.Weight.Size(1) * b.Weight.Size(2)
}

// MACs implements [MACCounter].
func (r *Recurrent) MACs(inputs, _ []torch.Tensor) int {
	n := 0
	for _, t := range r.Weights.lent() {
		n += matrix(t)
	}
	return n * inputs[0].NumEl() / r.Input
}

// MACs implements [MACCounter].
func (c *Cell) MACs(inputs, _ []torch.Tensor) int {
	steps := 1
	if x := inputs[0]; x.Dim() == 2 {
		steps = x.Size(0)
	}
	return steps * (matrix(c.WeightIH) + matrix(c.WeightHH))
}

// matrix is how many elements a matrix has; what is none is only added.
func matrix(t torch.Tensor) int {
	if t.Dim() != 2 {
		return 0
	}
	return t.NumEl()
}

// MACs implements [MACCounter]: the projections, the scores and the means that they weigh.
func (a *MultiheadAttention) MACs(inputs, _ []torch.Tensor) int {
	query, key, value := inputs[0], inputs[1], inputs[2]
	sequence := 0
	if a.Options.BatchFirst && query.Dim() == 3 {
		sequence = 1
	}
	queries := query.NumEl() / a.Embed
	projections := 2*queries*a.Embed + key.NumEl() + value.NumEl() // each times E: queries and results, keys, values
	return a.Embed * (projections + 2*queries*key.Size(sequence))
}
