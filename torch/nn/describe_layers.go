package nn

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// spelled is a size as the program gave it: PyTorch prints 2 and (2, 2) apart.
type spelled string

func spell(s Size) spelled { return spelled(sizeText(s)) }

// or is the spelling, or a tuple for a layer that was made as a struct.
func (s spelled) or(sizes []int) string {
	if s == "" {
		return sizeText(sizes)
	}
	return string(s)
}

// sizeText is a size as Python writes it.
func sizeText(s Size) string {
	v := reflect.ValueOf(s)
	switch {
	case s == nil:
		return "None"
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = sizeText(v.Index(i).Interface())
		}
		if len(parts) == 1 {
			return "(" + parts[0] + ",)"
		}
		return "(" + strings.Join(parts, ", ") + ")"
	case v.CanFloat():
		return pytext.Float(v.Float())
	case v.CanInt() && v.Int() == F.Unchanged:
		return "None"
	}
	return fmt.Sprint(s)
}

// sizeOr is a size that has a default.
func sizeOr(s Size, def Size) string {
	if s == nil {
		s = def
	}
	return sizeText(s)
}

// tupleOr is a size in all n dimensions.
func tupleOr(s Size, n, def int) string { return sizeText(spreadOr("size", s, n, def)) }

func boolText(on bool) string {
	if on {
		return "True"
	}
	return "False"
}

// optional are the texts of arguments that are not the default.
func optional(given ...any) (text string) {
	for i := 0; i < len(given); i += 2 {
		if given[i].(bool) {
			text += ", " + given[i+1].(string)
		}
	}
	return text
}

func inPlace(on bool) string { return optional(on, "inplace=True") }

// alone is a text without the comma before it.
func alone(text string) string { return strings.TrimPrefix(text, ", ") }

// sizeOf is x's size in dimension d, 0 for a tensor that is not there.
func sizeOf(x torch.Tensor, d int) int {
	if !x.Defined() || x.Closed() || x.Dim() <= d {
		return 0
	}
	return x.Size(d)
}

func (l Linear) extraRepr() string {
	return linearText(sizeOf(l.Weight, 1), sizeOf(l.Weight, 0), l.Bias.Defined())
}

func linearText(in, out int, bias bool) string {
	return fmt.Sprintf("in_features=%d, out_features=%d, bias=%s", in, out, boolText(bias))
}

func (b Bilinear) extraRepr() string {
	return fmt.Sprintf("in1_features=%d, in2_features=%d, out_features=%d, bias=%s",
		sizeOf(b.Weight, 1), sizeOf(b.Weight, 2), sizeOf(b.Weight, 0), boolText(b.Bias.Defined()))
}

// convText describes a convolution; extra is the output padding of a transposed one.
func convText(in, out int, k []int, o ConvOptions, extra Size, bias bool) string {
	n := len(k)
	if list, ok := o.Stride.([]int); ok {
		n = len(list) // the weight may be gone
	}
	text := fmt.Sprintf("%d, %d, kernel_size=%s, stride=%s", in, out, sizeText(k), tupleOr(o.Stride, n, 1))
	padding, word := o.Padding.(string)
	if !word {
		padding = tupleOr(o.Padding, n, 0)
	}
	dilation, output, groups := tupleOr(o.Dilation, n, 1), tupleOr(extra, n, 0), max(o.Groups, 1)
	zeros, ones := sizeText(make([]int, n)), sizeText(slices.Repeat([]int{1}, n))
	return text + optional(padding != zeros, "padding="+padding, dilation != ones, "dilation="+dilation, output != zeros,
		"output_padding="+output,
		groups != 1, "groups="+strconv.Itoa(groups), !bias, "bias=False", o.PaddingMode != "" && o.PaddingMode != "zeros",
		"padding_mode="+o.PaddingMode)
}

// kernelOf are the sizes of a convolution's weight behind the first two.
func kernelOf(weight torch.Tensor) []int {
	if !weight.Defined() || weight.Closed() || weight.Dim() < 3 {
		return nil
	}
	return weight.Shape()[2:]
}

func (c Conv) extraRepr() string {
	in := sizeOf(c.Weight, 1) * max(c.Options.Groups, 1)
	return convText(in, sizeOf(c.Weight, 0), kernelOf(c.Weight), c.Options, nil, c.Bias.Defined())
}

