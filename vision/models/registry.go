package models

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch/nn"
)

// registry has every model by torchvision's name.
var registry = map[string]func(classes int, options any) (nn.Layer, error){
	"resnet18": resNet(ResNet18),
	"resnet34": resNet(ResNet34),
	"resnet50": resNet(ResNet50),
}

// Names are the names that [New] knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// New makes a model by torchvision's name. options is nil or what the model's own function
// takes: *[ResNetOptions] for a ResNet.
func New(name string, classes int, options any) (nn.Layer, error) {
	build, ok := registry[name]
	if !ok {
		return nil, fmt.Errorf("models: there is no model %q; expected one of %s", name, strings.Join(Names(), ", "))
	}
	if classes <= 0 {
		return nil, fmt.Errorf("models: %s needs at least one class, got %d", name, classes)
	}
	model, err := build(classes, options)
	if err != nil {
		return nil, fmt.Errorf("models: %s: %w", name, err)
	}
	return model, nil
}

func resNet(build func(int, *ResNetOptions) *ResNet) func(int, any) (nn.Layer, error) {
	return func(classes int, options any) (nn.Layer, error) {
		if options == nil {
			return build(classes, nil), nil
		}
		o, ok := options.(*ResNetOptions)
		if !ok {
			return nil, fmt.Errorf("its options are a %T, got %T", o, options)
		}
		return build(classes, o), nil
	}
}
