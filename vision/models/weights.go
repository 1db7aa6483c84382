package models

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/hub"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// Weights are published weights of a network: torchvision's entry about them.
type Weights struct {
	Model      string                         // what [New] calls the network
	Name       string                         // torchvision's, such as "ResNet50_Weights.IMAGENET1K_V2"
	URL        string                         // of the file; its name says how its SHA-256 begins
	Transforms transforms.ImageClassification // what images have to go through
	Categories []string                       // what the scores are about; empty for weights of features alone
	NumParams  int
	MinSize    [2]int  // height and width of the smallest images; of all images for transformers
	Acc1, Acc5 float64 // percent of ImageNet's validation images for which the first, or one of five, is right
	GFLOPs     float64 // of one image
	FileSize   float64 // in megabytes
	Recipe     string  // the address of how they were trained
	License    string  // the address of their license, where it is their own
	Default    bool    // the best of the network
}

// String is the name.
func (w Weights) String() string { return w.Name }

// Hash is how the SHA-256 of the file begins, in hexadecimal digits.
func (w Weights) Hash() string {
	name := strings.TrimSuffix(path.Base(w.URL), ".pth")
	return name[strings.LastIndexByte(name, '-')+1:]
}

var (
	//go:embed weights.tsv
	weightsTable string
	//go:embed imagenet.txt
	imageNetNames string
)

// imageNet are the 1000 classes that published weights tell apart.
var imageNet = sync.OnceValue(func() []string { return strings.Split(strings.TrimSpace(imageNetNames), "\n") })

// published are all weights, in the order of the networks' names.
var published = sync.OnceValue(func() (list []Weights) {
	for line := range strings.Lines(weightsTable) {
		list = append(list, parseWeights(strings.Split(strings.TrimSuffix(line, "\n"), "\t")))
	}
	return list
})

// parseWeights reads a line of the table, which testdata/weights_table.py writes.
func parseWeights(f []string) Weights {
	number := func(i int) float64 {
		n, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			panic(fmt.Sprint("models: weights.tsv: ", err))
		}
		return n
	}
	colours := func(i int) *[3]float64 {
		var c [3]float64
		if n, _ := fmt.Sscan(f[i], &c[0], &c[1], &c[2]); n < len(c) {
			return nil
		}
		return &c
	}
	w := Weights{
		Model: f[0], Name: f[1], URL: f[2],
		Transforms: transforms.ImageClassification{
			Crop: int(number(3)), Resize: int(number(4)), Interpolation: f[5], Mean: colours(6), Std: colours(7)},
		NumParams: int(number(8)), MinSize: [2]int{int(number(9)), int(number(10))},
		Acc1: number(11), Acc5: number(12), GFLOPs: number(13), FileSize: number(14),
		Recipe: f[15], License: f[16], Default: f[17] != "",
	}
	if number(18) > 0 {
		w.Categories = slices.Clone(imageNet())
	}
	return w
}

// WeightsOf are the weights that torchvision publishes for a network, as its get_model_weights: none for a name that
// it does not know.
func WeightsOf(model string) (list []Weights) {
	for _, w := range published() {
		if w.Model == model {
			list = append(list, w)
		}
	}
	return list
}

// FindWeights finds published weights of a network by their name, with or without the enumeration before it
// ("ResNet50_Weights.IMAGENET1K_V2" or "IMAGENET1K_V2"); "DEFAULT" are the best. It is torchvision's get_weight.
func FindWeights(model, name string) (Weights, error) {
	list := WeightsOf(model)
	if len(list) == 0 {
		return Weights{}, fmt.Errorf("models: nobody publishes weights of %q", model)
	}
	if _, own, ok := strings.Cut(name, "_Weights."); ok {
		name = own
	}
	var names []string
	for _, w := range list {
		_, own, _ := strings.Cut(w.Name, ".")
		if own == name || name == "DEFAULT" && w.Default {
			return w, nil
		}
		names = append(names, own)
	}
	return Weights{}, fmt.Errorf("models: %s has no weights %q, but has %s", model, name, strings.Join(names, " and "))
}

// Pretrained makes a network with weights that torchvision published, as torchvision's get_model does:
//
//	model, err := models.Pretrained(ctx, "resnet50", "IMAGENET1K_V2")
//
// The weights are called as for [FindWeights]. They are fetched once, into the folder that Python has them in; the
// options are those of [hub.Download]. A network whose size depends on that of its images is made for the size that
// the weights are for; GoogLeNet comes without its classifiers on the way, which nobody trained, and expects images
// prepared by the weights' Transforms, as all do.
func Pretrained(ctx context.Context, name, weights string, opts ...hub.Options) (nn.Layer, error) {
	w, err := FindWeights(name, weights)
	if err != nil {
		return nil, err
	}
	state, err := hub.LoadStateDict(ctx, w.URL, opts...)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, t := range state {
			t.Close()
		}
	}()
	var model nn.Layer
	nninit.Skip(func() { model, err = New(name, len(imageNet()), w.options()) })
	if err != nil {
		return nil, err
	}
	if err := nn.LoadStateDict(model, renamed(state)); err != nil {
		nn.Close(model)
		return nil, fmt.Errorf("models: %s: %w", path.Base(w.URL), err)
	}
	if g, ok := model.(*GoogLeNet); ok {
		nn.Close([]nn.Layer{g.Aux1, g.Aux2})
		g.Aux1, g.Aux2 = nil, nil
	}
	return model, nil
}

// options are those that the weights need.
func (w Weights) options() any {
	switch {
	case strings.HasPrefix(w.Model, "vit_"):
		return ViTOptions{ImageSize: w.MinSize[0]}
	case strings.HasPrefix(w.Model, "maxvit_"):
		return MaxVitOptions{InputSize: w.MinSize}
	case w.Model == "googlenet":
		return GoogLeNetOptions{TransformInput: true}
	case w.Model == "inception_v3":
		return InceptionOptions{TransformInput: true}
	}
	return nil
}

// Names of parameters that published files have from earlier versions of torchvision.
var (
	oldDense = regexp.MustCompile(`^(.*denselayer\d+\.(?:norm|relu|conv))\.([12]\..*)$`)
	oldMLP   = regexp.MustCompile(`^(encoder\.layers\..*\.mlp)\.linear_([12])\.(.*)$`)
)

// renamed is the state dict with the names of today.
func renamed(state map[string]torch.Tensor) map[string]torch.Tensor {
	today := make(map[string]torch.Tensor, len(state))
	for key, t := range state {
		if m := oldDense.FindStringSubmatch(key); m != nil {
			key = m[1] + m[2]
		}
		if m := oldMLP.FindStringSubmatch(key); m != nil {
			key = fmt.Sprintf("%s.%d.%s", m[1], map[string]int{"1": 0, "2": 3}[m[2]], m[3])
		}
		today[key] = t
	}
	return today
}
