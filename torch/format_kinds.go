package torch

import (
	"slices"
	"strconv"
	"strings"
)

// Tensors that are printed in a special way.

// nested tells whether x is a list of tensors of different shapes: such a tensor has no sizes.
func (x Tensor) nested() bool {
	_, err := Try1(x.Shape)
	return err != nil && Try(func() { x.DType() }) == nil
}

// nestedTensor prints the tensors that x consists of, each on separate lines.
func (p printer) nestedTensor(x Tensor) string {
	var parts []string
	for _, part := range x.Unbind(0) {
		parts = append(parts, "  "+strings.ReplaceAll(p.tensor(part), "\n", "\n  "))
	}
	text := "nested_tensor([\n" + strings.Join(parts, ",\n") + "\n]"
	if x.RequiresGrad() {
		text += ", requires_grad=True"
	}
	return text + ")"
}

// quantized tells whether x's integers stand for other numbers. A plain tensor may have a quantized
// dtype as well, through ViewDType, but nothing says what its integers stand for.
func (x Tensor) quantized() bool {
	if !slices.Contains(quantizedDTypes, x.DType()) {
		return false
	}
	if Try(func() { Call("q_scale", x) }) == nil || Try(func() { Call("q_per_channel_axis", x) }) == nil {
		return true
	}
	throw("values", KindType, "a plain tensor of dtype %v has no scale: nothing says what numbers its elements stand for; Bytes "+
		"has them", x.DType())
	return false
}

func (x Tensor) dequantized() Tensor { return Call("dequantize.self", x)[0].(Tensor) }

var quantizedDTypes = []DType{QInt8, QUint8, QInt32, QUint4x2, QUint2x4}

// quantization returns the notes that say what the integers of x stand for.
func (p printer) quantization(x Tensor) []string {
	scale, err := Try1(func() any { return Call("q_scale", x)[0] })
	if err == nil {
		return []string{
			"quantization_scheme=torch.per_tensor_affine", "scale=" + pythonFloat(scale.(float64)),
			"zero_point=" + strconv.Itoa(int(Call("q_zero_point", x)[0].(int64))),
		}
	}
	return []string{
		"quantization_scheme=torch.per_channel_affine", "scale=" + p.tensor(Call("q_per_channel_scales", x)[0].(Tensor)),
		"zero_point=" + p.tensor(Call("q_per_channel_zero_points", x)[0].(Tensor)),
		"axis=" + strconv.Itoa(int(Call("q_per_channel_axis", x)[0].(int64))),
	}
}

// pythonFloat is a number as Python's repr writes it.
func pythonFloat(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".en") {
		text += ".0"
	}
	return text
}
