package datasets

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// VOCClasses are the twenty kinds of things in Pascal VOC, sorted by name.
func VOCClasses() []string {
	return []string{"aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog", "horse",
		"motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"}
}

// vocFolders are where the publisher's archives unpack to.
var vocFolders = map[string]string{
	"2007": "VOCdevkit/VOC2007", "2008": "VOCdevkit/VOC2008", "2009": "VOCdevkit/VOC2009", "2010": "VOCdevkit/VOC2010",
	"2011": "TrainVal/VOCdevkit/VOC2011", "2012": "VOCdevkit/VOC2012",
}

// vocList reads which images a set of a year has: their paths, and those of what is known of them.
func vocList(root, year, imageSet, kind, folder, ending string) (images, targets []string, err error) {
	place, ok := vocFolders[year]
	if !ok {
		return nil, nil, unknown("year", year, "2007", "2008", "2009", "2010", "2011", "2012")
	}
	sets := []string{"train", "trainval", "val"}
	if year == "2007" {
		sets = append(sets, "test")
	}
	if !slices.Contains(sets, imageSet) {
		return nil, nil, unknown("set of "+year, imageSet, sets...)
	}
	dir := filepath.Join(root, filepath.FromSlash(place))
	names, err := textLines(filepath.Join(dir, "ImageSets", kind, imageSet+".txt"))
	if err != nil {
		return nil, nil, fmt.Errorf("datasets: %w", err)
	}
	for _, name := range names {
		if !filepath.IsLocal(name) {
			return nil, nil, fmt.Errorf("datasets: %s lists %q, expected a name", imageSet, name)
		}
		images = append(images, filepath.Join(dir, "JPEGImages", name+".jpg"))
		targets = append(targets, filepath.Join(dir, folder, name+ending))
	}
	return images, targets, nil
}

// VOCDetection is photographs and the things in them: torchvision's VOCDetection. It is a [data.Dataset] of [transforms.Sample].
type VOCDetection struct {
	Images      []string // paths
	Annotations []string // paths of the files that say what is in them
}

// LoadVOCDetection lists the photographs of a year's set (train, val, trainval, of 2007 also test) in a folder such as VOCdevkit/VOC2012 of
// root, where the publisher's archives unpack to. It returns an error where it has no list of them.
func LoadVOCDetection(root, year, imageSet string) (*VOCDetection, error) {
	images, targets, err := vocList(root, year, imageSet, "Main", "Annotations", ".xml")
	return &VOCDetection{images, targets}, err
}

// VOCAnnotation is what is known of a photograph.
type VOCAnnotation struct {
	Folder    string      `xml:"folder"`
	Filename  string      `xml:"filename"`
	Width     int         `xml:"size>width"`
	Height    int         `xml:"size>height"`
	Depth     int         `xml:"size>depth"`
	Segmented int         `xml:"segmented"`
	Objects   []VOCObject `xml:"object"`
}

// VOCObject is a thing in a photograph.
type VOCObject struct {
	Name      string  `xml:"name"`
	Pose      string  `xml:"pose"`
	Truncated int     `xml:"truncated"` // 1 where it reaches out of its box
	Difficult int     `xml:"difficult"` // 1 where it does not count
	XMin      float64 `xml:"bndbox>xmin"`
	YMin      float64 `xml:"bndbox>ymin"`
	XMax      float64 `xml:"bndbox>xmax"`
	YMax      float64 `xml:"bndbox>ymax"`
}

// Len is the number of photographs.
func (d *VOCDetection) Len() int { return len(d.Images) }

// Annotation reads what is known of photograph i.
func (d *VOCDetection) Annotation(i int) (a VOCAnnotation, err error) {
	raw, err := os.ReadFile(d.Annotations[i])
	if err == nil {
		err = xml.Unmarshal(raw, &a)
	}
	if err != nil {
		return a, fmt.Errorf("datasets: %s: %w", d.Annotations[i], err)
	}
	for k := range a.Objects {
		a.Objects[k].Name = strings.TrimSpace(a.Objects[k].Name)
	}
	return a, nil
}

// At decodes photograph i, uint8 [3, H, W], with the boxes of the things in it, float32 [N, 4] in [transforms.XYXY] with the numbers of the
// file, whose first pixel is 1, and their kinds as labels, int64 [N], indices into [VOCClasses].
func (d *VOCDetection) At(_ context.Context, i int) (s transforms.Sample, err error) {
	a, err := d.Annotation(i)
	if err != nil {
		return s, err
	}
	var boxes []float32
	labels, classes := []int{}, VOCClasses()
	for _, o := range a.Objects {
		class := slices.Index(classes, o.Name)
		if class < 0 {
			return s, fmt.Errorf("datasets: %s has a %q, expected one of %s", d.Annotations[i], o.Name, strings.Join(classes, ", "))
		}
		boxes, labels = append(boxes, narrow([]float64{o.XMin, o.YMin, o.XMax, o.YMax})...), append(labels, class)
	}
	if s.Image, err = imageio.Read(d.Images[i]); err != nil {
		return s, err
	}
	s.Boxes, s.Format, s.Labels = torch.FromSlice(boxes, len(labels), 4), transforms.XYXY, torch.FromSlice(labels)
	return s, nil
}

// VOCSegmentation is photographs and the class of each of their pixels: torchvision's VOCSegmentation. It is a [data.Dataset].
type VOCSegmentation struct {
	Images []string // paths
	Masks  []string // paths
}

// LoadVOCSegmentation is [LoadVOCDetection] for the photographs whose pixels are classified.
func LoadVOCSegmentation(root, year, imageSet string) (*VOCSegmentation, error) {
	images, targets, err := vocList(root, year, imageSet, "Segmentation", "SegmentationClass", ".png")
	return &VOCSegmentation{images, targets}, err
}

// Len is the number of photographs.
func (d *VOCSegmentation) Len() int { return len(d.Images) }

// At decodes photograph i, uint8 [3, H, W], and the classes of its pixels, uint8 [H, W]: 0 for the background, 255 between things, and
// otherwise one more than the index into [VOCClasses].
func (d *VOCSegmentation) At(_ context.Context, i int) (s data.Sample, err error) {
	if s.Input, err = imageio.Read(d.Images[i]); err == nil {
		s.Target, err = readIndices(d.Masks[i])
	}
	return s, err
}
