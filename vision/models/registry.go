package models

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// registry has every model by torchvision's name.
var registry = map[string]func(classes int, opts []any) (nn.Layer, error){
	"resnet18":  entry(ResNet18),
	"resnet34":  entry(ResNet34),
	"resnet50":  entry(ResNet50),
	"resnet101": entry(ResNet101),
	"resnet152": entry(ResNet152),
	"vgg11":     entry(VGG11),
	"vgg11_bn":  entry(VGG11BN),
	"vgg13":     entry(VGG13),
	"vgg13_bn":  entry(VGG13BN),
	"vgg16":     entry(VGG16),
	"vgg16_bn":  entry(VGG16BN),
	"vgg19":     entry(VGG19),
	"vgg19_bn":  entry(VGG19BN),
}

// Names are the names that [New] knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// New makes a model by torchvision's name. The options are those of the model's own function:
// [ResNetOptions] for a ResNet, [VGGOptions] for a VGG; none, or nil, stands for the defaults.
func New(name string, classes int, opts ...any) (nn.Layer, error) {
	build, ok := registry[name]
	if !ok {
		return nil, fmt.Errorf("models: there is no model %q; expected one of %s", name, strings.Join(Names(), ", "))
	}
	if classes <= 0 {
		return nil, fmt.Errorf("models: %s needs at least one class, got %d", name, classes)
	}
	model, err := build(classes, opts)
	if err != nil {
		return nil, fmt.Errorf("models: %s: %w", name, err)
	}
	return model, nil
}

// entry is a model's own function as the registry wants it.
func entry[M nn.Layer, O any](build func(classes int, opts ...O) M) func(int, []any) (nn.Layer, error) {
	return func(classes int, opts []any) (nn.Layer, error) {
		if len(opts) == 0 || opts[0] == nil {
			return build(classes), nil
		}
		o, ok := option.One(opts).(O)
		if !ok {
			return nil, fmt.Errorf("its options are a %T, got %T", o, opts[0])
		}
		return build(classes, o), nil
	}
}
