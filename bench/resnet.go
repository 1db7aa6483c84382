package main

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/vision/models"
)

const (
	classes   = 10
	batchSize = 32
)

// training is ResNet-18 with the stem for CIFAR, trained by fused SGD on images in
// channels-last order, in float32 or under autocast to bfloat16. python/resnet.py is its
// twin.
type training struct {
	model          *models.ResNet
	optimizer      *optim.SGD
	images, labels torch.Tensor
	precision      torch.DType
	batch, at      int
}

func newModel() *models.ResNet {
	return models.ResNet18(classes, models.ResNetOptions{Stem: models.CIFARStem})
}

// newTraining makes a training from images, labels and weights; they remain the caller's.
func newTraining(name string, inputs map[string]torch.Tensor, batch int) (*training, error) {
	t := &training{model: newModel(), precision: torch.Float32, batch: batch}
	if strings.HasSuffix(name, "bf16") {
		t.precision = torch.BFloat16
	}
	t.images, t.labels = inputs["images"].To(torch.ChannelsLast), inputs["labels"].Alias()
	weights := maps.Clone(inputs)
	delete(weights, "images")
	delete(weights, "labels")
	if err := nn.LoadStateDict(t.model, weights); err != nil {
		return nil, err
	}
	nn.To(t.model, torch.ChannelsLast)
	t.optimizer = optim.NewSGD(nn.Parameters(t.model), 0.01, optim.SGDOptions{Momentum: 0.9, WeightDecay: 5e-4, Nesterov: true})
	return t, nil
}

// step trains on the next batch and returns the loss.
func (t *training) step() (value float32) {
	torch.Scope(func() {
		images, labels := t.images.Narrow(0, t.at, t.batch), t.labels.Narrow(0, t.at, t.batch)
		t.at = (t.at + t.batch) % t.labels.Size(0)
		var loss torch.Tensor
		amp.Autocast(torch.CPU, t.precision, func() { loss = F.CrossEntropy(t.model.Forward(images), labels) })
		loss.Backward()
		t.optimizer.Step()
		t.optimizer.ZeroGrad()
		value = float32(loss.Float64())
	})
	return value
}

func (t *training) run(n int) {
	for range n {
		t.step()
	}
}

// losses are the bits of the next n losses: printed decimals may hide a difference.
func (t *training) losses(n int) (list []int32) {
	for range n {
		list = append(list, int32(math.Float32bits(t.step())))
	}
	return list
}

// check is two losses, and all weights and buffers after them.
func (t *training) check() string {
	losses := strings.Trim(fmt.Sprint(t.losses(2)), "[]")
	var state []torch.Tensor
	for _, tensor := range nn.StateDict(t.model) {
		state = append(state, tensor)
	}
	return losses + " " + digest(state...)
}

func trainingCases() (list []benchmark) {
	for _, precision := range []string{"fp32", "bf16"} {
		name := "ResNet-18 " + precision
		list = append(list, benchmark{name: name, group: trainingGroup, n: 1, make: func(file string) (workload, error) {
			inputs, err := safetensors.Load(file)
			if err != nil {
				return nil, err
			}
			defer inputs.Close()
			return newTraining(name, inputs.Tensors, batchSize)
		}})
	}
	return list
}

// writeTraining makes the file that both sides train from: new weights and n random images.
func writeTraining(file string, n int) error {
	torch.ManualSeed(1)
	weights := maps.Collect(nn.StateDict(newModel()))
	weights["images"] = torch.RandN(n, 3, 32, 32)
	weights["labels"] = torch.RandInt(0, classes, []int{n})
	return safetensors.Save(file, maps.All(weights))
}
