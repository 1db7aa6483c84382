package datasets_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// Photographs of one's own, a folder for each class, as batches to train on.
func ExampleLoadImageFolder() {
	root, err := os.MkdirTemp("", "photos")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	for _, name := range []string{"cat/1.png", "cat/2.png", "dog/1.png"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := imageio.Save(path, torch.Rand(3, 40, 60)); err != nil {
			log.Fatal(err)
		}
	}

	set, err := datasets.LoadImageFolder(root)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Len(), "images of", set.Classes)
	loader, err := data.NewLoader(set.Batches(transforms.ClassificationTrain{Crop: 32}.Files), data.LoaderOptions{BatchSize: 2, Workers: 2})
	if err != nil {
		log.Fatal(err)
	}
	for batch, err := range loader.Epoch(context.Background(), 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Input.Shape(), torch.Values[int](batch.Target))
	}
	// Output:
	// 3 images of [cat dog]
	// [2 3 32 32] [0 0]
	// [1 3 32 32] [1]
}
