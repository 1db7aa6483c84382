// Package models holds torchvision's 80 networks that classify images, with its names of parameters, so that its state
// dicts load, and with its initial values: the same numbers after the same seed.
//
//	model := models.ResNet18(1000)
//	small := models.ResNet18(10, models.ResNetOptions{Stem: models.CIFARStem})
//	light := models.VGG16BN(1000, models.VGGOptions{Dropout: new(0.2)})
//	model, err := models.New("efficientnet_v2_s", 1000)
//	model, err := models.Pretrained(ctx, "convnext_tiny", "DEFAULT")
//
// Models take float images [N, 3, H, W] and return scores [N, classes]. They run fastest in torch.ChannelsLast.
// The families are AlexNet, ConvNeXt, DenseNet, EfficientNet, GoogLeNet, Inception3, MaxVit, MNASNet, MobileNetV2,
// MobileNetV3, RegNet, ResNet (ResNeXts and wide ones among them), ShuffleNetV2, SqueezeNet, SwinTransformer, VGG and
// VisionTransformer; each type names its paper. [Names] lists all networks, [WeightsOf] the published weights of one:
// where they are, how images are prepared for them, what they tell apart and how well.
package models
