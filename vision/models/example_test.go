package models_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/vision/models"
)

// By name, as a program's flag gives it.
func ExampleNew() {
	torch.ManualSeed(0)
	model, err := models.New("resnet18", 10, models.ResNetOptions{Stem: models.CIFARStem})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nn.Close(model)
	fmt.Println(nn.NumParameters(model))
	_, err = models.New("resnet19", 10)
	fmt.Println(err != nil, len(models.Names()))
	// Output:
	// 11173962
	// true 80
}

// Another head for other classes: the backbone keeps what it has learned.
func ExampleResNet() {
	torch.ManualSeed(0)
	model := models.ResNet18(1000)
	defer nn.Close(model)
	nn.SetRequiresGrad(model, false)
	nn.Close(model.FC)
	model.FC = nn.NewLinear(512, 3)
	trained := 0
	for name, p := range nn.NamedParameters(model) {
		if p.RequiresGrad() {
			trained++
			fmt.Println(name)
		}
	}
	// Output:
	// fc.weight
	// fc.bias
}

// What published weights are for, before they are fetched.
func ExampleFindWeights() {
	w, err := models.FindWeights("vit_b_16", "IMAGENET1K_SWAG_E2E_V1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w, w.Hash(), w.Acc1, w.FileSize, "MB")
	fmt.Println(w.Transforms.Resize, w.Transforms.Crop, w.Transforms.Interpolation, len(w.Categories), w.Categories[1])
	// Output:
	// ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1 9ac1b537 85.304 331.398 MB
	// 384 384 bicubic 1000 goldfish
}
