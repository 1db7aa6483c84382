package export_test

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/models"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// What computes a layer in eight bits, by kernels of ours or oneDNN's, and what adds something to it.
var (
	int8Layer = regexp.MustCompile(`torch\.ops\.(onednn\.q|libtorchgo\.(direct|depthwise|linear)_uint8)`)
	int8Sum   = regexp.MustCompile(`onednn\.qconv2d_pointwise\.binary|libtorchgo\.direct_uint8\.default\([^)]*, \w+_uint8, `)
)

// int8Cases are models with how many of their layers are computed in eight bits, and how many of those add something: by oneDNN, which
// writes to what it adds, and by kernels of ours.
var int8Cases = []struct {
	name   string
	model  func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor
	shape  []int
	layers int
	sums   [2]int
}{
	{"activations", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := F.ReLU6(conv(x, w["k"], 1))
		y = F.Hardswish(conv(y, w["k"], 1))
		y = F.SiLU(conv(y, w["k"], 1))
		return F.GELU(conv(y, w["k"], 1)) // oneDNN does not know it
	}, []int{2, 8, 9, 9}, 4, [2]int{0, 0}},
	{"groups", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := F.Conv2d(x, w["deep"], w["b"], F.ConvOptions{Padding: 1, Groups: 8}).ReLU()
		return F.Conv2d(y, w["pairs"], w["b"], F.ConvOptions{Stride: 2, Dilation: 2, Groups: 4})
	}, []int{2, 8, 9, 9}, 2, [2]int{0, 0}},
	{"sums", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := F.MaxPool2d(conv(x, w["k"], 1).ReLU(), 3, F.MaxPoolOptions{Stride: 2, Padding: 1})
		y = conv(conv(y, w["k"], 1).ReLU(), w["k"], 1).Add(y).ReLU()
		return conv(conv(y, w["k"], 1), w["k"], 1).Add(conv(y, w["k2"], 1)).Mean(2, 3)
	}, []int{2, 8, 16, 16}, 6, [2]int{2, 2}},
	{"readers", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := conv(x, w["k"], 1).ReLU()
		z := conv(y, w["k"], 1).Add(y) // what is read later is not written to
		pooled := F.MaxPool2d(y, 3, F.MaxPoolOptions{Stride: 1, Padding: 1})
		return pooled.Mul(z).Add(conv(pooled, w["k"], 1))
	}, []int{2, 8, 9, 9}, 3, [2]int{0, 1}},
	{"largest", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor { // would not fit in sixteen bits
		return conv(conv(x.Abs().ClampMin(3), w["ones"], 1), w["ones"], 1)
	}, []int{2, 8, 9, 9}, 2, [2]int{0, 0}},
	{"input and sum", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := conv(x, w["k"], 1)
		return conv(y, w["k"], 1).Add(y)
	}, []int{2, 8, 9, 9}, 2, [2]int{0, 1}},
	{"dead channels", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		return conv(x, w["k"].Mul(torch.Arange(8).GtScalar(3).To(torch.Float32).Reshape(8, 1, 1, 1)), 1)
	}, []int{2, 8, 9, 9}, 1, [2]int{0, 0}},
	{"linear", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		return F.Linear(F.GELU(F.Linear(x, w["wide"])), w["wide"].T())
	}, []int{4, 128, 64}, 2, [2]int{0, 0}},
}

// conv is a convolution that keeps the sizes of images.
func conv(x, w torch.Tensor, padding int) torch.Tensor {
	return F.Conv2d(x, w, torch.Tensor{}, F.ConvOptions{Padding: padding})
}

// What is computed in eight bits is close to what is not, in all forms of layers.
func TestInt8(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	t.Run("oneDNN", func(t *testing.T) {
		defer export.WithoutWholeKernels()()
		testInt8(t, 0)
	})
	t.Run("ours", func(t *testing.T) {
		if !export.WholeKernels() {
			t.Skip("this processor has no kernels of ours")
		}
		testInt8(t, 1)
	})
}

