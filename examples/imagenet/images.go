package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// images is what a run learns from and is measured by.
type images struct {
	train, val           *data.Loader[data.Batch]
	classes              []string
	trainFiles, valFiles *datasets.ImageFiles
}

// openImages lists the photographs of DIR/train and DIR/val, and makes their loaders.
func openImages(c *config) (*images, error) {
	train, err := datasets.LoadImageFolder(filepath.Join(c.data, "train"))
	if err != nil {
		return nil, err
	}
	val, err := datasets.LoadImageFolder(filepath.Join(c.data, "val"))
	if err != nil {
		return nil, err
	}
	if !slices.Equal(train.Classes, val.Classes) {
		return nil, fmt.Errorf("%s has folders for %d classes in train and for %d in val, expected the same in both", c.data,
			len(train.Classes), len(val.Classes))
	}
	s := &images{classes: train.Classes, trainFiles: some(train, c.limit), valFiles: some(val, (c.limit+4)/5)}
	c.Images = s.trainFiles.Len()

	o := data.LoaderOptions{BatchSize: c.Batch, Seed: c.Seed, Workers: c.workers, PinMemory: c.dev.IsCUDA()}
	still := transforms.ImageClassification{Resize: c.ValResize, Crop: c.ValCrop}
	if s.val, err = data.NewLoader(s.valFiles.Batches(still.Files), o); err != nil {
		return nil, err
	}
	o.Sampler = data.Random(s.trainFiles.Len(), c.Seed)
	if c.group != nil {
		o.Sampler = data.Shard(o.Sampler, c.rank(), c.Ranks)
		o.Seed += uint64(c.rank()) // of the augmentation
	}
	s.train, err = data.NewLoader(c.mixed(s.trainFiles.Batches(c.augment()), len(s.classes)), o)
	return s, err
}

// some are n of the files, drawn once and for all, or all of them if n is 0.
func some(files *datasets.ImageFiles, n int) *datasets.ImageFiles {
	if n == 0 || n >= files.Len() {
		return files
	}
	return files.Subset(data.Random(files.Len(), 0).Indices(0)[:n])
}

// augment is what happens to photographs in training: in one pass over the files unless a flag asks for more.
func (c *config) augment() func(files [][]byte, r *rand.Rand) (torch.Tensor, error) {
	if c.AutoAugment == "" && c.RandomErase == 0 {
		return transforms.ClassificationTrain{Crop: c.Crop}.Files
	}
	steps := transforms.Compose{
		transforms.RandomResizedCrop{Size: transforms.Square(c.Crop)},
		transforms.RandomHorizontalFlip{},
	}
	switch c.AutoAugment {
	case "imagenet":
		steps = append(steps, transforms.AutoAugment{Interpolation: "bilinear"})
	case "ra":
		steps = append(steps, transforms.RandAugment{Interpolation: "bilinear"})
	case "ta_wide":
		steps = append(steps, transforms.TrivialAugmentWide{Interpolation: "bilinear"})
	case "augmix":
		steps = append(steps, transforms.AugMix{})
	}
	steps = append(steps, transforms.ToDType{Scale: true},
		transforms.Normalize{Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}})
	if c.RandomErase > 0 {
		steps = append(steps, transforms.RandomErasing{P: c.RandomErase})
	}
	return transforms.EachFile(steps)
}

// mixed lets MixUp or CutMix have the batches, if a flag asks for them: targets become weights of classes [N, classes].
func (c *config) mixed(from data.Source[data.Batch], classes int) data.Source[data.Batch] {
	var mix []transforms.Transform
	if c.MixUp > 0 {
		mix = append(mix, transforms.MixUp{Alpha: c.MixUp, NumClasses: classes})
	}
	if c.CutMix > 0 {
		mix = append(mix, transforms.CutMix{Alpha: c.CutMix, NumClasses: classes})
	}
	if len(mix) == 0 {
		return from
	}
	one := transforms.RandomChoice{Transforms: mix}
	return data.Map(from, func(b data.Batch, r *rand.Rand) data.Batch {
		s := one.Apply(transforms.Sample{Image: b.Input, Labels: b.Target}, r)
		b.Input, b.Target = s.Image, s.Labels
		return b
	})
}
