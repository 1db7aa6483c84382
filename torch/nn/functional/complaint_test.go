package functional_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func ones(shape ...int) torch.Tensor { return torch.Ones(shape...) }

func zeros(shape ...int) torch.Tensor { return torch.TensorOptions{DType: torch.Int64}.Zeros(shape...) }

// attend is multi-head attention whose arguments are right but for the change.
func attend(query, key, value torch.Tensor, embed, heads int, change func(o *mha)) {
	o := mha{InProjWeight: ones(18, 6), OutProjWeight: ones(6, 6)}
	change(&o)
	F.MultiHeadAttentionForward(query, key, value, embed, heads, o)
}

func attendAll(change func(o *mha)) {
	attend(ones(4, 2, 6), ones(4, 2, 6), ones(4, 2, 6), 6, 2, change)
}

func attendSeparately(change func(o *mha)) {
	attendAll(func(o *mha) {
		o.UseSeparateProjWeight, o.InProjWeight = true, none
		o.QProjWeight, o.KProjWeight, o.VProjWeight = ones(6, 6), ones(6, 6), ones(6, 6)
		change(o)
	})
}

func bag(x torch.Tensor, o F.EmbeddingBagOptions) { F.EmbeddingBag(x, ones(5, 7), o) }

func interpolate(x torch.Tensor, o F.InterpolateOptions) { F.Interpolate(x, o) }