func testInt8(t *testing.T, ours int) {
	for _, c := range int8Cases {
		t.Run(c.name, func(t *testing.T) {
			torch.Scope(func() {
				torch.ManualSeed(0)
				w := map[string]torch.Tensor{"k": torch.RandN(8, 8, 3, 3), "k2": torch.RandN(8, 8, 3, 3),
					"b": torch.RandN(8), "deep": torch.RandN(8, 1, 3, 3),
					"pairs": torch.RandN(8, 2, 3, 3), "ones": torch.Ones(8, 8, 3, 3), "wide": torch.RandN(256, 64)}
				x := torch.RandN(c.shape...)
				p, err := export.Export(func(x torch.Tensor) torch.Tensor { return c.model(x, w) }, []any{x},
					export.ExportOptions{DynamicShapes: map[string]map[int]export.Dim{"x": {0: {Name: "n"}}}})
				require.NoError(t, err)
				defer p.Close()
				ranges, err := export.Calibrate(p, slices.Values([][]any{{x}}))
				require.NoError(t, err)
				q := compiled(t, p, export.CompileOptions{Int8: ranges})
				text := q.String()
				require.Equal(t, c.layers, len(int8Layer.FindAllString(text, -1)), text)
				require.Equal(t, c.sums[ours], len(int8Sum.FindAllString(text, -1)), text)
				torch.NoGrad(func() {
					for _, rows := range []int{1, 2} {
						part := x.Narrow(0, 0, rows)
						want, err := p.Run(part)
						require.NoError(t, err)
						got, err := q.Run(part)
						require.NoError(t, err)
						require.Equal(t, want[0].Stride(), got[0].Stride())
						requireNear(t, want, got, 4e-2)
					}
				})
			})
		})
	}
}

// Between layers images stay in eight bits: means of them, channels times a gate, sums that are read twice; and small linear layers are in
// eight bits, too.
func TestInt8Gates(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	if !export.WholeKernels() {
		t.Skip("this processor has no kernels of ours")
	}
	torch.Scope(func() {
		torch.ManualSeed(0)
		// Numbers stay as large as they are, so that gates are neither open nor closed, which a little more or less would turn round.
		weight := func(shape ...int) torch.Tensor {
			w := torch.RandN(shape...)
			return w.DivScalar(math.Sqrt(float64(w.NumEl() / w.Size(0))))
		}
		k, deep, one, last := weight(32, 32, 1, 1), weight(32, 1, 5, 5), weight(32, 32, 1, 1), weight(600, 32)
		block := func(x torch.Tensor) torch.Tensor {
			y := F.Hardswish(F.Conv2d(F.Conv2d(x, k, torch.Tensor{}), deep, torch.Tensor{}, F.ConvOptions{Padding: 2, Groups: 32}))
			gate := F.Hardsigmoid(F.Conv2d(F.AdaptiveAvgPool2d(y, 1), one, torch.Tensor{}))
			return F.Conv2d(gate.Mul(y), k, torch.Tensor{}).Add(x)
		}
		x := torch.RandN(3, 32, 11, 9)
		p, err := export.Export(func(x torch.Tensor) torch.Tensor {
			y := block(block(F.Conv2d(x, k, torch.Tensor{}))).ReLU()
			return F.Linear(F.Dropout(F.AdaptiveAvgPool2d(y, 1).Flatten(1, -1), 0.5, false), last)
		}, []any{x})
		require.NoError(t, err)
		defer p.Close()
		ranges, err := export.Calibrate(p, slices.Values([][]any{{x}}), export.CalibrateOptions{Error: 1})
		require.NoError(t, err)
		q := compiled(t, p, export.CompileOptions{Int8: ranges})
		text := q.String()
		for op, n := range map[string]int{"quantize_uint8": 4, "means_uint8": 2, "scale_uint8": 2, "depthwise_uint8": 2, "direct_uint8": 7,
			"linear_uint8":  1,
			"'hardsigmoid'": 2, "'hardswish'": 2, "libtorchgo.means.default": 1, "torch.ops.aten.mul": 0, "torch.ops.aten.add": 0, "dropout": 0} {
			require.Equal(t, n, strings.Count(text, op), op)
		}
		require.Len(t, int8Sum.FindAllString(text, -1), 2)
		torch.NoGrad(func() {
			want, err := p.Run(x)
			require.NoError(t, err)
			got, err := q.Run(x)
			require.NoError(t, err)
			requireNear(t, want, got, 2e-2)
		})
	})
}

// A residual network is in eight bits from the first convolution to the last.
func TestInt8ResNet(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.Scope(func() {
		net, x := models.ResNet18(10), torch.RandN(2, 3, 64, 64)
		nn.Eval(net)
		p, err := export.Export(net, []any{x})
		require.NoError(t, err)
		defer p.Close()
		ranges, err := export.Calibrate(p, slices.Values([][]any{{x}, {x.Neg()}}))
		require.NoError(t, err)
		q := compiled(t, p, export.CompileOptions{Int8: ranges})
		text := q.String()
		require.Len(t, int8Layer.FindAllString(text, -1), 20, text)
		require.Len(t, int8Sum.FindAllString(text, -1), 8, text)
		for op, n := range map[string]int{"quantized.max_pool2d": 1, "quantize_": 1, "aten.conv2d": 0} {
			require.Equal(t, n, strings.Count(text, op), op)
		}
		torch.NoGrad(func() {
			want, err := p.Run(x)
			require.NoError(t, err)
			got, err := q.Run(x)
			require.NoError(t, err)
			requireNear(t, want, got, 5e-2)
		})
	})
}

