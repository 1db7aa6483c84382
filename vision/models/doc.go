// Package models holds networks for images, ResNets and VGGs, with the parameter names of
// torchvision, so that its state dicts load, and with its initial values: the same numbers
// after the same seed.
//
//	model := models.ResNet18(1000)
//	small := models.ResNet18(10, models.ResNetOptions{Stem: models.CIFARStem})
//	light := models.VGG16BN(1000, models.VGGOptions{Dropout: new(0.2)})
//	model, err := models.New("resnet50", 1000)
//
// Models take float images [N, 3, H, W] and return scores [N, classes]. They run fastest in
// torch.ChannelsLast.
package models
