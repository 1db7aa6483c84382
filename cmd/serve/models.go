package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/libtorch-go/libtorch/cmd/serve/internal/cifar"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/export/aoti"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/models"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// builtIn is the name of the model that is served without a folder of models.
const builtIn = "cifar10"

// picture is how a picture becomes an input: [n, 3, size, size], a number for each value.
type picture struct {
	Resize int         `json:"resize"` // the short side before the middle is cut out; default: size
	Size   int         `json:"size"`
	Mean   *[3]float64 `json:"mean"` // default: ImageNet's
	Std    *[3]float64 `json:"std"`
}

// decode makes an input of a JPEG, PNG, GIF or WebP.
func (i *picture) decode(file []byte) (torch.Tensor, error) {
	img, err := imageio.DecodeBytes(file, imageio.DecodeOptions{MaxPixels: 40_000_000, ApplyEXIFOrientation: true})
	if err != nil {
		return torch.Tensor{}, badPicture(err)
	}
	defer img.Close()
	t := transforms.ImageClassification{Resize: i.Resize, Crop: i.Size, Mean: i.Mean, Std: i.Std}
	if t.Resize == 0 {
		t.Resize = i.Size
	}
	x, err := torch.Try1(func() torch.Tensor { return t.Apply(img) })
	if err != nil {
		return torch.Tensor{}, badPicture(err)
	}
	return x, nil
}

// badPicture is the error for a picture: that of whoever sent it, unless memory was short.
func badPicture(err error) error {
	if errors.Is(err, torch.ErrOutOfMemory) {
		return err
	}
	return badf("%v", err)
}

// read reads a model and what is said of it. One that has to compute for that is given up when ctx ends.
func (m *model) read(ctx context.Context, p place, trusted trusted) (serve.Model, error) {
	c := &m.config
	if p.versions[0].file == "" {
		return openBuiltIn(c)
	}
	if p.triton != "" {
		if err := readTriton(p.triton, p.name, c); err != nil {
			return nil, err
		}
	}
	if err := readConfig(p.config, c); err != nil {
		return nil, err
	}
	own, err := p.choose(c.version)
	if err != nil {
		return nil, err
	}
	m.version = strconv.Itoa(own.version)
	if err := errors.Join(c.checkCompile(own.file), c.checkDevice(own.file)); err != nil {
		return nil, err
	}
	if c.Samples != "" {
		c.Samples = filepath.Join(filepath.Dir(p.config), c.Samples)
	}
	if filepath.Ext(own.file) == ".pt" {
		return openScript(own.file, c, trusted)
	}
	if filepath.Ext(own.file) == ".pt2" && aoti.IsPackage(own.file) {
		return c.fitted(openPackage(own.file, c, trusted.packages))
	}
	if len(c.Inputs)+len(c.Outputs) > 0 {
		return nil, errors.New(`"inputs" and "outputs" are for TorchScript: this model says itself what it takes`)
	}
	return c.fitted(openModel(ctx, own.file, c))
}

// checkCompile checks what is said of how the model of that file is computed.
func (c *config) checkCompile(file string) error {
	_, known := compilings[c.Compile]
	switch {
	case !known:
		return fmt.Errorf(`"compile" is %q, expected exact, fast, bfloat16, float16, int8, bfloat16-weights or int8-weights`, c.Compile)
	case c.Compile+c.Samples != "" && (filepath.Ext(file) != ".pt2" || aoti.IsPackage(file)):
		return errors.New(`"compile" and "samples" are for programs of torch.export: this model is computed as it is`)
	case (c.Compile == "int8") != (c.Samples != ""):
		return errors.New(`"compile": "int8" needs "samples", a .safetensors file or a folder of pictures, and nothing else does`)
	case !filepath.IsLocal(c.Samples) && c.Samples != "":
		return fmt.Errorf(`"samples" is %q, expected a path within the folder of the config`, c.Samples)
	}
	return nil
}