// A layer whose rounding spoils the results is left in float32, the others are not; and what rounding of weights adds on average is
// taken off again.
func TestInt8Leaves(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.Scope(func() {
		torch.ManualSeed(0)
		x, k := torch.RandN(4, 8, 9, 9).Abs(), torch.RandN(8, 8, 3, 3)
		uneven := torch.FromSlice([]float32{1000, 1, 1, 1, 1, 1, 1, 1}, 8, 1, 1)
		p, err := export.Export(func(x torch.Tensor) torch.Tensor {
			y := conv(x, k, 0).ReLU()
			return conv(conv(y.Mul(uneven), k.Div(uneven), 0), k, 0)
		}, []any{x})
		require.NoError(t, err)
		defer p.Close()
		samples := slices.Values([][]any{{x}})
		for floats, most := range map[string]float64{"[]": 1, "[conv2d_1]": 0, "[conv2d conv2d_1 conv2d_2]": 1e-9} {
			ranges, err := export.Calibrate(p, samples, export.CalibrateOptions{Error: most})
			require.NoError(t, err)
			require.Equal(t, floats, fmt.Sprint(ranges.Floats()))
			text := compiled(t, p, export.CompileOptions{Int8: ranges}).String()
			require.Equal(t, 3-len(ranges.Floats()), len(int8Layer.FindAllString(text, -1)))
		}
		// Channels of the same sizes would have errors that add up to nothing by themselves.
		x = x.Mul(torch.Arange(8).Square().Reshape(8, 1, 1))
		p, err = export.Export(func(x torch.Tensor) torch.Tensor { return conv(x, k, 0) }, []any{x})
		require.NoError(t, err)
		defer p.Close()
		ranges, err := export.Calibrate(p, slices.Values([][]any{{x}}))
		require.NoError(t, err)
		off := func(ranges export.Calibration) (mean float64) {
			q := compiled(t, p, export.CompileOptions{Int8: ranges})
			torch.NoGrad(func() {
				want, err := p.Run(x)
				require.NoError(t, err)
				got, err := q.Run(x)
				require.NoError(t, err)
				mean = got[0].Sub(want[0]).Mean(0, 2, 3).Abs().Max().Float64() / want[0].Abs().Max().Float64()
			})
			return mean
		}
		with := off(ranges)
		require.Less(t, with, 5e-4)
		require.Less(t, 3*with, off(export.Calibration{"x": {Min: ranges["x"].Min, Max: ranges["x"].Max}}))
	})
}

// Calibrate needs samples that fit, and Int8 goes with no other dtype.
func TestInt8Refuses(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		p, err := export.Export(nn.NewLinear(3, 2), []any{torch.Ones(4, 3)})
		require.NoError(t, err)
		defer p.Close()
		_, err = export.Calibrate(p, slices.Values([][]any{}))
		require.ErrorContains(t, err, "there are no samples")
		_, err = export.Calibrate(p, slices.Values([][]any{{torch.Ones(4, 5)}}))
		require.ErrorContains(t, err, "dimension 1 is 5, expected 3")
		ranges, err := export.Calibrate(p, slices.Values([][]any{{torch.Ones(4, 3)}, {torch.Zeros(4, 3)}}))
		require.NoError(t, err)
		require.Equal(t, export.Span{Min: 0, Max: 1, Mean: []float64{0.5, 0.5, 0.5}}, ranges["x"])
		for _, o := range []export.CompileOptions{{Int8: ranges, Exact: true}, {Int8: ranges, DType: torch.BFloat16}} {
			_, err = export.Compile(p, o)
			require.ErrorContains(t, err, "Int8 goes neither with Exact nor with another DType")
		}
	})
}

// photosVariable names a folder of photographs with a folder train and a folder val, and in these one for each class of ImageNet, such as
// Imagenette's; programVariable a classifier of such, a .pt2 for images of 224 by 224 from -1 to 1.
const photosVariable, programVariable = "LIBTORCH_GO_PHOTOS", "LIBTORCH_GO_CLASSIFIER"

