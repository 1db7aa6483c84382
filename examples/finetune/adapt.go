package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/models"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// open makes the loaders of the photographs to train on and to measure with.
func open(dev torch.Device) (train, val *data.Loader[data.Batch], classes []string, err error) {
	learn, err := datasets.LoadImageFolder(filepath.Join(*root, "train"))
	if err != nil {
		return nil, nil, nil, err
	}
	judge, err := datasets.LoadImageFolder(filepath.Join(*root, "val"))
	if err != nil {
		return nil, nil, nil, err
	}
	if !slices.Equal(learn.Classes, judge.Classes) {
		return nil, nil, nil, fmt.Errorf("the classes are %v in train and %v in val, expected the same", learn.Classes, judge.Classes)
	}
	o := data.LoaderOptions{BatchSize: *size, Seed: *seed, Workers: *workers, PinMemory: dev.IsCUDA()}
	still := transforms.ImageClassification{Resize: *crop * 8 / 7, Crop: *crop}
	if val, err = data.NewLoader(judge.Batches(still.Files), o); err != nil {
		return nil, nil, nil, err
	}
	o.Shuffle = true
	train, err = data.NewLoader(learn.Batches(transforms.ClassificationTrain{Crop: *crop}.Files), o)
	return train, val, learn.Classes, err
}

// adapt makes the network for that many classes. It has the weights of the published one wherever these fit; the layers in which they
// do not are new, and have the initial values of the network.
func adapt(ctx context.Context, classes int) (model nn.Layer, fresh []string, err error) {
	known, err := published(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer torch.Close(slices.Collect(maps.Values(known))...)
	if model, err = models.New(*arch, classes); err != nil {
		return nil, nil, err
	}
	kept := map[string]torch.Tensor{}
	for name, value := range nn.StateDict(model) {
		if w := known[name]; w.Defined() && slices.Equal(w.Shape(), value.Shape()) {
			kept[name] = w
		} else if layer := strings.TrimSuffix(name, "."+name[strings.LastIndex(name, ".")+1:]); !slices.Contains(fresh, layer) {
			fresh = append(fresh, layer)
		}
	}
	for name := range kept { // a layer is new as a whole
		if isNew(fresh, name) {
			delete(kept, name)
		}
	}
	if len(kept) == 0 {
		err = fmt.Errorf("%s has no weights of a %s", *weights, *arch)
	} else {
		err = nn.LoadStateDict(model, kept, nn.LoadOptions{NonStrict: true}) // all but the new layers
	}
	if err != nil {
		nn.Close(model)
		return nil, nil, err
	}
	return model, fresh, nil
}

// isNew tells whether a parameter is of one of these layers.
func isNew(layers []string, name string) bool {
	return slices.ContainsFunc(layers, func(layer string) bool { return strings.HasPrefix(name, layer+".") })
}

// published are the weights that the network comes with.
func published(ctx context.Context) (map[string]torch.Tensor, error) {
	_, err := models.FindWeights(*arch, *weights)
	if err != nil && *weights == filepath.Base(*weights) && filepath.Ext(*weights) == "" {
		return nil, err
	}
	if err != nil {
		return pt.LoadStateDict(*weights)
	}
	model, err := models.Pretrained(ctx, *arch, *weights)
	if err != nil {
		return nil, err
	}
	return maps.Collect(nn.StateDict(model)), nil
}