func (c ConvTranspose) extraRepr() string {
	out := sizeOf(c.Weight, 1) * max(c.Options.Groups, 1)
	return convText(sizeOf(c.Weight, 0), out, kernelOf(c.Weight), asConv(c.Options), c.Options.OutputPadding, c.Bias.Defined())
}

// asConv are the options that a convolution has too.
func asConv(o ConvTransposeOptions) ConvOptions {
	return ConvOptions{Stride: o.Stride, Padding: o.Padding, Dilation: o.Dilation, Groups: o.Groups}
}

func (e Embedding) extraRepr() string {
	o := e.Options
	n := sizeOf(e.Weight, 0)
	return fmt.Sprintf("%d, %d", n, sizeOf(e.Weight, 1)) + optional(o.PaddingIdx != nil, "padding_idx="+rowText(o.PaddingIdx, n)) +
		rowNorm(o.MaxNorm, o.NormType) + optional(o.ScaleGradByFreq, "scale_grad_by_freq=True", o.Sparse, "sparse=True")
}

func (e EmbeddingBag) extraRepr() string {
	o := e.Options
	n, mode := sizeOf(e.Weight, 0), o.Mode
	if mode == "" {
		mode = "mean"
	}
	return fmt.Sprintf("%d, %d", n, sizeOf(e.Weight, 1)) + rowNorm(o.MaxNorm, o.NormType) +
		optional(o.ScaleGradByFreq, "scale_grad_by_freq=True",
			true, "mode='"+mode+"'", o.PaddingIdx != nil, "padding_idx="+rowText(o.PaddingIdx, n))
}

// rowText is the number of a row, of which negative ones count from the end.
func rowText(row *int, n int) string {
	i := or(row, 0)
	if i < 0 {
		i += n
	}
	return strconv.Itoa(i)
}

func rowNorm(most, normType *float64) string {
	return optional(most != nil, "max_norm="+pytext.Float(or(most, 0)), or(normType, 2) != 2, "norm_type="+pytext.Float(or(normType, 2)))
}

func batchNormText(channels int, eps float64, momentum *float64, affine, tracks bool) string {
	text := "None"
	if momentum != nil {
		text = pytext.Float(*momentum)
	}
	return fmt.Sprintf("%d, eps=%s, momentum=%s, affine=%s, track_running_stats=%s", channels, pytext.Float(eps), text,
		boolText(affine), boolText(tracks))
}

func (b BatchNorm) extraRepr() string {
	return batchNormText(b.Channels, b.Eps, b.Momentum, b.Weight.Defined(), b.RunningMean.Defined())
}

func (n InstanceNorm) extraRepr() string {
	return batchNormText(n.Channels, n.Eps, &n.Momentum, n.Weight.Defined(), n.RunningMean.Defined())
}

func (l LayerNorm) extraRepr() string {
	return fmt.Sprintf("%s, eps=%s, elementwise_affine=%s", sizeText(l.Shape), pytext.Float(l.Eps), boolText(l.Weight.Defined()))
}

func (r RMSNorm) extraRepr() string {
	eps := "None"
	if r.Eps != nil {
		eps = pytext.Float(*r.Eps)
	}
	return fmt.Sprintf("%s, eps=%s, elementwise_affine=%s", sizeText(r.Shape), eps, boolText(r.Weight.Defined()))
}

func (g GroupNorm) extraRepr() string {
	return fmt.Sprintf("%d, %d, eps=%s, affine=%s", g.Groups, max(g.channels, sizeOf(g.Weight, 0)), pytext.Float(g.Eps),
		boolText(g.Weight.Defined()))
}

func (l LocalResponseNorm) extraRepr() string {
	o := l.Options
	return fmt.Sprintf("%d, alpha=%s, beta=%s, k=%s", l.Size, pytext.Float(or(o.Alpha, 1e-4)), pytext.Float(or(o.Beta, 0.75)),
		pytext.Float(or(o.K, 1)))
}

func (r Recurrent) extraRepr() string {
	o := r.Options
	return fmt.Sprintf("%d, %d", r.Input, r.Hidden) + optional(o.ProjSize != 0, fmt.Sprint("proj_size=", o.ProjSize), o.NumLayers > 1,
		fmt.Sprint("num_layers=", o.NumLayers), o.NoBias, "bias=False", o.BatchFirst, "batch_first=True", o.Dropout != 0,
		"dropout="+pytext.Float(o.Dropout), o.Bidirectional, "bidirectional=True")
}

