package models

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch/hub"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// published are the weights that torchvision publishes for the networks here, by network and name: the name of the
// file at the address below. The last of a network is its default.
var published = map[string][]struct{ name, file string }{
	"resnet18":  {{"IMAGENET1K_V1", "resnet18-f37072fd.pth"}},
	"resnet34":  {{"IMAGENET1K_V1", "resnet34-b627a593.pth"}},
	"resnet50":  {{"IMAGENET1K_V1", "resnet50-0676ba61.pth"}, {"IMAGENET1K_V2", "resnet50-11ad3fa6.pth"}},
	"resnet101": {{"IMAGENET1K_V1", "resnet101-63fe2227.pth"}, {"IMAGENET1K_V2", "resnet101-cd907fc2.pth"}},
	"resnet152": {{"IMAGENET1K_V1", "resnet152-394f9c45.pth"}, {"IMAGENET1K_V2", "resnet152-f82ba261.pth"}},
	"vgg11":     {{"IMAGENET1K_V1", "vgg11-8a719046.pth"}},
	"vgg11_bn":  {{"IMAGENET1K_V1", "vgg11_bn-6002323d.pth"}},
	"vgg13":     {{"IMAGENET1K_V1", "vgg13-19584684.pth"}},
	"vgg13_bn":  {{"IMAGENET1K_V1", "vgg13_bn-abd245e5.pth"}},
	"vgg16":     {{"IMAGENET1K_V1", "vgg16-397923af.pth"}},
	"vgg16_bn":  {{"IMAGENET1K_V1", "vgg16_bn-6c64b313.pth"}},
	"vgg19":     {{"IMAGENET1K_V1", "vgg19-dcbb9e9d.pth"}},
	"vgg19_bn":  {{"IMAGENET1K_V1", "vgg19_bn-c79401a0.pth"}},
}

const publisher = "https://download.pytorch.org/models/"

// imageNet is the number of classes that published weights tell apart.
const imageNet = 1000

// Pretrained makes a network with weights that torchvision published, as torchvision's get_model does:
//
//	model, err := models.Pretrained(ctx, "resnet50", "IMAGENET1K_V2")
//
// The weights are called as in torchvision, with or without the name of the enumeration before them
// ("ResNet50_Weights.IMAGENET1K_V2"); "DEFAULT" are the best. They are fetched once, into the folder that
// Python has them in; the options are those of [hub.Download].
func Pretrained(ctx context.Context, name, weights string, opts ...hub.Options) (nn.Layer, error) {
	list, ok := published[name]
	if !ok {
		return nil, fmt.Errorf("models: nobody publishes weights of %q", name)
	}
	if _, own, ok := strings.Cut(weights, "_Weights."); ok {
		weights = own
	}
	at := slices.IndexFunc(list, func(w struct{ name, file string }) bool { return w.name == weights })
	if weights == "DEFAULT" {
		at = len(list) - 1
	}
	if at < 0 {
		return nil, fmt.Errorf("models: %s has no weights %q, but has %s", name, weights, list[len(list)-1].name)
	}
	state, err := hub.LoadStateDict(ctx, publisher+list[at].file, opts...)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, t := range state {
			t.Close()
		}
	}()
	model, err := New(name, imageNet)
	if err != nil {
		return nil, err
	}
	if err := nn.LoadStateDict(model, state); err != nil {
		nn.Close(model)
		return nil, fmt.Errorf("models: %s: %w", list[at].file, err)
	}
	return model, nil
}
