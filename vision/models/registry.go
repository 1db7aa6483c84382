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
	"alexnet":            entry(NewAlexNet),
	"convnext_tiny":      entry(ConvNeXtTiny),
	"convnext_small":     entry(ConvNeXtSmall),
	"convnext_base":      entry(ConvNeXtBase),
	"convnext_large":     entry(ConvNeXtLarge),
	"densenet121":        entry(DenseNet121),
	"densenet161":        entry(DenseNet161),
	"densenet169":        entry(DenseNet169),
	"densenet201":        entry(DenseNet201),
	"efficientnet_b0":    entry(EfficientNetB0),
	"efficientnet_b1":    entry(EfficientNetB1),
	"efficientnet_b2":    entry(EfficientNetB2),
	"efficientnet_b3":    entry(EfficientNetB3),
	"efficientnet_b4":    entry(EfficientNetB4),
	"efficientnet_b5":    entry(EfficientNetB5),
	"efficientnet_b6":    entry(EfficientNetB6),
	"efficientnet_b7":    entry(EfficientNetB7),
	"efficientnet_v2_s":  entry(EfficientNetV2S),
	"efficientnet_v2_m":  entry(EfficientNetV2M),
	"efficientnet_v2_l":  entry(EfficientNetV2L),
	"googlenet":          entry(NewGoogLeNet),
	"inception_v3":       entry(InceptionV3),
	"maxvit_t":           entry(MaxVitT),
	"mnasnet0_5":         entry(MNASNet0_5),
	"mnasnet0_75":        entry(MNASNet0_75),
	"mnasnet1_0":         entry(MNASNet1_0),
	"mnasnet1_3":         entry(MNASNet1_3),
	"mobilenet_v2":       entry(NewMobileNetV2),
	"mobilenet_v3_large": entry(MobileNetV3Large),
	"mobilenet_v3_small": entry(MobileNetV3Small),
	"regnet_x_400mf":     entry(RegNetX400MF),
	"regnet_x_800mf":     entry(RegNetX800MF),
	"regnet_x_1_6gf":     entry(RegNetX1_6GF),
	"regnet_x_3_2gf":     entry(RegNetX3_2GF),
	"regnet_x_8gf":       entry(RegNetX8GF),
	"regnet_x_16gf":      entry(RegNetX16GF),
	"regnet_x_32gf":      entry(RegNetX32GF),
	"regnet_y_400mf":     entry(RegNetY400MF),
	"regnet_y_800mf":     entry(RegNetY800MF),
	"regnet_y_1_6gf":     entry(RegNetY1_6GF),
	"regnet_y_3_2gf":     entry(RegNetY3_2GF),
	"regnet_y_8gf":       entry(RegNetY8GF),
	"regnet_y_16gf":      entry(RegNetY16GF),
	"regnet_y_32gf":      entry(RegNetY32GF),
	"regnet_y_128gf":     entry(RegNetY128GF),
	"resnet18":           entry(ResNet18),
	"resnet34":           entry(ResNet34),
	"resnet50":           entry(ResNet50),
	"resnet101":          entry(ResNet101),
	"resnet152":          entry(ResNet152),
	"resnext50_32x4d":    entry(ResNeXt50_32x4d),
	"resnext101_32x8d":   entry(ResNeXt101_32x8d),
	"resnext101_64x4d":   entry(ResNeXt101_64x4d),
	"shufflenet_v2_x0_5": entry(ShuffleNetV2X0_5),
	"shufflenet_v2_x1_0": entry(ShuffleNetV2X1_0),
	"shufflenet_v2_x1_5": entry(ShuffleNetV2X1_5),
	"shufflenet_v2_x2_0": entry(ShuffleNetV2X2_0),
	"squeezenet1_0":      entry(SqueezeNet1_0),
	"squeezenet1_1":      entry(SqueezeNet1_1),
	"swin_t":             entry(SwinT),
	"swin_s":             entry(SwinS),
	"swin_b":             entry(SwinB),
	"swin_v2_t":          entry(SwinV2T),
	"swin_v2_s":          entry(SwinV2S),
	"swin_v2_b":          entry(SwinV2B),
	"vgg11":              entry(VGG11),
	"vgg11_bn":           entry(VGG11BN),
	"vgg13":              entry(VGG13),
	"vgg13_bn":           entry(VGG13BN),
	"vgg16":              entry(VGG16),
	"vgg16_bn":           entry(VGG16BN),
	"vgg19":              entry(VGG19),
	"vgg19_bn":           entry(VGG19BN),
	"vit_b_16":           entry(ViTB16),
	"vit_b_32":           entry(ViTB32),
	"vit_h_14":           entry(ViTH14),
	"vit_l_16":           entry(ViTL16),
	"vit_l_32":           entry(ViTL32),
	"wide_resnet50_2":    entry(WideResNet50_2),
	"wide_resnet101_2":   entry(WideResNet101_2),
}

// Names are the names that [New] knows, sorted: torchvision's list_models.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// New makes a model by torchvision's name, as its get_model. The options are those of the model's own function:
// [ResNetOptions] for a ResNet, [VGGOptions] for a VGG; none, or nil, stands for the defaults.
func New(name string, classes int, opts ...any) (nn.Layer, error) {
	build, ok := registry[name]
	if !ok {
		return nil, fmt.Errorf("models: there is no model %q; of the %d that Names lists these are near: %s", name, len(registry), near(name))
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

// near are the names that begin most like this one.
func near(name string) string {
	best, list := -1, []string(nil)
	for _, n := range Names() {
		same := 0
		for same < min(len(n), len(name)) && n[same] == name[same] {
			same++
		}
		if same > best {
			best, list = same, nil
		}
		if same == best {
			list = append(list, n)
		}
	}
	return strings.Join(list[:min(len(list), 10)], ", ")
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