// complaints are testdata/complaint.py's.
var complaints = map[string]func(){
	"glu":                        func() { F.GLU(torch.FromValue(float32(1)), -1) },
	"hardtanh":                   func() { F.Hardtanh(ones(7), F.HardtanhOptions{MinVal: new(1.0), MaxVal: new(-1.0)}) },
	"dropout":                    func() { F.Dropout(ones(7), -1, true) },
	"alpha_dropout":              func() { F.AlphaDropout(ones(7), 1.5, true) },
	"dropout1d":                  func() { F.Dropout1d(ones(7), 2, true) },
	"dropout1d dims":             func() { F.Dropout1d(ones(2, 4, 6, 6), 0.5, true) },
	"dropout2d":                  func() { F.Dropout2d(ones(2, 4, 6, 6), 1.0000001, true) },
	"dropout3d":                  func() { F.Dropout3d(ones(2, 4, 6, 6), 1e16, true) },
	"feature_alpha_dropout":      func() { F.FeatureAlphaDropout(ones(2, 4, 6, 6), -1e-5, true) },
	"embedding":                  func() { F.Embedding(zeros(4), ones(5, 7), F.EmbeddingOptions{PaddingIdx: new(5)}) },
	"embedding below":            func() { F.Embedding(zeros(4), ones(5, 7), F.EmbeddingOptions{PaddingIdx: new(-6)}) },
	"embedding_bag weights":      func() { bag(zeros(4), F.EmbeddingBagOptions{Offsets: zeros(4), PerSampleWeights: ones(3)}) },
	"embedding_bag weight":       func() { F.EmbeddingBag(zeros(4), ones(3)) },
	"embedding_bag offsets":      func() { bag(zeros(2, 2), F.EmbeddingBagOptions{Offsets: zeros(4)}) },
	"embedding_bag no offsets":   func() { bag(zeros(4), F.EmbeddingBagOptions{}) },
	"embedding_bag offsets dims": func() { bag(zeros(4), F.EmbeddingBagOptions{Offsets: zeros(2, 2)}) },
	"embedding_bag input":        func() { bag(zeros(2, 2, 1), F.EmbeddingBagOptions{}) },
	"embedding_bag mode":         func() { bag(zeros(4), F.EmbeddingBagOptions{Offsets: zeros(4), Mode: "median"}) },
	"embedding_bag max scale": func() {
		bag(zeros(4), F.EmbeddingBagOptions{Offsets: zeros(4), Mode: "max", ScaleGradByFreq: true})
	},
	"embedding_bag max sparse":   func() { bag(zeros(4), F.EmbeddingBagOptions{Offsets: zeros(4), Mode: "max", Sparse: true}) },
	"embedding_bag mean weights": func() { bag(zeros(4), F.EmbeddingBagOptions{Offsets: zeros(4), PerSampleWeights: ones(4)}) },
	"embedding_bag first offset": func() { bag(zeros(4), F.EmbeddingBagOptions{Offsets: zeros(4).AddScalar(1)}) },
	"batch_norm":                 func() { F.BatchNorm(ones(1, 7), F.BatchNormOptions{Training: true}) },
	"batch_norm 4d":              func() { F.BatchNorm(ones(1, 3, 1, 1), F.BatchNormOptions{Training: true}) },
	"instance_norm":              func() { F.InstanceNorm(ones(2, 3, 1)) },
	"group_norm":                 func() { F.GroupNorm(ones(7), 1) },
	"group_norm alone":           func() { F.GroupNorm(ones(1, 2, 1), 2) },
	"local_response_norm":        func() { F.LocalResponseNorm(ones(4, 7), 2) },
	"adaptive_avg_pool2d":        func() { F.AdaptiveAvgPool2d(ones(4, 7), []int{2, 2}) },
	"adaptive_avg_pool3d":        func() { F.AdaptiveAvgPool3d(ones(2, 4, 6), []int{2, 2, 2}) },
	"adaptive_max_pool2d":        func() { F.AdaptiveMaxPool2d(ones(7), []int{2, 2}) },
	"adaptive_max_pool3d":        func() { F.AdaptiveMaxPool3d(ones(7), []int{2, 2, 2}) },
	"fractional_max_pool2d":      func() { F.FractionalMaxPool2d(ones(2, 4, 6, 6), 2) },
	"fractional_max_pool3d":      func() { F.FractionalMaxPool3d(ones(2, 2, 4, 4, 4), 2) },
	"max_unpool1d": func() {
		F.MaxUnpool1d(ones(2, 4, 6), zeros(2, 4, 6), 2, F.MaxUnpoolOptions{OutputSize: []int{1, 2, 3, 4}})
	},
	"max_unpool2d": func() {
		F.MaxUnpool2d(ones(2, 4, 6, 6), zeros(2, 4, 6, 6), 2, F.MaxUnpoolOptions{OutputSize: []int{12, 14}})
	},
	"max_unpool3d": func() {
		F.MaxUnpool3d(ones(2, 2, 4, 4, 4), zeros(2, 2, 4, 4, 4), 2, F.MaxUnpoolOptions{OutputSize: []int{2, 2, 8, 8, 6}})
	},
	"interpolate nothing":      func() { F.Interpolate(ones(2, 4, 6, 6)) },
	"interpolate both":         func() { interpolate(ones(2, 4, 6, 6), F.InterpolateOptions{Size: 2, ScaleFactor: 2}) },
	"interpolate corners":      func() { interpolate(ones(2, 4, 6, 6), F.InterpolateOptions{Size: 2, AlignCorners: new(false)}) },
	"interpolate size":         func() { interpolate(ones(2, 4, 6, 6), F.InterpolateOptions{Size: []int{2, 2, 2}}) },
	"interpolate factor":       func() { interpolate(ones(2, 4, 6, 6), F.InterpolateOptions{ScaleFactor: []float64{2}}) },
	"interpolate recompute":    func() { interpolate(ones(2, 4, 6, 6), F.InterpolateOptions{Size: 2, RecomputeScaleFactor: true}) },
	"interpolate antialias":    func() { interpolate(ones(2, 4, 6, 6), F.InterpolateOptions{Size: 2, Antialias: true}) },
	"interpolate 3d bilinear":  func() { interpolate(ones(2, 4, 6), F.InterpolateOptions{Size: 2, Mode: "bilinear"}) },
	"interpolate 3d trilinear": func() { interpolate(ones(2, 4, 6), F.InterpolateOptions{Size: 2, Mode: "trilinear"}) },
	"interpolate 4d linear":    func() { interpolate(ones(2, 4, 6, 6), F.InterpolateOptions{Size: 2, Mode: "linear"}) },
	"interpolate 4d trilinear": func() { interpolate(ones(2, 4, 6, 6), F.InterpolateOptions{Size: 2, Mode: "trilinear"}) },
	"interpolate 5d linear":    func() { interpolate(ones(2, 2, 4, 4, 4), F.InterpolateOptions{Size: 2, Mode: "linear"}) },
	"interpolate 5d bilinear":  func() { interpolate(ones(2, 2, 4, 4, 4), F.InterpolateOptions{Size: 2, Mode: "bilinear"}) },
	"interpolate 3d bicubic":   func() { interpolate(ones(2, 4, 6), F.InterpolateOptions{Size: 2, Mode: "bicubic"}) },
	"interpolate 2d":           func() { interpolate(ones(4, 7), F.InterpolateOptions{Size: 2}) },
	"interpolate mode":         func() { interpolate(ones(2, 4, 6, 6), F.InterpolateOptions{Size: 2, Mode: "cubist"}) },
	"grid_sample mode":         func() { F.GridSample(ones(2, 4, 6, 6), ones(2, 4, 6, 6), F.GridSampleOptions{Mode: "cubist"}) },
	"grid_sample padding": func() {
		F.GridSample(ones(2, 4, 6, 6), ones(2, 4, 6, 6),
			F.GridSampleOptions{PaddingMode: "nothing"})
	},
	"affine_grid type":                 func() { F.AffineGrid(zeros(4), []int{1, 1, 2, 2}) },
	"affine_grid 2d":                   func() { F.AffineGrid(ones(4, 7), []int{1, 1, 2, 2}) },
	"affine_grid 3d":                   func() { F.AffineGrid(ones(1, 2, 3), []int{1, 1, 2, 2, 2}) },
	"affine_grid dims":                 func() { F.AffineGrid(ones(1, 2, 3), []int{1, 1, 2}) },
	"affine_grid size":                 func() { F.AffineGrid(ones(1, 2, 3), []int{1, 1, 0, 2}) },
	"mse_loss weight":                  func() { F.MSELoss(ones(4, 7), ones(4, 7), F.WeightedLossOptions{Weight: ones(7)}) },
	"l1_loss weight":                   func() { F.L1Loss(ones(4, 7), ones(4, 7), F.WeightedLossOptions{Weight: ones(7)}) },
	"huber_loss weight":                func() { F.HuberLoss(ones(4, 7), ones(4, 7), F.HuberLossOptions{Weight: ones(7)}) },
	"binary_cross_entropy":             func() { F.BinaryCrossEntropy(ones(4, 7), ones(7)) },
	"binary_cross_entropy_with_logits": func() { F.BinaryCrossEntropyWithLogits(ones(4, 7), ones(7)) },
	"margin_ranking_loss":              func() { F.MarginRankingLoss(ones(4, 7), ones(7), ones(1)) },
	"multi_margin_loss p":              func() { F.MultiMarginLoss(ones(4, 7), zeros(4), F.MultiMarginLossOptions{P: 3}) },
	"multi_margin_loss weight":         func() { F.MultiMarginLoss(ones(4, 7), zeros(4), F.MultiMarginLossOptions{Weight: ones(4, 7)}) },
	"triplet_margin_loss": func() {
		F.TripletMarginLoss(ones(4, 7), ones(4, 7), ones(4, 7), F.TripletMarginLossOptions{Margin: -1})
	},
	"triplet_margin_with_distance_loss": func() {
		F.TripletMarginWithDistanceLoss(ones(4, 7), ones(4, 7), ones(4, 7), F.TripletMarginWithDistanceLossOptions{Margin: -0.5})
	},
	"triplet_margin_with_distance_loss dims": func() { F.TripletMarginWithDistanceLoss(ones(4, 7), ones(7), ones(2, 4, 6, 6)) },
	"gaussian_nll_loss negative":             func() { F.GaussianNLLLoss(ones(4, 7), ones(4, 7), ones(4, 7).Neg()) },
	"gaussian_nll_loss size":                 func() { F.GaussianNLLLoss(ones(4, 7), ones(4, 7), ones(4, 3)) },
	"mha query":                              func() { attend(ones(7), ones(4, 2, 6), ones(4, 2, 6), 6, 2, func(*mha) {}) },
	"mha key":                                func() { attend(ones(4, 2, 6), ones(4, 7), ones(4, 2, 6), 6, 2, func(*mha) {}) },
	"mha padding dims":                       func() { attendAll(func(o *mha) { o.KeyPaddingMask = ones(7) }) },
	"mha mask dims":                          func() { attendAll(func(o *mha) { o.AttnMask = ones(7) }) },
	"mha single key":                         func() { attend(ones(4, 7), ones(4, 2, 6), ones(4, 2, 6), 6, 2, func(*mha) {}) },
	"mha single padding dims": func() {
		attend(ones(4, 6), ones(4, 6), ones(4, 6), 6, 2, func(o *mha) { o.KeyPaddingMask = ones(4, 7) })
	},
	"mha single mask dims": func() { attend(ones(4, 6), ones(4, 6), ones(4, 6), 6, 2, func(o *mha) { o.AttnMask = ones(7) }) },
	"mha single mask": func() {
		attend(ones(4, 6), ones(4, 6), ones(4, 6), 6, 2, func(o *mha) { o.AttnMask = ones(1, 4, 4) })
	},
	"mha padding type":  func() { attendAll(func(o *mha) { o.KeyPaddingMask = zeros(2, 4) }) },
	"mha mask type":     func() { attendAll(func(o *mha) { o.AttnMask = zeros(4, 4) }) },
	"mha causal":        func() { attendAll(func(o *mha) { o.IsCausal = true }) },
	"mha embed":         func() { attend(ones(4, 2, 6), ones(4, 2, 6), ones(4, 2, 6), 8, 2, func(*mha) {}) },
	"mha heads":         func() { attend(ones(4, 2, 6), ones(4, 2, 6), ones(4, 2, 6), 6, 4, func(*mha) {}) },
	"mha key and value": func() { attend(ones(4, 2, 6), ones(4, 2, 6), ones(4, 2, 3), 6, 2, func(*mha) {}) },
	"mha separate key and value": func() {
		attend(ones(4, 2, 6), ones(4, 2, 6), ones(3, 2, 6), 6, 2, func(o *mha) { o.UseSeparateProjWeight = true })
	},
	"mha weight":         func() { attendAll(func(o *mha) { o.InProjWeight = none }) },
	"mha q weight":       func() { attendSeparately(func(o *mha) { o.QProjWeight = none }) },
	"mha k weight":       func() { attendSeparately(func(o *mha) { o.KProjWeight = none }) },
	"mha v weight":       func() { attendSeparately(func(o *mha) { o.VProjWeight = none }) },
	"mha q weight shape": func() { attendSeparately(func(o *mha) { o.QProjWeight = ones(4, 7) }) },
	"mha k weight shape": func() { attendSeparately(func(o *mha) { o.KProjWeight = ones(4, 7) }) },
	"mha v weight shape": func() { attendSeparately(func(o *mha) { o.VProjWeight = ones(4, 7) }) },
	"mha bias shape":     func() { attendSeparately(func(o *mha) { o.InProjBias = ones(12) }) },
	"mha mask shape":     func() { attendAll(func(o *mha) { o.AttnMask = ones(4, 7) }) },
	"mha mask shape 3d":  func() { attendAll(func(o *mha) { o.AttnMask = ones(3, 4, 4) }) },
	"mha bias_k":         func() { attendAll(func(o *mha) { o.BiasK = ones(1, 1, 6) }) },
	"mha bias_v":         func() { attendAll(func(o *mha) { o.BiasV = ones(1, 1, 6) }) },
	"mha bias static": func() {
		attendAll(func(o *mha) { o.BiasK, o.BiasV, o.StaticK = ones(1, 1, 6), ones(1, 1, 6), ones(4, 2, 6) })
	},
	"mha bias static v": func() {
		attendAll(func(o *mha) { o.BiasK, o.BiasV, o.StaticV = ones(1, 1, 6), ones(1, 1, 6), ones(4, 2, 6) })
	},
	"mha static_k":       func() { attendAll(func(o *mha) { o.StaticK = ones(3, 4, 3) }) },
	"mha static_v":       func() { attendAll(func(o *mha) { o.StaticV = ones(4, 4, 2) }) },
	"mha padding batch":  func() { attendAll(func(o *mha) { o.KeyPaddingMask = ones(3, 4) }) },
	"mha padding length": func() { attendAll(func(o *mha) { o.KeyPaddingMask = ones(2, 5) }) },
}

