package transforms

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// snake is a Go name as Python writes it.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// told is a step for Python; its tensors go into tensors, with their names behind prefix.
func told(s step, prefix string, tensors peer.Tensors) map[string]any {
	args := map[string]any{}
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch {
		case field.Type == reflect.TypeFor[torch.Tensor]():
			copied := reflect.New(v.Type()).Elem() // whose fields can be read, exported or not
			copied.Set(v)
			tensors[prefix+"."+field.Name] = *(*torch.Tensor)(copied.Field(i).Addr().UnsafePointer())
		case field.Type == reflect.TypeFor[BoxFormat]():
			args[snake(field.Name)] = v.Field(i).Interface().(BoxFormat).String()
		case field.IsExported():
			args[snake(field.Name)] = v.Field(i).Interface()
		}
	}
	if m, ok := s.(augMix); ok {
		var chains [][]any
		for _, chain := range m.chains {
			list := []any{}
			for _, one := range chain {
				list = append(list, told(one, prefix, tensors))
			}
			chains = append(chains, list)
		}
		args["chains"] = chains
	}
	return map[string]any{"name": snake(v.Type().Name()), "args": args}
}

// A comparison is a transform with what it is tried on.
type comparison struct {
	name   string
	t      planner
	image  func() torch.Tensor
	places bool // boxes and masks come along
	labels bool // one for each image
}

func bytesOf(shape ...int) func() torch.Tensor {
	return func() torch.Tensor { return torch.TensorOptions{DType: torch.Uint8}.RandIntN(256, shape...) }
}

func floatsOf(shape ...int) func() torch.Tensor {
	return func() torch.Tensor { return torch.Rand(shape...) }
}

func places(o ...planner) (list []comparison) {
	for _, t := range o {
		name := fmt.Sprintf("%T %+v", t, t)
		list = append(list,
			comparison{name, t, bytesOf(3, 37, 53), true, false}, comparison{name + " batch", t, bytesOf(2, 3, 40, 30), true, false},
			comparison{name + " floats", t, floatsOf(3, 36, 36), true, false})
	}
	return list
}

func colours(o ...planner) (list []comparison) {
	for _, t := range o {
		name := fmt.Sprintf("%T %+v", t, t)
		list = append(list, comparison{name, t, bytesOf(3, 37, 53), false, false}, comparison{name + " batch", t, bytesOf(2, 3, 20, 30),
			false, false})
	}
	return list
}

func floats(o ...planner) (list []comparison) {
	for _, t := range o {
		list = append(list, comparison{fmt.Sprintf("%T %+v floats", t, t), t, floatsOf(2, 3, 20, 31), false, false})
	}
	return list
}

