package pt

import (
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/internal/pickle"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// quantization is what a quantized tensor has besides its elements.
type quantization struct {
	scale              float64
	zeroPoint          int
	scales, zeroPoints torch.Tensor // of channels
	axis               int
}

func buildQuantized(c *call) (any, error) {
	if err := c.count(7, 7); err != nil {
		return nil, err
	}
	p, err := c.plan()
	if err != nil {
		return nil, err
	}
	params, err := as[Tuple](c, 4)
	if err != nil {
		return nil, err
	}
	if p.requiresGrad, err = c.flag(5); err != nil {
		return nil, err
	}
	if err := quantizable(p.dtype); err != nil {
		return nil, err
	}
	if p.quantized, err = c.quantization(p, params); err != nil {
		return nil, err
	}
	return c.build(p, p.buildQuantized)
}

// limits are the zero points that a quantized dtype has.
func limits(d torch.DType) (least, most int) {
	switch d {
	case torch.QInt8:
		return math.MinInt8, math.MaxInt8
	case torch.QUint8:
		return 0, math.MaxUint8
	}
	return math.MinInt32, math.MaxInt32
}

func (c *call) quantization(p *plan, params Tuple) (*quantization, error) {
	q := &quantization{}
	var scheme QScheme
	if len(params) > 0 {
		scheme, _ = params[0].(QScheme)
	}
	switch {
	case scheme == "per_tensor_affine" && len(params) == 3:
		scale, ok := params[1].(float64)
		zero, okZero := params[2].(int)
		least, most := limits(p.dtype)
		if !ok || !okZero || !(scale > 0) || math.IsInf(scale, 0) || zero < least || zero > most {
			return nil, c.failed("the scale %s with the zero point %s", show(params[1]), show(params[2]))
		}
		q.scale, q.zeroPoint = scale, zero
	case (scheme == "per_channel_affine" || scheme == "per_channel_affine_float_qparams") && len(params) == 4:
		var ok, okZero, okAxis bool
		q.scales, ok = tensorOf(params[1])
		q.zeroPoints, okZero = tensorOf(params[2])
		q.axis, okAxis = params[3].(int)
		if !ok || !okZero || !okAxis || q.axis < 0 || q.axis >= len(p.size) {
			return nil, c.failed("scales, zero points and axis that are none")
		}
	default:
		return nil, c.failed("the scheme of quantization %s", show(string(scheme)))
	}
	return q, nil
}

// buildQuantized makes the tensor, at first without elements.
func (p *plan) buildQuantized() (t torch.Tensor) {
	q := p.quantized
	o := torch.TensorOptions{DType: p.dtype, Device: p.storage.base.Device()}
	torch.Unsafe(func() {
		if !q.scales.Defined() {
			t = p.over(aten.EmptyAffineQuantized([]int{0}, q.scale, q.zeroPoint, o))
			return
		}
		size := p.size[q.axis]
		for _, list := range []torch.Tensor{q.scales, q.zeroPoints} {
			if list.Dim() != 1 || list.Size(0) != size || size > 1 && list.Stride()[0] == 0 {
				torch.Throw("pt", torch.KindValue, "%d channels with scales and zero points of shape %v and %v", size, q.scales.Shape(),
					q.zeroPoints.Shape())
			}
		}
		room := make([]int, len(p.size))
		room[q.axis] = size
		t = p.over(aten.EmptyPerChannelAffineQuantized(room, q.scales, q.zeroPoints, q.axis, o))
	})
	return p.finish(t)
}

// quantizable refuses the quantized dtypes with several elements in a byte.
func quantizable(d torch.DType) error {
	switch d {
	case torch.QInt8, torch.QUint8, torch.QInt32:
		return nil
	}
	return fmt.Errorf("a quantized tensor of %v is not supported here, those of qint8, quint8 and qint32 are: save what Dequantize returns", d)
}

// quantizer are the parameters of a quantized tensor as Python writes them.
func (e *encoder) quantizer(t torch.Tensor) (any, error) {
	if err := torch.Try(func() { aten.QScale(t) }); err == nil {
		return pickle.Tuple{global("torch", "per_tensor_affine"), aten.QScale(t), aten.QZeroPoint(t)}, nil
	}
	scales, err := e.tensor(aten.QPerChannelScales(t), true)
	if err != nil {
		return nil, err
	}
	zeros, err := e.tensor(aten.QPerChannelZeroPoints(t), true)
	if err != nil {
		return nil, err
	}
	return pickle.Tuple{global("torch", "per_channel_affine"), scales, zeros, aten.QPerChannelAxis(t)}, nil
}
