package datasets

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// CocoDetection is images and what is in them, as MS COCO and many others write it down: torchvision's CocoDetection and
// CocoCaptions. It is a [data.Dataset] of [transforms.Sample].
type CocoDetection struct {
	Images      []CocoImage        // in the order of their numbers
	Annotations [][]CocoAnnotation // of each image, in the order of the file
	Categories  map[int]string     // names, by the numbers in annotations
	root        string
}

// CocoImage is an image of a [CocoDetection].
type CocoImage struct {
	ID       int    `json:"id"`
	FileName string `json:"file_name"`
	Height   int    `json:"height"`
	Width    int    `json:"width"`
}

// CocoAnnotation is what is known of one thing in an image.
type CocoAnnotation struct {
	ID           int             `json:"id"`
	ImageID      int             `json:"image_id"`
	CategoryID   int             `json:"category_id"`
	BBox         []float64       `json:"bbox"` // left, top, width, height; empty where the file has none
	Area         float64         `json:"area"`
	IsCrowd      int             `json:"iscrowd"`      // 1 where it is many things
	Segmentation json.RawMessage `json:"segmentation"` // polygons, or run lengths
	Caption      string          `json:"caption"`
}

// LoadCocoDetection reads a file of annotations, such as instances_val2017.json, for the images in root. It returns an error for a
// file that cannot be read, or has an annotation of an image that is not there. Images are read by At.
func LoadCocoDetection(root, annotations string) (*CocoDetection, error) {
	raw, err := os.ReadFile(annotations)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	var file struct {
		Images      []CocoImage
		Annotations []CocoAnnotation
		Categories  []struct {
			ID   int
			Name string
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", annotations, err)
	}
	d := &CocoDetection{Images: file.Images, Annotations: make([][]CocoAnnotation, len(file.Images)), root: root,
		Categories: map[int]string{}}
	slices.SortStableFunc(d.Images, func(a, b CocoImage) int { return cmp.Compare(a.ID, b.ID) })
	place := map[int]int{}
	for i, img := range d.Images {
		if !filepath.IsLocal(filepath.FromSlash(img.FileName)) {
			return nil, fmt.Errorf("datasets: %s: image %d is in %q, expected a path below the root", annotations, img.ID, img.FileName)
		}
		place[img.ID] = i
	}
	for _, a := range file.Annotations {
		i, ok := place[a.ImageID]
		if !ok || len(a.BBox) != 0 && len(a.BBox) != 4 {
			return nil, fmt.Errorf("datasets: %s: annotation %d is of image %d with the box %v, expected one of %d images and four numbers",
				annotations, a.ID, a.ImageID, a.BBox, len(d.Images))
		}
		d.Annotations[i] = append(d.Annotations[i], a)
	}
	for _, c := range file.Categories {
		d.Categories[c.ID] = c.Name
	}
	return d, nil
}

// Len is the number of images.
func (d *CocoDetection) Len() int { return len(d.Images) }

// At decodes image i, uint8 [3, H, W], with the boxes of its annotations, float32 [N, 4] in [transforms.XYWH], and their
// categories as labels, int64 [N]. Annotations without a box are left out.
func (d *CocoDetection) At(_ context.Context, i int) (s transforms.Sample, err error) {
	if s.Image, err = imageio.Read(filepath.Join(d.root, filepath.FromSlash(d.Images[i].FileName))); err != nil {
		return s, err
	}
	var boxes []float32
	labels := []int{}
	for _, a := range d.Annotations[i] {
		if len(a.BBox) == 4 {
			boxes, labels = append(boxes, narrow(a.BBox)...), append(labels, a.CategoryID)
		}
	}
	s.Boxes, s.Format, s.Labels = torch.FromSlice(boxes, len(labels), 4), transforms.XYWH, torch.FromSlice(labels)
	return s, nil
}

func narrow(list []float64) []float32 {
	out := make([]float32, len(list))
	for i, v := range list {
		out[i] = float32(v)
	}
	return out
}