// checkDevice finds the card that the model of that file is to be computed on.
func (c *config) checkDevice(file string) error {
	device, err := torch.ParseDevice(cmp.Or(c.Device, "cpu"))
	switch {
	case err != nil || !device.IsCPU() && !device.IsCUDA():
		return fmt.Errorf(`"device" is %q, expected cpu, cuda or cuda:N`, c.Device)
	case device.IsCPU():
		return nil
	case filepath.Ext(file) == ".pt" || aoti.IsPackage(file):
		return errors.New(`"device" is for programs of torch.export and for weights: TorchScript and packages say themselves where they compute`)
	}
	c.card = torch.CUDA(max(device.Index(), 0))
	return torch.CheckDevice(c.card)
}

// fitted is a model that was opened, as config.pbtxt has it.
func (c *config) fitted(m serve.Model, err error) (serve.Model, error) {
	if err != nil || c.triton == nil {
		return m, err
	}
	fitted, err := c.fit(m)
	if err != nil {
		m.Close()
	}
	return fitted, err
}

// compilings are the ways to compile a program, by their names in config.json.
var compilings = map[string][]export.CompileOptions{
	"":         nil,
	"exact":    nil,
	"fast":     {{}},
	"bfloat16": {{DType: torch.BFloat16}},
	"float16":  {{DType: torch.Float16}}, // on a card
	"int8":     nil,                      // has ranges of its own: see compileOptions

	"bfloat16-weights": {{Weights: torch.BFloat16}},
	"int8-weights":     {{Weights: torch.Int8}},
}

// openModel reads the file of a model.
func openModel(ctx context.Context, path string, c *config) (serve.Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkSum(f, c.SHA256); err != nil {
		return nil, err
	}
	if filepath.Ext(path) == ".safetensors" {
		file, err := safetensors.Read(f, info.Size())
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return weights(file.Tensors, c)
	}
	program, err := export.Read(f, info.Size(), export.LoadOptions{Device: c.device()})
	if err != nil {
		return nil, err
	}
	options, err := c.compileOptions(ctx, program)
	if err != nil {
		program.Close()
		return nil, err
	}
	m, err := serve.ProgramContext(ctx, program, options...)
	if err != nil {
		program.Close()
	}
	return m, err
}

// weights makes a network of vision/models of its weights.
func weights(tensors map[string]torch.Tensor, c *config) (_ serve.Model, err error) {
	defer torch.Recover(&err)
	if c.Architecture == "" || c.Image == nil || c.Image.Size < 1 {
		return nil, fmt.Errorf(`weights alone are no model: expected "architecture" and "image": {"size": …} in config.json`)
	}
	classes := max(len(c.Labels), 1)
	if len(c.Labels) == 0 {
		classes = 1000
	}
	net, err := models.New(c.Architecture, classes)
	if err != nil {
		return nil, err
	}
	if err := nn.LoadStateDict(net, tensors); err != nil {
		nn.Close(net)
		return nil, err
	}
	nn.To(net, c.device())
	return classifier(net, c.Image.Size, classes), nil
}

// device is where the model is.
func (c *config) device() torch.Device {
	if c.card.IsZero() {
		return torch.CPU
	}
	return c.card
}

// classifier is a model from images to scores.
func classifier(net nn.Layer, size, classes int) serve.Model {
	return serve.Module(net, serve.Spec{Name: "image", DType: torch.Float32, Shape: []int{-1, 3, size, size}},
		serve.Spec{Name: "scores", DType: torch.Float32, Shape: []int{-1, classes}})
}

// openBuiltIn makes the model that is served without a folder of models.
func openBuiltIn(c *config) (_ serve.Model, err error) {
	defer torch.Recover(&err)
	file, err := safetensors.Read(bytes.NewReader(cifar.Weights), int64(len(cifar.Weights)))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	net := cifar.New()
	if err := nn.LoadStateDict(net, file.Tensors); err != nil {
		nn.Close(net)
		return nil, err
	}
	*c = config{MaxBatch: 32, MaxDelay: duration(2e6), Labels: cifar.Classes(),
		Image: &picture{Size: cifar.Side, Mean: &[3]float64{}, Std: &[3]float64{1, 1, 1}}}
	return classifier(net, cifar.Side, len(c.Labels)), nil
}