func (c Cell) extraRepr() string {
	return fmt.Sprintf("%d, %d", sizeOf(c.WeightIH, 1), sizeOf(c.WeightHH, 1)) + optional(!c.BiasIH.Defined(), "bias=False")
}

func (r RNNCell) extraRepr() string {
	return r.Cell.extraRepr() + optional(r.Nonlinearity == "relu", "nonlinearity=relu")
}

// partName tells that PyTorch's projection is of a class of its own.
func (a MultiheadAttention) partName(part string) string {
	if part == "out_proj" {
		return "NonDynamicallyQuantizableLinear"
	}
	return ""
}

func (a MultiheadAttention) extraRepr() string         { return "" }
func (a AdaptiveLogSoftmaxWithLoss) extraRepr() string { return "" }

func (d Dropout) extraRepr() string {
	inplace := "False"
	if d.InPlace {
		inplace = "True"
	}
	return "p=" + pytext.Float(d.P) + ", inplace=" + inplace
}

func (p PReLU) extraRepr() string { return fmt.Sprint("num_parameters=", sizeOf(p.Weight, 0)) }

func (r RReLU) extraRepr() string {
	return "lower=" + pytext.Float(r.Lower) + ", upper=" + pytext.Float(r.Upper) + inPlace(r.InPlace)
}

func (p Pad) extraRepr() string { return sizeText(p.Padding) }

func (p ConstantPad1d) extraRepr() string { return constantText(p.Pad) }
func (p ConstantPad2d) extraRepr() string { return constantText(p.Pad) }
func (p ConstantPad3d) extraRepr() string { return constantText(p.Pad) }

func constantText(p Pad) string {
	return "padding=" + sizeText(p.Padding) + ", value=" + pytext.Float(p.Value)
}

func (p MaxPool) extraRepr() string {
	o, window := p.Options, p.or(p.Window)
	stride := window
	if o.Stride != nil {
		stride = sizeText(o.Stride)
	}
	return fmt.Sprintf("kernel_size=%s, stride=%s, padding=%s, dilation=%s, ceil_mode=%s", window, stride, sizeOr(o.Padding, 0),
		sizeOr(o.Dilation, 1), boolText(o.CeilMode))
}

func (p MaxUnpool) extraRepr() string {
	n := len(p.Window)
	stride := p.Window
	if p.Options.Stride != nil {
		stride = F.Spread("stride", p.Options.Stride, n)
	}
	return fmt.Sprintf("kernel_size=%s, stride=%s, padding=%s", sizeText(p.Window), sizeText(stride), tupleOr(p.Options.Padding, n, 0))
}

func (p AvgPool) extraRepr() string {
	o, window := p.Options, p.or(p.Window)
	padding := sizeOr(o.Padding, 0)
	if len(p.Window) == 1 { // where PyTorch writes tuples
		window, padding = sizeText(p.Window), tupleOr(o.Padding, 1, 0)
	}
	stride := window
	if o.Stride != nil {
		if stride = sizeText(o.Stride); len(p.Window) == 1 {
			stride = tupleOr(o.Stride, 1, 0)
		}
	}
	return fmt.Sprintf("kernel_size=%s, stride=%s, padding=%s", window, stride, padding)
}

func (p LPPool) extraRepr() string {
	return fmt.Sprintf("norm_type=%s, kernel_size=%s, stride=%s, ceil_mode=%s", pytext.Float(p.P), p.or(p.Window), sizeText(p.Options.Stride),
		boolText(p.Options.CeilMode))
}

func (p AdaptiveMaxPool) extraRepr() string { return "output_size=" + p.or(p.Size) }
func (p AdaptiveAvgPool) extraRepr() string { return "output_size=" + p.or(p.Size) }

func (p PixelShuffle) extraRepr() string   { return fmt.Sprint("upscale_factor=", p.UpscaleFactor) }
func (p PixelUnshuffle) extraRepr() string { return fmt.Sprint("downscale_factor=", p.DownscaleFactor) }
func (c ChannelShuffle) extraRepr() string { return fmt.Sprint("groups=", c.Groups) }

func (u Upsample) extraRepr() string { return resizeText(u.Size, u.ScaleFactor, u.Mode) }