func comparisons() (list []comparison) {
	always := []planner{RandomHorizontalFlip{P: 1}, RandomVerticalFlip{P: 1}, Resize{Size: Size{20, 30}}, Resize{ShortSide: 24},
		Resize{ShortSide: 24, MaxSize: 30},
		Resize{MaxSize: 25}, Resize{Size: Size{61, 22}, Interpolation: "bicubic"}, Resize{ShortSide: 50, Interpolation: "nearest"},
		Resize{ShortSide: 21, Interpolation: "nearest-exact"}, Resize{ShortSide: 21, NoAntialias: true}, CenterCrop{Square(24)},
		CenterCrop{Size{45, 21}},
		Pad{Padding: [4]int{1, 2, 3, 4}}, Pad{Padding: [4]int{1, 2, 3, 4}, Fill: []float64{7}}, RandomCrop{Size: Square(20)},
		RandomCrop{Size: Square(32), Padding: [4]int{4, 4, 4, 4}}, RandomCrop{Size: Size{60, 61}, PadIfNeeded: true},
		RandomResizedCrop{Size: Square(24)}, RandomResizedCrop{Size: Size{50, 40}, Interpolation: "bicubic"}, RandomZoomOut{P: 1,
			Fill: []float64{9}},
		RandomRotation{Degrees: [2]float64{-45, 45}}, RandomRotation{Degrees: [2]float64{-170, 170}, Expand: true,
			Interpolation: "bilinear"},
		RandomRotation{Degrees: [2]float64{20, 40}, Center: []float64{3, 5}, Fill: []float64{4}}, RandomRotation{Degrees: [2]float64{90,
			90}, Expand: true},
		RandomRotation{Degrees: [2]float64{180, 180}},
		RandomAffine{Degrees: [2]float64{-30, 30}, Translate: &[2]float64{0.2, 0.1}, Scale: &[2]float64{0.7, 1.3},
			ShearX: &[2]float64{-10, 10}},
		RandomAffine{Degrees: [2]float64{5, 6}, ShearX: &[2]float64{3, 9}, ShearY: &[2]float64{-9, 9}, Interpolation: "bilinear",
			Fill: []float64{3}},
		RandomPerspective{P: 1}, RandomPerspective{P: 1, DistortionScale: 0.3, Interpolation: "nearest"},
		ElasticTransform{}, ElasticTransform{Alpha: 20, Sigma: 3, Interpolation: "nearest"},
		ScaleJitter{Size: Square(40)}, RandomShortestSize{MinSize: []int{20, 30, 40}, MaxSize: 44}, RandomResize{MinSize: 20,
			MaxSize: 40},
		ClampBoundingBoxes{}, ConvertBoundingBoxFormat{CXCYWH}, ConvertBoundingBoxFormat{XYWH}, ConvertBoundingBoxFormat{XYXY},
		SanitizeBoundingBoxes{MinSize: 8}, RandomIoUCrop{}, RandomIoUCrop{SamplerOptions: []float64{0.1}, MinScale: 0.5},
	}
	list = places(always...)
	looks := []planner{Grayscale{}, Grayscale{3}, RandomGrayscale{1}, RGB{}, ColorJitter{0.5, 0.5, 0.5, 0.3, nil, nil, nil, nil},
		ColorJitter{Hue: 0.5},
		ColorJitter{Contrast: 1}, ColorJitter{Saturation: 0.9}, RandomChannelPermutation{}, RandomPhotometricDistort{},
		RandomEqualize{1}, RandomInvert{1},
		RandomAutocontrast{1}, RandomAdjustSharpness{2, 1}, RandomAdjustSharpness{0.5, 1}, GaussianBlur{KernelSize: [2]int{5, 3}},
		ToDType{Scale: true}, ToDType{},
		RandomErasing{P: 1}, RandomErasing{P: 1, Value: []float64{1, 2, 3}}, GaussianNoise{}, GaussianNoise{Mean: 0.1, Sigma: 0.3,
			NoClip: true}}
	list = append(list, colours(looks...)...)
	list = append(list, floats(looks...)...)
	bytes := []planner{RandomPosterize{3, 1}, RandomSolarize{128, 1}, ToDType{DType: torch.Int32, Scale: true},
		ToDType{DType: torch.Float64, Scale: true},
		RandAugment{}, RandAugment{NumOps: 4, Magnitude: new(20), Interpolation: "bilinear", Fill: []float64{3}}, TrivialAugmentWide{},
		AutoAugment{},
		AutoAugment{Policy: "cifar10"}, AutoAugment{Policy: "svhn"}, AugMix{}, AugMix{NotAllOps: true, Severity: 10}}
	list = append(list, colours(bytes...)...)
	list = append(list, floats(Normalize{[]float64{0.4, 0.5, 0.6}, []float64{0.2, 0.3, 0.25}}, RandomPosterize{3, 1}, RandomSolarize{0.5,
		1},
		RandomErasing{P: 1, Random: true}, ToDType{DType: torch.Uint8, Scale: true}, ToDType{DType: torch.Int16, Scale: true},
		ToDType{DType: torch.Float64})...)
	list = append(list, comparison{"JPEG", JPEG{[2]int{50, 90}}, bytesOf(3, 33, 41), false, false},
		comparison{"Pad of colours", Pad{Padding: [4]int{1, 2, 3, 4}, Fill: []float64{7, 8, 9}}, bytesOf(3, 9, 8), false, false},
		comparison{"Rotation of colours", RandomRotation{Degrees: [2]float64{9, 70}, Fill: []float64{7, 8, 9}}, bytesOf(3, 19, 18),
			false, false},
		comparison{"MixUp", MixUp{NumClasses: 10}, floatsOf(6, 3, 8, 9), false, true}, comparison{"CutMix", CutMix{NumClasses: 10},
			floatsOf(6, 3, 18, 29), false, true})
	for _, mode := range []string{"edge", "reflect", "symmetric"} {
		list = append(list, comparison{"Pad " + mode, Pad{Padding: [4]int{1, 2, 3, 4}, Mode: mode}, bytesOf(3, 9, 8), false, false})
	}
	return list
}

