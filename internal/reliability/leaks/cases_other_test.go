package leaks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/checkpoint"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/cuda/nvtx"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/hub"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/signal/windows"
	"github.com/libtorch-go/libtorch/torch/tensorboard"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/torch/watch"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/datasets/cifarslice"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/models"
	"github.com/libtorch-go/libtorch/vision/ops"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

var otherCases = cases{
	"windows": func() {
		for _, fn := range []func(int, ...windows.Options) torch.Tensor{
			windows.Bartlett, windows.Blackman, windows.Cosine, windows.Hamming, windows.Hann, windows.Nuttall,
		} {
			fn(4)
		}
		windows.Exponential(4, 1)
		windows.Gaussian(4, 1)
		windows.GeneralCosine(4, []float64{0.5, 0.5})
		windows.GeneralHamming(4, 0.5)
		windows.Kaiser(4, 1)
	},
	"cuda": func() {
		_ = torch.Try(func() { nvtx.Mark("x") }) // without a card it has nobody to tell
		_, _, _ = cuda.IsAvailable(), cuda.DeviceCount(), cuda.Unavailable()
		_, _ = cuda.On.String(), cuda.TF32.String()
	},
	"images": func() {
		path := filepath.Join(os.TempDir(), "leaks.grid.png")
		check(imageio.Save(path, imageio.Grid(torch.Rand(3, 3, 4, 5))))
		defer os.Remove(path)
		file := must(os.Open(path))
		defer file.Close()
		img := must(imageio.Decode(file))
		must(imageio.Read(path))
		_ = must(imageio.EncodePNG(img))
		_, _ = imageio.JPEGLibrary() // Go's takes its place
		imageio.DrawBoundingBoxes(img, zeros(1, 4))
		imageio.DrawSegmentationMasks(img, zeros(img.Shape()[1:]...).To(torch.Bool))
		photo := must(imageio.EncodeJPEG(img))
		check(imageio.Plausible(photo))
		must(imageio.DecodeBytes(photo))
		must(transforms.ClassificationTrain{Crop: 4}.Files([][]byte{photo}, rand.New(rand.NewPCG(1, 2))))
		transforms.ImageClassification{Resize: 8, Crop: 4}.Apply(img)
		must(transforms.ImageClassification{Resize: 8, Crop: 4}.Files([][]byte{photo}, nil))
		_, err := transforms.EachFile(transforms.Grayscale{})([][]byte{photo, nil}, nil)
		refuse(err)
		_, _ = err.Error(), errors.Unwrap(err)
	},
	"comparisons": func() {
		x, t := torch.RandN(2), recorder{}
		torchtest.Equal(t, x, x)
		torchtest.AllClose(t, x, x)
		torchtest.DefaultTolerance(torch.Float32)
		torchtest.Devices()
		square := func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{in[0].Mul(in[0])} }
		torchtest.GradCheck(t, square, []torch.Tensor{x.To(torch.Float64).SetRequiresGrad(true)})
		check(torchtest.CheckGradients(square, []torch.Tensor{x.To(torch.Float64).SetRequiresGrad(true)}))
	},
	"datasets": func() {
		d := cifarslice.Load(false).Head(2)
		_, _, _ = d.Classes(), d.Len(), must(datasets.DefaultRoot())
		_, _ = datasets.CIFAR10Mirrors(), datasets.MNISTMirrors()
		d.Tensors()
	},
	"models": func() {
		models.Names()
		_, err := models.New("no such model", 10)
		refuse(err)
		w := must(models.FindWeights("resnet18", "DEFAULT"))
		_, _ = fmt.Sprint(w, w.Hash()), models.WeightsOf("resnet50")
	},
	"boxes": func() {
		boxes := torch.FromSlice([]float32{0, 0, 4, 4, 1, 1, 4, 4}, 2, 4)
		_ = fmt.Sprint(ops.BoxArea(boxes), ops.BoxIoU(boxes, boxes), ops.GeneralizedBoxIoU(boxes, boxes), ops.XYWH, ops.DropRow)
		ops.BoxConvert(boxes, ops.XYXY, ops.CXCYWH)
		ops.DistanceBoxIoU(boxes, boxes)
		ops.CompleteBoxIoU(boxes, boxes)
		ops.MasksToBoxes(torch.Eye(3).Unsqueeze(0))
		ops.ClipBoxesToImage(boxes, [2]int{3, 3})
		ops.RemoveSmallBoxes(boxes, 2)
		ops.NMS(boxes, torch.Rand(2), 0.5)
		ops.BatchedNMS(boxes, torch.Rand(2), torch.Arange(2), 0.5)
		ops.RoIAlign(torch.Rand(1, 2, 4, 4), []torch.Tensor{boxes}, [2]int{2, 2})
	},
	"layers of vision": func() {
		x := torch.RandN(2, 3, 4, 4)
		row := nn.NamedSequential{{Name: "conv", Module: ops.NewConv2dNormActivation(3, 3)}}
		nninit.Skip(func() { row = append(row, nn.Named[nn.Layer]{Name: "se", Module: ops.NewSqueezeExcitation(3, 2)}) })
		_ = fmt.Sprint(row[0].Module, row[1].Module)
		for _, l := range []nn.Layer{row, ops.NewMLP(4, []int{3, 2}), ops.Permute{Dims: []int{0, 2, 3, 1}},
			ops.NewStochasticDepth(0.5, ops.DropRow), ops.NewFrozenBatchNorm2d(3)} {
			l.Forward(x)
			_ = fmt.Sprint(l)
			nn.Close(l)
		}
	},
	"transforms": func() {
		r := rand.New(rand.NewPCG(1, 2))
		images := torch.RandN(2, 3, 8, 8)
		transforms.EachNormalize(images, torch.Zeros(3), torch.Ones(3))
		transforms.EachRandomCrop(images, 4, 1, r)
		transforms.EachRandomHorizontalFlip(images, r)
		bytes := torch.TensorOptions{DType: torch.Uint8}.RandIntN(256, 2, 3, 8, 8)
		transforms.ClassificationTrain{Crop: 4}.Images([]torch.Tensor{bytes.Select(0, 0)}, r)
		transforms.CropFlipNormalize{Size: 8, Padding: 1, Mean: [3]float64{1, 1, 1}, Std: [3]float64{1, 1, 1}}.Apply(bytes, r)
		transforms.FiveCrop(bytes, transforms.Square(4))
		transforms.TenCrop(bytes, transforms.Square(4), true)
		_ = transforms.XYWH.String()
	},
	"transforms with boxes and masks": func() {
		r := rand.New(rand.NewPCG(1, 2))
		boxes := torch.FromSlice([]float32{1, 1, 5, 5, 2, 2, 7, 7}, 2, 4)
		s := transforms.Sample{Image: torch.Rand(3, 8, 8), Boxes: boxes, Masks: torch.Ones(2, 8, 8)}
		side := transforms.Square(6)
		for _, t := range []transforms.Transform{
			transforms.RandomHorizontalFlip{P: 1}, transforms.RandomVerticalFlip{P: 1}, transforms.Resize{Size: side},
			transforms.CenterCrop{Size: side},
			transforms.Pad{Padding: [4]int{1, 1, 1, 1}}, transforms.RandomCrop{Size: side}, transforms.RandomResizedCrop{Size: side},
			transforms.RandomIoUCrop{}, transforms.RandomZoomOut{P: 1}, transforms.RandomRotation{Degrees: [2]float64{1, 9}},
			transforms.RandomAffine{Degrees: [2]float64{1, 9}},
			transforms.RandomPerspective{P: 1}, transforms.ElasticTransform{Sigma: 0.2}, transforms.ScaleJitter{Size: side},
			transforms.RandomShortestSize{MinSize: []int{6}}, transforms.RandomResize{MinSize: 6, MaxSize: 7},
			transforms.ClampBoundingBoxes{},
			transforms.ConvertBoundingBoxFormat{Format: transforms.CXCYWH}, transforms.SanitizeBoundingBoxes{},
			transforms.RandomApply{Transforms: []transforms.Transform{transforms.RGB{}}}, transforms.RandomOrder{transforms.RGB{}},
			transforms.RandomChoice{Transforms: []transforms.Transform{transforms.RGB{}}}, transforms.Compose{transforms.RGB{}},
			transforms.Func(func(s transforms.Sample, _ *rand.Rand) transforms.Sample { return s }),
		} {
			t.Apply(s, r)
		}
	},
	"transforms of colours": func() {
		r := rand.New(rand.NewPCG(1, 2))
		img := torch.TensorOptions{DType: torch.Uint8}.RandIntN(256, 3, 8, 8)
		for _, t := range []transforms.Transform{
			transforms.Grayscale{}, transforms.RandomGrayscale{P: 1}, transforms.ColorJitter{Brightness: 0.5, Contrast: 0.5,
				Saturation: 0.5, Hue: 0.5},
			transforms.RandomChannelPermutation{}, transforms.RandomPhotometricDistort{}, transforms.RandomEqualize{P: 1},
			transforms.RandomInvert{P: 1},
			transforms.RandomPosterize{Bits: 3, P: 1}, transforms.RandomSolarize{Threshold: 9, P: 1}, transforms.RandomAutocontrast{P: 1},
			transforms.RandomAdjustSharpness{SharpnessFactor: 2, P: 1}, transforms.GaussianBlur{KernelSize: [2]int{3, 3}},
			transforms.ToDType{Scale: true},
			transforms.RandomErasing{P: 1}, transforms.GaussianNoise{}, transforms.RandAugment{}, transforms.TrivialAugmentWide{},
			transforms.AutoAugment{}, transforms.AugMix{},
		} {
			transforms.Image(t, img, r)
		}
		_ = torch.Try(func() { transforms.Image(transforms.JPEG{Quality: [2]int{9, 9}}, img, r) }) // without libjpeg-turbo it cannot
		norm := transforms.Normalize{Mean: []float64{0.5}, Std: []float64{0.5}}
		transforms.Image(norm, torch.Rand(3, 8, 8), r)
		batch := transforms.Sample{Image: torch.Rand(2, 3, 8, 8), Labels: zeros(2)}
		transforms.MixUp{NumClasses: 3}.Apply(batch, r)
		transforms.CutMix{NumClasses: 3}.Apply(batch, r)
	},
}