var kinds = map[string]torch.Kind{
	"ValueError": torch.KindValue, "RuntimeError": torch.KindGeneric, "AssertionError": torch.KindGeneric,
	"NotImplementedError": torch.KindNotImplemented, "TypeError": torch.KindType,
}

// Arguments that Python does not check itself.
func TestComplainsByItself(t *testing.T) {
	torchtest.NoLeaks(t)
	image := []int{1, 1, 4, 4}
	for want, call := range map[string]func(){
		"torch: max_pool2d stride: expected an int or a []int of length 2, got string(2)": func() {
			F.MaxPool2d(ones(image...), 2, F.MaxPoolOptions{Stride: "2"})
		},
		"torch: avg_pool2d stride: expected an int or a []int of length 2, got []int([1])": func() {
			F.AvgPool2d(ones(image...), 2, F.AvgPoolOptions{Stride: []int{1}})
		},
		"torch: interpolate scale factor: expected a float64 or a []float64 of length 2, got string(2)": func() {
			interpolate(ones(image...), F.InterpolateOptions{ScaleFactor: "2"})
		},
		"torch: lp_pool2d: norm_type must be a non-zero value, but got 0.0": func() {
			F.LPPool2d(ones(image...), 0, 2)
		},
		"torch: batch_norm: batch_norm eps must be positive, but got -1.0": func() {
			F.BatchNorm(ones(2, 3), F.BatchNormOptions{Training: true, Eps: new(-1.0)})
		},
		"torch: binary_cross_entropy: The size of tensor a (7) must match the size of tensor b (3) at non-singleton dimension 1": func() {
			F.BinaryCrossEntropy(ones(4, 7), ones(4, 7), F.BCEOptions{Weight: ones(3)})
		},
		"torch: ctc_loss.IntList: Expected targets to be in the range [0, 5), but got label 99 (with float32[6, 1, 5], int64[1, 3])": func() {
			F.CTCLoss(ones(6, 1, 5), torch.FromSlice([]int{1, 99, -1}, 1, 3), []int{6}, []int{2})
		},
		"torch: ctc_loss.Tensor: Expected targets to be in the range [0, 5), but got label -1 " +
			"(with float32[6, 2, 5], int64[3], int64[2], int64[2])": func() {
			F.CTCLossTensor(ones(6, 2, 5), torch.FromSlice([]int{1, 2, -1}), torch.FromSlice([]int{6, 6}), torch.FromSlice([]int{1, 2}))
		},
		"torch: embedding_bag.padding_idx: offsets have to ascend, but offsets[2] is 1 after 3 (with float32[5, 7], int64[4], int64[3])": func() {
			bag(zeros(4), F.EmbeddingBagOptions{Offsets: torch.FromSlice([]int{0, 3, 1})})
		},
		"torch: embedding_bag.padding_idx: offsets have to ascend, but offsets[1] is -1 after 0 " +
			"(with float32[5, 7], int64[4], int32[2])": func() {
			bag(zeros(4), F.EmbeddingBagOptions{Offsets: torch.FromSlice([]int32{0, -1})})
		},
	} {
		torch.Scope(func() { require.EqualError(t, torch.Try(call), want) })
	}
}

func TestComplainsAsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		want := peer.Run(t, "testdata/complaint.py", nil)
		for name, call := range complaints {
			t.Run(name, func(t *testing.T) {
				require.Contains(t, want, name)
				class, text, _ := strings.Cut(string(want[name].Bytes()), ": ")
				delete(want, name)
				err, ok := torch.Try(func() { torch.Scope(call) }).(*torch.Error)
				require.True(t, ok, "no error; Python has %s: %s", class, text)
				require.Equal(t, firstLine(text), firstLine(err.Msg))
				require.Equal(t, kinds[class], err.Kind, class)
			})
		}
		require.Empty(t, slices.Collect(maps.Keys(want)), "complaints that Python alone has")
	})
}

// firstLine leaves out what libtorch prints of tensors.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