// sampleOf makes what a transform is tried on; the format of its boxes differs from case to case.
func (c comparison) sampleOf(i int) Sample {
	s := Sample{Image: c.image()}
	h, w := s.size()
	if c.places {
		x, _ := torch.Rand(6, 2).MulScalar(w - 4).Sort() // torchvision's elastic fails at the very end
		y, _ := torch.Rand(6, 2).MulScalar(h - 4).Sort()
		s.Boxes = torch.Stack([]torch.Tensor{x.Select(1, 0), y.Select(1, 0), x.Select(1, 1), y.Select(1, 1)}, 1)
		s.Format = []BoxFormat{XYXY, XYWH, CXCYWH}[i%3]
		s.Boxes = convert(s.Boxes, XYXY, s.Format)
		if i%4 == 1 {
			s.Boxes = s.Boxes.To(torch.Int64)
		}
		s.Masks = torch.TensorOptions{DType: torch.Uint8}.RandIntN(2, 6, h, w)
	}
	if c.labels {
		s.Labels = torch.RandIntN(10, s.Image.Size(0))
	}
	return s
}

// Each transform, with the parameters that it drew, does what torchvision's functions do with them: to the bit, on images, batches,
// boxes and masks.
func TestTransformsEqualTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.ManualSeed(3)
	torch.Scope(func() {
		list := comparisons()
		inputs := peer.Tensors{}
		var cases []map[string]any
		var got []Sample
		for i, c := range list {
			s := c.sampleOf(i)
			for name, x := range map[string]torch.Tensor{"image": s.Image, "boxes": s.Boxes, "masks": s.Masks, "labels": s.Labels} {
				if x.Defined() {
					inputs[fmt.Sprintf("%d.%s", i, name)] = x.Clone()
				}
			}
			steps := []any{}
			plan := c.t.plan(s, rand.New(rand.NewPCG(uint64(i), 5)))
			out := s
			for j, one := range plan {
				steps = append(steps, told(one, fmt.Sprintf("%d.%d", i, j), inputs))
				out = one.apply(out)
			}
			cases = append(cases, map[string]any{"format": s.Format.String(), "steps": steps})
			got = append(got, out)
		}
		path := filepath.Join(t.TempDir(), "cases.json")
		text, err := json.Marshal(cases)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		want := peer.Run(t, "testdata/steps.py", inputs, path)
		kinds, compared := map[string]bool{}, 0
		for i, c := range list {
			kinds[fmt.Sprintf("%T", c.t)] = true
			t.Run(c.name, func(t *testing.T) {
				for name, x := range map[string]torch.Tensor{"image": got[i].Image, "boxes": got[i].Boxes, "masks": got[i].Masks,
					"labels": got[i].Labels} {
					if w, ok := want[fmt.Sprintf("%d.%s", i, name)]; ok {
						torchtest.Equal(t, x, w)
						compared++
					} else {
						require.False(t, x.Defined())
					}
				}
			})
		}
		t.Logf("%d transforms in %d cases, %d tensors equal", len(kinds), len(list), compared)
		require.Len(t, want, compared)
		require.GreaterOrEqual(t, len(kinds), 40, "transforms compared")
	})
}