// A classifier sees in photographs what it saw before it was compiled, but for a hundred thousandth of the largest number, the same
// in 98 of 100 when it is quantized, without which layers it does the calibration finds out, and in 97 in bfloat16, which has all of them:
//
//	LIBTORCH_GO_PHOTOS=imagenette LIBTORCH_GO_CLASSIFIER=lite0.pt2 go test -v -run TestPhotos ./torch/export
func TestPhotos(t *testing.T) {
	folder, program := os.Getenv(photosVariable), os.Getenv(programVariable)
	if folder == "" || program == "" {
		t.Skip(photosVariable, " and ", programVariable, " name no photographs and no program")
	}
	torchtest.NoLeaks(t)
	p, err := export.Load(program)
	require.NoError(t, err)
	defer p.Close()
	const some = 100
	ranges, err := export.Calibrate(p, func(yield func([]any) bool) {
		photos(t, filepath.Join(folder, "train"), some)(func(x torch.Tensor, _ []int) bool { return yield([]any{x}) })
	})
	require.NoError(t, err)
	exact := compiled(t, p, export.CompileOptions{Exact: true})
	contenders := map[string]*contender{
		"float32":  {least: 1, c: compiled(t, p)},
		"bfloat16": {least: 0.97, c: compiled(t, p, export.CompileOptions{DType: torch.BFloat16, Fallback: true})},
		"int8":     {least: 0.98, c: compiled(t, p, export.CompileOptions{Int8: ranges})},
	}
	ten := torch.FromSlice(slices.Sorted(maps.Values(imagenette)), len(imagenette))
	defer ten.Close()
	n, right := 0, 0
	for x, labels := range photos(t, filepath.Join(folder, "val"), math.MaxInt) {
		want := logits(t, exact, x)
		n += len(labels)
		right += hits(of(want, ten), labels)
		for _, c := range contenders {
			c.sees(t, x, want, ten, labels)
		}
	}
	t.Logf("%d photos, of which %d are right among the ten classes of the folder", n, right)
	for name, c := range contenders {
		t.Logf("%s: %d are of the same class among all, %d among the ten, where %d are right", name, c.same, c.sameOfTen, c.right)
		t.Logf("%s: results differ by %.2g of the largest number, at most by %.2g", name, c.apart/float64(n), c.furthest)
		require.GreaterOrEqual(t, float64(c.same), c.least*float64(n), name)
	}
	t.Logf("%d layers in float32: %q", len(ranges.Floats()), ranges.Floats())
	require.LessOrEqual(t, contenders["float32"].furthest, 1e-5)
}

// contender is a compiled program, and what it sees in photographs.
type contender struct {
	c                      *export.Compiled
	least                  float64 // part of the photographs in which it has to see the same
	same, sameOfTen, right int
	apart, furthest        float64 // relative to an image's largest number, in all and at most
}

func (c *contender) sees(t *testing.T, x, want, ten torch.Tensor, labels []int) {
	got := logits(t, c.c, x)
	for _, d := range torch.Values[float32](got.Sub(want).Abs().AMax(1).Div(want.Abs().AMax(1))) {
		c.apart += float64(d)
		c.furthest = max(c.furthest, float64(d))
	}
	c.same += hits(torch.Values[int64](got.ArgMax(1)), torch.Values[int64](want.ArgMax(1)))
	c.sameOfTen += hits(of(got, ten), of(want, ten))
	c.right += hits(of(got, ten), labels)
}

func logits(t *testing.T, c *export.Compiled, x torch.Tensor) (y torch.Tensor) {
	torch.NoGrad(func() {
		out, err := c.Run(x)
		require.NoError(t, err)
		y = out[0]
	})
	return y
}

// of are the classes with the largest numbers among some.
func of(logits, classes torch.Tensor) []int64 {
	return torch.Values[int64](classes.IndexSelect(0, logits.IndexSelect(1, classes).ArgMax(1)))
}

func hits[T int | int64](got []int64, want []T) (n int) {
	for i := range got {
		n += one(got[i] == int64(want[i]))
	}
	return n
}

// photos are batches of a folder's photographs in an order by chance, at most so many, with their numbers among ImageNet's classes.
func photos(t *testing.T, folder string, most int) iter.Seq2[torch.Tensor, []int] {
	steps := transforms.ImageClassification{Resize: 224, Mean: &[3]float64{127. / 255, 127. / 255, 127. / 255},
		Std: &[3]float64{128. / 255, 128. / 255, 128. / 255}, Interpolation: "bicubic"}
	set, err := datasets.LoadImageFolder(folder)
	require.NoError(t, err)
	const size = 25
	order := rand.New(rand.NewPCG(0, 0)).Perm(set.Len())
	order = order[:min(most, len(order))]
	return func(yield func(torch.Tensor, []int) bool) {
		for some := range slices.Chunk(order, size) {
			var files [][]byte
			var labels []int
			for _, i := range some {
				file, err := os.ReadFile(set.Paths[i])
				require.NoError(t, err)
				files, labels = append(files, file), append(labels, imagenette[set.Classes[set.Targets[i]]])
			}
			more := true
			torch.Scope(func() {
				x, err := steps.Files(files, nil)
				require.NoError(t, err)
				more = yield(x, labels)
			})
			if !more {
				return
			}
		}
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// imagenette are the numbers of Imagenette's classes among ImageNet's.
var imagenette = map[string]int{"n01440764": 0, "n02102040": 217, "n02979186": 482, "n03000684": 491, "n03028079": 497,
	"n03394916": 566, "n03417042": 569, "n03425413": 571, "n03445777": 574, "n03888257": 701}
