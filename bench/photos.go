package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/jpeg"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// photosVariable names a folder with JPEGs, such as Imagenette's; without it some are made. spdlVariable names one with SPDL, to be
// compared with as well.
const (
	photosVariable = "LIBTORCH_GO_PHOTOS"
	spdlVariable   = "LIBTORCH_GO_SPDL"
)

// photos are files on their way into batches: read, decoded, RandomResizedCrop(224), mirrored, normalised. python/photos.py has the same.
type photos struct {
	paths  []string
	loader *data.Loader[torch.Tensor]
	epoch  int
}

const photoBatch = 64

// photoWorkers is what is best on two cores.
const photoWorkers = 2

func newPhotos(file string) (workload, error) {
	folder := os.Getenv(photosVariable)
	if folder == "" {
		folder = filepath.Join(filepath.Dir(file), "photos")
		if err := makePhotos(folder); err != nil {
			return nil, err
		}
	}
	p := &photos{}
	if _, err := jpeg.Open(); err != nil {
		return nil, err
	}
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if strings.EqualFold(filepath.Ext(path), ".jpeg") {
			p.paths = append(p.paths, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(p.paths)
	p.loader, err = data.NewLoader(p, data.LoaderOptions{BatchSize: photoBatch, Shuffle: true, Workers: photoWorkers})
	return p, err
}

// makePhotos writes 256 pictures of 500 x 375 pixels, unless they are there.
func makePhotos(folder string) error {
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for i := range 256 {
		var file []byte
		var err error
		torch.Scope(func() {
			img := pattern(3*25*34, i+1, 997).Reshape(3, 25, 34).Abs()
			img = transforms.Image(transforms.Compose{transforms.Resize{Size: transforms.Size{375, 500}, Interpolation: "bicubic"}}, img,
				nil)
			img = img.DivScalar(img.Max().Float64()).Clamp(0, 1).MulScalar(255).To(torch.Uint8)
			file, err = imageio.EncodeJPEG(img, imageio.EncodeOptions{Quality: 92})
		})
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, fmt.Sprintf("%03d.jpeg", i)), file, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Len and Batch make photos a source.
func (p *photos) Len() int { return len(p.paths) }

func (p *photos) Batch(_ context.Context, indices []int, r *rand.Rand) (torch.Tensor, error) {
	files := make([][]byte, len(indices))
	for k, i := range indices {
		var err error
		if files[k], err = os.ReadFile(p.paths[i]); err != nil {
			return torch.Tensor{}, err
		}
	}
	return transforms.ClassificationTrain{}.Files(files, r)
}

// run goes through all photos once for each n of them.
func (p *photos) run(n int) {
	for seen := 0; seen < n; {
		p.epoch++
		for batch, err := range p.loader.Epoch(context.Background(), p.epoch) {
			if err != nil {
				torch.Throw("bench", torch.KindValue, "%v", err)
			}
			if seen += batch.Size(0); seen >= n {
				break
			}
		}
	}
}

// check makes a batch of given parts.
func (p *photos) check() (result string) {
	torch.Scope(func() {
		batch := torch.Empty(16, 3, 224, 224)
		for i := range 16 {
			file, err := os.ReadFile(p.paths[i])
			if err != nil {
				torch.Throw("bench", torch.KindValue, "%v", err)
			}
			w, h, _ := jpeg.Dimensions(file)
			pass := jpeg.Pass{Part: jpeg.Part{Left: i * w / 40, Top: i * h / 50, Width: w / 2, Height: h/2 + i}, Flip: i%2 == 1,
				Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}}
			if err := pass.Into(batch, i, file); err != nil {
				torch.Throw("bench", torch.KindValue, "%v", err)
			}
		}
		result = digest(batch)
	})
	return result
}

// cifar is small images on their way into batches: a crop out of a frame, mirrored, normalised.
type cifar struct {
	loader *data.Loader[data.Batch]
	pass   transforms.CropFlipNormalize
	set    *data.TensorDataset
	epoch  int
}

func newCIFAR(string) (workload, error) {
	const n = 10_000
	images := pattern(n*3*32*32, 3, 256).Reshape(n, 3, 32, 32)
	c := &cifar{set: data.NewTensorDataset(bytesOf(images).Keep(), torch.Tensor{}), pass: transforms.CropFlipNormalize{Size: 32,
		Padding: 4,
		Mean:    [3]float64{0.4914, 0.4822, 0.4465}, Std: [3]float64{0.247, 0.2435, 0.2616}}}
	images.Close()
	source := data.Map(c.set, func(b data.Batch, r *rand.Rand) data.Batch {
		b.Input = c.pass.Apply(b.Input, r)
		return b
	})
	var err error
	c.loader, err = data.NewLoader(source, data.LoaderOptions{BatchSize: 128, Shuffle: true, Workers: photoWorkers})
	return c, err
}

// bytesOf makes bytes of a pattern.
func bytesOf(t torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor { return t.MulScalar(1000).Abs().RemainderScalar(256).To(torch.Uint8) })
}

func (c *cifar) run(n int) {
	for seen := 0; seen < n; {
		c.epoch++
		for batch, err := range c.loader.Epoch(context.Background(), c.epoch) {
			if err != nil {
				torch.Throw("bench", torch.KindValue, "%v", err)
			}
			seen += batch.Input.Size(0)
		}
	}
}

// check makes a batch of given places.
func (c *cifar) check() (result string) {
	torch.Scope(func() {
		var tops, lefts, flips, all []int
		for i := range 64 {
			all, tops, lefts, flips = append(all, i), append(tops, i%9-4), append(lefts, i%7-4), append(flips, i%2)
		}
		batch, err := c.set.Batch(context.Background(), all, nil)
		if err != nil {
			torch.Throw("bench", torch.KindValue, "%v", err)
		}
		result = digest(jpeg.CropFlip(batch.Input, tops, lefts, flips, 32, c.pass.Mean[:], c.pass.Std[:]))
	})
	return result
}

func photoCases() (list []benchmark) {
	kinds := []string{"torchvision v2", "PIL"}
	if os.Getenv(spdlVariable) != "" {
		kinds = append(kinds, "SPDL")
	}
	for _, kind := range kinds {
		for _, workers := range []int{0, 1, 2, 3, 4} {
			if kind == "SPDL" && workers == 0 {
				continue
			}
			list = append(list, benchmark{name: fmt.Sprintf("photos to batches, %s, %d workers", kind, workers), group: imageGroup,
				n: 1500, make: newPhotos})
		}
	}
	for _, workers := range []int{0, 1, 2} {
		list = append(list, benchmark{name: fmt.Sprintf("CIFAR to batches, torchvision v2, %d workers", workers), group: imageGroup,
			n:    10_000,
			make: newCIFAR})
	}
	return list
}