// recorder is a test within a case: it must not fail.
type recorder struct{ testing.TB }

func (recorder) Helper() {}

func (recorder) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// numbers is a set whose samples are numbers.
type numbers int

func (n numbers) Len() int { return int(n) }

func (n numbers) At(_ context.Context, i int) (data.Sample, error) {
	return data.Sample{Input: torch.Full([]int{2}, float64(i)), Target: torch.FromValue(int64(i))}, nil
}

// broken is a source that fails.
type broken struct{ err error }

func (broken) Len() int { return 1 }

func (b broken) Batch(context.Context, []int, *rand.Rand) (data.Batch, error) {
	if b.err == nil {
		panic("broken")
	}
	return data.Batch{}, b.err
}

func drain[B any](l *data.Loader[B]) (err error) {
	for _, e := range l.Epoch(context.Background(), 0) {
		err = errors.Join(err, e)
	}
	for _, e := range l.EpochFrom(context.Background(), 1, 0) {
		err = errors.Join(err, e)
	}
	next, stop := l.Pull(context.Background(), 0)
	defer stop()
	_, e, _ := next()
	return errors.Join(err, e)
}

var fileCases = cases{
	"safetensors": func() {
		tensors := map[string]torch.Tensor{"x": torch.RandN(3)}
		var b bytes.Buffer
		check(safetensors.Write(&b, maps.All(tensors)))
		must(safetensors.Read(&b, int64(b.Len()))).Close()
		path := filepath.Join(os.TempDir(), "leaks.safetensors")
		check(safetensors.Save(path, maps.All(tensors)))
		must(safetensors.Load(path)).Close()
		r := must(safetensors.Open(path))
		must(r.Info(r.Names()[0]))
		must(r.Tensor("x")).Close()
		check(r.Close())
		check(safetensors.LoadInto(path, maps.All(tensors)))
		err := safetensors.LoadInto(path, maps.All(map[string]torch.Tensor{"y": tensors["x"]}))
		refuse(err)
		_ = err.Error()
		check(os.Remove(path))
	},
	"pt": func() {
		path := filepath.Join(os.TempDir(), "leaks.pt")
		x := torch.RandN(3)
		for _, m := range []any{&nn.BatchNorm{}, &nn.InstanceNorm{}, &models.MNASNet{}} {
			check(pt.Save(path, pt.Versioned(maps.All(map[string]torch.Tensor{"x": x}), nn.StateVersions(m))))
		}
		check(pt.Save(path, map[string]torch.Tensor{"x": x, "row": x.Select(0, 1)}))
		torch.Close(slices.Collect(maps.Values(must(pt.LoadStateDict(path))))...)
		dict := must(pt.Load(path, pt.LoadOptions{MMap: true})).(*pt.Dict)
		_, _ = dict.Lookup("x")
		for range dict.All() {
			_ = dict.Len()
		}
		_, _, _, _ = dict.Int("x"), dict.Float("x"), dict.Text("x"), dict.Dict("x")
		_, _, _ = dict.Get("x"), dict.Tensor("x"), dict.Map()
		must(dict.Tensors())
		pt.Close(dict)
		check(os.Remove(path))
		var b bytes.Buffer
		check(pt.Write(&b, pt.Parameter{Tensor: x}))
		pt.Close(must(pt.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))))
		(&pt.Dict{}).Set("a", 1)
		_ = (&pt.GlobalError{Name: "os.system"}).Error()
	},
	"hub": func() {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			check(pt.Write(w, map[string]torch.Tensor{"x": torch.Ones(1)}))
		}))
		defer server.Close()
		dir := must(os.MkdirTemp("", "leaks"))
		o := hub.Options{Dir: dir, Progress: hub.Bar(io.Discard)}
		must(hub.Dir())
		must(hub.Download(context.Background(), server.URL+"/x.pth", o))
		torch.Close(must(hub.LoadStateDict(context.Background(), server.URL+"/x.pth", o))["x"])
		_, err := models.Pretrained(context.Background(), "resnet18", "DEFAULT", hub.Options{Offline: true, Dir: dir})
		refuse(err)
		check(os.RemoveAll(dir))
	},
	"checkpoint": func() {
		dir := filepath.Join(os.TempDir(), "leaks.checkpoint")
		model := nn.NewLinear(2, 2)
		defer nn.Close(model)
		run := must(checkpoint.Open(dir, checkpoint.Parts{"model": model}, checkpoint.Options{Every: 1, Keep: 1, Async: true}))
		ctx, cancel := checkpoint.OnTerm(context.Background())
		must(run.Step(ctx, checkpoint.Point{Step: 1}))
		check(run.Wait())
		check(run.Save(checkpoint.Point{Step: 2}))
		check(run.Close())
		cancel()
		at := must(run.Resume(nil))
		check(checkpoint.Verify(at.Path))
		must(run.Load(filepath.Join(at.Path, "checkpoint.pt"), nil))
		file := filepath.Join(dir, "file.pt")
		check(checkpoint.SaveFile(file, checkpoint.Parts{"model": model}, checkpoint.Point{}))
		read := must(checkpoint.ReadFile(file))
		must(read.Point(nil))
		check(read.Restore(checkpoint.Parts{"model": model}))
		read.Close()
		check(checkpoint.Preflight(file, file))
		must(checkpoint.LoadFile(file, checkpoint.Parts{"model": model}))
		_, err := checkpoint.LoadFile(file, checkpoint.Parts{"model": model}, checkpoint.FileOptions{Recipe: 1})
		var other *checkpoint.RecipeError
		if !errors.As(err, &other) || other.Error() == "" {
			panic("no recipe")
		}
		check(os.Truncate(filepath.Join(at.Path, "manifest.json"), 3))
		_, skipped, err := checkpoint.Latest(dir)
		check(err)
		var damage *checkpoint.DamageError
		if !errors.As(skipped[0], &damage) || damage.Error() == "" || damage.Unwrap() == nil {
			panic("no damage")
		}
		check(os.RemoveAll(dir))
	},
	"loader": func() {
		set := data.NewTensorDataset(torch.RandN(4, 2), torch.RandN(4))
		doubled := data.Map(set, func(b data.Batch, _ *rand.Rand) data.Batch {
			_ = b.Len()
			return data.Batch{Input: b.Input.MulScalar(2), Target: b.Target}
		})
		l := must(data.NewLoader(doubled, data.LoaderOptions{BatchSize: 2, Workers: 1, Shuffle: true}))
		l.Len()
		check(drain(l))
	},
	"samplers": func() {
		source := data.Collate(numbers(4), data.Stack)
		check(drain(must(data.NewLoader(source, data.LoaderOptions{BatchSampler: data.Batched(data.Shard(data.Random(4, 1), 0, 2), 2,
			false)}))))
		check(drain(must(data.NewLoader(source, data.LoaderOptions{Sampler: data.Sequential(4)}))))
	},
	"parts of a data set, and samplers that draw": func() {
		set := data.NewTensorDataset(torch.RandN(4, 2), torch.RandN(4))
		parts := data.RandomSplit[data.Sample](set, []float64{0.5, 0.5}, 1)
		whole := data.MapDataset(data.Concat(parts[0], data.Subset(parts[1], []int{1, 0})),
			func(_ context.Context, s data.Sample) (data.Sample, error) {
				return s, nil
			})
		for _, s := range []data.Sampler{data.RandomOf([]int{3, 1}, 1), data.RandomDraws(4, 3, 1),
			data.Weighted([]float64{1, 0, 2, 3}, 3, true, 1)} {
			l := must(data.NewLoader(data.Collate(whole, data.StackNested[data.Sample]), data.LoaderOptions{Sampler: s, BatchSize: 2}))
			for _, err := range must(l.Resume(context.Background(), l.StateAt(0, 1))) {
				check(err)
			}
			_, _, _ = l.Stats().Since(l.Stats()).String(), l.Stats().Waiting(), l.Stats().Working()
		}
		l := must(data.NewLoader(data.Collate(data.NewDataset(3, whole.At), data.Pad()), data.LoaderOptions{BatchSize: 2}))
		for b, err := range l.Epoch(context.Background(), 0) {
			check(err)
			b.Len()
		}
	},
	"tensorboard": func() {
		dir := must(os.MkdirTemp("", "runs"))
		defer os.RemoveAll(dir)
		w := must(tensorboard.NewWriter(dir))
		check(w.AddScalar("loss", 1, 0))
		check(w.AddText("note", "text", 0))
		check(w.AddImage("image", torch.Rand(3, 2, 2), 0))
		check(w.AddHistogram("weights", torch.RandN(9), 0))
		check(w.AddHParams(map[string]any{"lr": 0.1}, nil))
		program := must(export.Export(func(x torch.Tensor) torch.Tensor { return x.ReLU() }, []any{torch.Ones(2)}))
		defer program.Close()
		check(w.AddGraph(program))
		_ = w.Path()
		check(w.Close())
	},
	"the folder of a run": func() {
		dir := must(os.MkdirTemp("", "runs"))
		defer os.RemoveAll(dir)
		run := must(watch.Open(dir))
		check(run.AddScalar("loss", 1, 0))
		_, _ = run.Sense(1)
		_ = run.TensorBoard()
		check(run.Close())
		curves := must(watch.LoadCurves(dir))
		curves = must(watch.ReadCurves(strings.NewReader("step,tag,value\n1,loss,2\n")))
		check(curves.AddScalar("loss", 3, 2))
		_ = curves.Points(curves.Tags()[0])
		check(watch.WriteSVG(io.Discard, curves))
		reading := watch.NewSensors().Read()
		check(reading.Log(curves, 3))
		_ = reading.String()
	},
	"loader of a stream": func() {
		samples := data.Stream[data.Sample](func(context.Context, int) iter.Seq2[data.Sample, error] {
			return func(yield func(data.Sample, error) bool) {
				for range 6 {
					if !yield(data.Sample{Input: torch.Ones(2).Keep()}, nil) {
						return
					}
				}
			}
		})
		check(drain(must(data.NewStreamLoader(samples.Shuffle(3, 1).Shard(0, 2), data.Stack, data.LoaderOptions{BatchSize: 2, Workers: 1}))))
	},
	"errors of a loader": func() {
		for _, b := range []broken{{}, {errors.New("broken")}} {
			err := drain(must(data.NewLoader(b, data.LoaderOptions{Workers: 1})))
			refuse(err)
			_ = err.Error()
			var e *data.Error
			if errors.As(err, &e) {
				_ = e.Unwrap()
			}
			var p *data.PanicError
			if errors.As(err, &p) {
				_, _ = p.Error(), p.Unwrap()
			}
		}
	},
}
