package nn_test

import (
	"testing"

	"github.com/libtorch-go/libtorch/torch/nn"
)

// layerRow is a case of a layer.
func layerRow(python string, make func() any, shape []int) moduleCase {
	return moduleCase{python: python, make: make, inputs: [][]int{shape}}
}

// Dropouts are here too: they are as much functions of their input.
var activationCases = []moduleCase{
	layerRow("nn.ReLU6()", func() any { return nn.ReLU6{} }, image),
	layerRow("nn.Hardsigmoid()", func() any { return nn.Hardsigmoid{} }, image),
	layerRow("nn.Hardswish()", func() any { return nn.Hardswish{} }, image),
	layerRow("nn.Mish()", func() any { return nn.Mish{} }, image),
	layerRow("nn.SELU()", func() any { return nn.SELU{} }, image),
	layerRow("nn.Tanhshrink()", func() any { return nn.Tanhshrink{} }, image),
	layerRow("nn.LogSigmoid()", func() any { return nn.LogSigmoid{} }, image),
	layerRow("nn.Softsign()", func() any { return nn.Softsign{} }, image),
	layerRow("nn.Sequential(nn.Linear(7, 5), nn.ReLU6(inplace=True))",
		func() any { return nn.Sequential{nn.NewLinear(7, 5), nn.ReLU6{InPlace: true}} }, []int{3, 7}),
	layerRow("nn.Sequential(nn.Linear(7, 5), nn.Hardsigmoid(inplace=True))",
		func() any { return nn.Sequential{nn.NewLinear(7, 5), nn.Hardsigmoid{InPlace: true}} }, []int{3, 7}),
	layerRow("nn.Sequential(nn.Linear(7, 5), nn.Hardswish(inplace=True))",
		func() any { return nn.Sequential{nn.NewLinear(7, 5), nn.Hardswish{InPlace: true}} }, []int{3, 7}),
	layerRow("nn.Sequential(nn.Linear(7, 5), nn.Mish(inplace=True))",
		func() any { return nn.Sequential{nn.NewLinear(7, 5), nn.Mish{InPlace: true}} }, []int{3, 7}),
	layerRow("nn.Sequential(nn.Linear(7, 5), nn.SELU(inplace=True))",
		func() any { return nn.Sequential{nn.NewLinear(7, 5), nn.SELU{InPlace: true}} }, []int{3, 7}),
	layerRow("nn.Sequential(nn.Linear(7, 5), nn.Hardtanh(inplace=True))",
		func() any { return nn.Sequential{nn.NewLinear(7, 5), nn.Hardtanh{InPlace: true}} }, []int{3, 7}),
	layerRow("nn.Sequential(nn.Linear(7, 5), nn.ELU(inplace=True))",
		func() any { return nn.Sequential{nn.NewLinear(7, 5), nn.ELU{InPlace: true}} }, []int{3, 7}),
	layerRow("nn.Sequential(nn.Linear(7, 5), nn.CELU(inplace=True))",
		func() any { return nn.Sequential{nn.NewLinear(7, 5), nn.CELU{InPlace: true}} }, []int{3, 7}),
	layerRow("nn.Sequential(nn.Linear(7, 5), nn.Threshold(0.1, 20, inplace=True))", func() any {
		return nn.Sequential{nn.NewLinear(7, 5), nn.Threshold{Threshold: 0.1, Value: 20, InPlace: true}}
	}, []int{3, 7}),
	layerRow("nn.Threshold(2., 1.)", func() any { return nn.Threshold{Threshold: 2, Value: 1} }, image),
	layerRow("nn.Threshold(0.1, 20.)", func() any { return nn.Threshold{Threshold: 0.1, Value: 20} }, image),
	layerRow("nn.RReLU()", func() any { return nn.NewRReLU() }, image),
	layerRow("nn.RReLU(0.1, 0.9)", func() any { return nn.NewRReLU(nn.RReLUOptions{Lower: new(0.1), Upper: new(0.9)}) }, image),
	layerRow("nn.PReLU()", func() any { return nn.NewPReLU() }, image),
	layerRow("nn.PReLU(init=0.5)", func() any { return nn.NewPReLU(nn.PReLUOptions{Init: new(0.5)}) }, image),
	layerRow("nn.PReLU(4)", func() any { return nn.NewPReLU(nn.PReLUOptions{NumParameters: 4}) }, image),
	layerRow("nn.Hardtanh()", func() any { return nn.Hardtanh{} }, image),
	layerRow("nn.Hardtanh(-0.5, 2.)", func() any { return nn.Hardtanh{MinVal: new(-0.5), MaxVal: new(2.0)} }, image),
	layerRow("nn.ELU()", func() any { return nn.ELU{} }, image),
	layerRow("nn.ELU(alpha=2.)", func() any { return nn.ELU{Alpha: new(2.0)} }, image),
	layerRow("nn.CELU()", func() any { return nn.CELU{} }, image),
	layerRow("nn.CELU(alpha=2.)", func() any { return nn.CELU{Alpha: new(2.0)} }, image),
	layerRow("nn.GLU()", func() any { return nn.GLU{} }, []int{5, 6}),
	layerRow("nn.GLU(1)", func() any { return nn.GLU{Dim: new(1)} }, []int{5, 6, 7}),
	layerRow("nn.Hardshrink()", func() any { return nn.Hardshrink{} }, image),
	layerRow("nn.Hardshrink(0.2)", func() any { return nn.Hardshrink{Lambda: new(0.2)} }, image),
	layerRow("nn.Hardshrink(0.)", func() any { return nn.Hardshrink{Lambda: new(0.0)} }, image),
	layerRow("nn.Softshrink()", func() any { return nn.Softshrink{} }, image),
	layerRow("nn.Softshrink(0.2)", func() any { return nn.Softshrink{Lambda: new(0.2)} }, image),
	layerRow("nn.Softshrink(0.)", func() any { return nn.Softshrink{Lambda: new(0.0)} }, image),
	layerRow("nn.Softplus()", func() any { return nn.Softplus{} }, image),
	layerRow("nn.Softplus(2)", func() any { return nn.Softplus{Beta: new(2.0)} }, image),
	layerRow("nn.Softplus(2, -0.5)", func() any { return nn.Softplus{Beta: new(2.0), Threshold: new(-0.5)} }, image),
	layerRow("nn.Softmin(1)", func() any { return nn.Softmin{Dim: 1} }, image),
	layerRow("nn.LogSoftmax(1)", func() any { return nn.LogSoftmax{Dim: 1} }, image),
	layerRow("nn.LogSoftmax(-1)", func() any { return nn.LogSoftmax{Dim: -1} }, image),
	layerRow("nn.Softmax2d()", func() any { return nn.Softmax2d{} }, image),
	layerRow("nn.Softmax2d()", func() any { return nn.Softmax2d{} }, []int{4, 5, 3}),
	layerRow("nn.Dropout1d(0.5)", func() any { return nn.NewDropout1d(0.5) }, []int{2, 4, 5}),
	layerRow("nn.Dropout1d(0.3)", func() any { return nn.NewDropout1d(0.3) }, []int{2, 4, 5}),
	layerRow("nn.Dropout2d(0.5)", func() any { return nn.NewDropout2d(0.5) }, image),
	layerRow("nn.Dropout2d(0.3)", func() any { return nn.NewDropout2d(0.3) }, image),
	layerRow("nn.Dropout3d(0.5)", func() any { return nn.NewDropout3d(0.5) }, []int{2, 4, 3, 2, 2}),
	layerRow("nn.Dropout3d(0.3)", func() any { return nn.NewDropout3d(0.3) }, []int{2, 4, 3, 2, 2}),
	layerRow("nn.AlphaDropout(0.5)", func() any { return nn.NewAlphaDropout(0.5) }, image),
	layerRow("nn.AlphaDropout(0.3)", func() any { return nn.NewAlphaDropout(0.3) }, image),
	layerRow("nn.FeatureAlphaDropout(0.5)", func() any { return nn.NewFeatureAlphaDropout(0.5) }, image),
	layerRow("nn.FeatureAlphaDropout(0.3)", func() any { return nn.NewFeatureAlphaDropout(0.3) }, image),
}

func TestActivationsEqualPython(t *testing.T) { equalPython(t, activationCases) }