func (u UpsamplingNearest2d) extraRepr() string {
	return resizeText(u.Size, u.ScaleFactor, "nearest")
}

func (u UpsamplingBilinear2d) extraRepr() string {
	return resizeText(u.Size, u.ScaleFactor, "bilinear")
}

func resizeText(size Size, factor F.Factor, mode string) string {
	if mode == "" {
		mode = "nearest"
	}
	text := "size=" + sizeText(size)
	if factor != nil {
		text = "scale_factor=" + factorText(factor)
	}
	return text + ", mode='" + mode + "'"
}

// factorText is a factor as Python writes it: always a float.
func factorText(factor F.Factor) string {
	if whole, ok := factor.(int); ok {
		factor = float64(whole)
	}
	return sizeText(factor)
}

func (u Unfold) extraRepr() string {
	return "kernel_size=" + sizeText(u.KernelSize) + unfoldText(u.Options)
}

func (f Fold) extraRepr() string {
	return "output_size=" + sizeText(f.OutputSize) + ", kernel_size=" + sizeText(f.KernelSize) + unfoldText(f.Options)
}

func unfoldText(o UnfoldOptions) string {
	return ", dilation=" + sizeOr(o.Dilation, 1) + ", padding=" + sizeOr(o.Padding, 0) + ", stride=" + sizeOr(o.Stride, 1)
}

func (f Flatten) extraRepr() string {
	return fmt.Sprintf("start_dim=%d, end_dim=%d", or(f.StartDim, 1), or(f.EndDim, -1))
}

func (u Unflatten) extraRepr() string {
	return fmt.Sprintf("dim=%d, unflattened_size=%s", u.Dim, sizeText(u.UnflattenedSize))
}

func (t TripletMarginWithDistanceLoss) extraRepr() string {
	if t.DistanceFunction == nil {
		return "\n(distance_function): PairwiseDistance()" // PyTorch's is a module, on a line of its own
	}
	return ""
}

func (c CosineSimilarity) extraRepr() string { return "" }
func (p PairwiseDistance) extraRepr() string { return "" }

func floatText(v *float64, def float64) string { return pytext.Float(or(v, def)) }

func (r ReLU) extraRepr() string  { return alone(inPlace(r.InPlace)) }
func (r ReLU6) extraRepr() string { return alone(inPlace(r.InPlace)) }
func (s SiLU) extraRepr() string  { return alone(inPlace(s.InPlace)) }
func (m Mish) extraRepr() string  { return alone(inPlace(m.InPlace)) }
func (s SELU) extraRepr() string  { return alone(inPlace(s.InPlace)) }

func (g GELU) extraRepr() string {
	mode := g.Approximate
	if mode == "" {
		mode = "none"
	}
	return "approximate='" + mode + "'"
}

func (l LeakyReLU) extraRepr() string {
	return "negative_slope=" + floatText(l.NegativeSlope, 0.01) + inPlace(l.InPlace)
}

func (e ELU) extraRepr() string        { return "alpha=" + floatText(e.Alpha, 1) + inPlace(e.InPlace) }
func (c CELU) extraRepr() string       { return "alpha=" + floatText(c.Alpha, 1) + inPlace(c.InPlace) }
func (g GLU) extraRepr() string        { return fmt.Sprint("dim=", or(g.Dim, -1)) }
func (h Hardshrink) extraRepr() string { return floatText(h.Lambda, 0.5) }
func (s Softshrink) extraRepr() string { return floatText(s.Lambda, 0.5) }
func (s Softmax) extraRepr() string    { return fmt.Sprint("dim=", s.Dim) }
func (s Softmin) extraRepr() string    { return fmt.Sprint("dim=", s.Dim) }
func (s LogSoftmax) extraRepr() string { return fmt.Sprint("dim=", s.Dim) }

func (h Hardtanh) extraRepr() string {
	return "min_val=" + floatText(h.MinVal, -1) + ", max_val=" + floatText(h.MaxVal, 1) + inPlace(h.InPlace)
}

func (t Threshold) extraRepr() string {
	return "threshold=" + pytext.Float(t.Threshold) + ", value=" + pytext.Float(t.Value) + inPlace(t.InPlace)
}

func (s Softplus) extraRepr() string {
	return "beta=" + floatText(s.Beta, 1) + ", threshold=" + floatText(s.Threshold, 20)
}
