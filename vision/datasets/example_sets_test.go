package datasets_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/vision/datasets"
)

// Images of noise measure a training without its data.
func ExampleFakeData() {
	set := datasets.FakeData(1000, datasets.FakeDataOptions{ImageSize: [3]int{3, 64, 64}})
	sample, err := set.At(context.Background(), 7)
	fmt.Println(set.Len(), sample.Input.Shape(), sample.Input.DType(), err)
	// Output: 1000 [3 64 64] uint8 <nil>
}

// A collection that is not there is downloaded, unless that is forbidden.
func ExampleLoadFashionMNIST() {
	root, err := os.MkdirTemp("", "data")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	_, err = datasets.LoadFashionMNIST(context.Background(), root, true, datasets.Options{Offline: true})
	fmt.Println("unavailable:", errors.Is(err, datasets.ErrUnavailable))
	// Output: unavailable: true
}

// A file of annotations says what is in images.
func ExampleLoadCocoDetection() {
	root, err := os.MkdirTemp("", "coco")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	file := filepath.Join(root, "instances.json")
	text := `{"images": [{"id": 7, "file_name": "7.jpg"}], "annotations": [{"image_id": 7, "category_id": 18, "bbox": [10, 20, 30, 40]}],
		"categories": [{"id": 18, "name": "dog"}]}`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	set, err := datasets.LoadCocoDetection(root, file)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range set.Annotations[0] {
		fmt.Println(set.Categories[a.CategoryID], a.BBox)
	}
	// Output: dog [10 20 30 40]
}
