package datasets

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

const annotation = `<annotation>
	<folder>VOC2007</folder><filename>%s.jpg</filename><source><database>The VOC2007 Database</database></source>
	<size><width>14</width><height>12</height><depth>3</depth></size><segmented>0</segmented>
%s</annotation>`

const object = `	<object><name>%s</name><pose>Left</pose><truncated>1</truncated><difficult>0</difficult>
		<bndbox><xmin>%v</xmin><ymin>%v</ymin><xmax>%v</xmax><ymax>%v</ymax></bndbox>
		<part><name>head</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></part></object>
`

// paletted writes a PNG whose pixels are places in a palette.
func paletted(t *testing.T, path ...string) {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, 14, 12), make(color.Palette, 256))
	for i := range img.Palette {
		img.Palette[i] = color.RGBA{uint8(i), uint8(7 * i), uint8(i / 2), 255}
	}
	copy(img.Pix, noise(4, len(img.Pix)))
	file := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, png.Encode(f, img))
	require.NoError(t, f.Close())
}

func TestVOCEqualsTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	root := t.TempDir()
	dir := filepath.Join(root, "VOCdevkit", "VOC2007")
	for i, objects := range []string{
		fmt.Sprintf(object, "dog", 1, 2, 13, 11) + fmt.Sprintf(object, "tvmonitor", 3.5, 1, 9, 12),
		fmt.Sprintf(object, "aeroplane", 2, 2, 3, 3),
	} {
		name := fmt.Sprintf("00000%d", i)
		picture(t, 3, 12, 14, dir, "JPEGImages", name+".jpg")
		put(t, fmt.Appendf(nil, annotation, name, objects), dir, "Annotations", name+".xml")
		paletted(t, dir, "SegmentationClass", name+".png")
	}
	put(t, []byte("000000\n000001\n"), dir, "ImageSets", "Main", "test.txt")
	put(t, []byte("000001\n000000\n"), dir, "ImageSets", "Segmentation", "test.txt")

	masks := must(LoadVOCSegmentation(root, "2007", "test"))(t)
	requireEqualsTorchvision(t, pair{masks, nil, "D.VOCSegmentation(root, '2007', 'test')", root})
	things := must(LoadVOCDetection(root, "2007", "test"))(t)
	want := peer.Run(t, "testdata/voc.py", nil, root, strings.Join(VOCClasses(), " "))
	require.Equal(t, 2, things.Len())
	for i := range things.Len() {
		torch.Scope(func() {
			s, err := things.At(t.Context(), i)
			require.NoError(t, err)
			require.Equal(t, []int{3, 12, 14}, s.Image.Shape())
			require.Equal(t, transforms.XYXY, s.Format)
			torchtest.Equal(t, s.Boxes, want[fmt.Sprint("boxes ", i)])
			torchtest.Equal(t, s.Labels, want[fmt.Sprint("labels ", i)])
			a, err := things.Annotation(i)
			require.NoError(t, err)
			require.Equal(t, torch.Values[int](want[fmt.Sprint("size ", i)]), []int{a.Height, a.Width, a.Depth})
			require.Equal(t, "Left", a.Objects[0].Pose)
			require.Equal(t, 1, a.Objects[0].Truncated)
		})
	}

	put(t, fmt.Appendf(nil, annotation, "x", ""), dir, "Annotations", "000000.xml")
	torch.Scope(func() {
		s, err := things.At(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, []int{0, 4}, s.Boxes.Shape())
	})
	put(t, fmt.Appendf(nil, annotation, "x", fmt.Sprintf(object, "unicorn", 1, 2, 3, 4)), dir, "Annotations", "000000.xml")
	_, err := things.At(t.Context(), 0)
	require.ErrorContains(t, err, `has a "unicorn", expected one of aeroplane`)
	put(t, []byte("<annotation>"), dir, "Annotations", "000000.xml")
	_, err = things.At(t.Context(), 0)
	require.ErrorContains(t, err, "000000.xml")
	picture(t, 3, 12, 14, dir, "SegmentationClass", "000001.png")
	torch.Scope(func() {
		_, err = masks.At(t.Context(), 0)
		require.ErrorIs(t, err, imageio.ErrFormat)
	})
	_, err = LoadVOCDetection(root, "2012", "val")
	require.ErrorIs(t, err, os.ErrNotExist)
	put(t, []byte("../../secret\n"), dir, "ImageSets", "Main", "val.txt")
	_, err = LoadVOCDetection(root, "2007", "val")
	require.ErrorContains(t, err, `val lists "../../secret"`)
}

const instances = `{"info": {"year": 2017},
"images": [{"id": 9, "file_name": "b.jpg", "height": 12, "width": 14}, {"id": 2, "file_name": "sub/a.png", "height": 5, "width": 6}],
"annotations": [
	{"id": 1, "image_id": 9, "category_id": 18, "bbox": [1.5, 2, 3.25, 4], "area": 13, "iscrowd": 0, "segmentation": [[1, 2, 3, 4, 5, 6]]},
	{"id": 2, "image_id": 9, "category_id": 1, "bbox": [0, 0, 14, 12], "area": 168, "iscrowd": 1,
		"segmentation": {"counts": [1, 2], "size": [12, 14]}},
	{"id": 3, "image_id": 9, "caption": "a dog"}],
"categories": [{"id": 18, "name": "dog"}, {"id": 1, "name": "person"}]}`

func TestCocoDetection(t *testing.T) {
	torchtest.NoLeaks(t)
	root := t.TempDir()
	picture(t, 3, 12, 14, root, "b.jpg")
	picture(t, 3, 5, 6, root, "sub", "a.png")
	file := filepath.Join(root, "instances.json")
	put(t, []byte(instances), file)
	set := must(LoadCocoDetection(root, file))(t)
	require.Equal(t, 2, set.Len())
	require.Equal(t, []int{2, 9}, []int{set.Images[0].ID, set.Images[1].ID}, "images are in the order of their numbers")
	require.Equal(t, map[int]string{18: "dog", 1: "person"}, set.Categories)
	require.Empty(t, set.Annotations[0])
	require.Equal(t, "a dog", set.Annotations[1][2].Caption)
	require.Equal(t, 1, set.Annotations[1][1].IsCrowd)
	require.JSONEq(t, `[[1, 2, 3, 4, 5, 6]]`, string(set.Annotations[1][0].Segmentation))
	torch.Scope(func() {
		s, err := set.At(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, []int{3, 12, 14}, s.Image.Shape())
		require.Equal(t, transforms.XYWH, s.Format)
		require.Equal(t, [][]float64{{1.5, 2, 3.25, 4}, {0, 0, 14, 12}}, torch.Matrix[float64](s.Boxes))
		require.Equal(t, []int{18, 1}, torch.Values[int](s.Labels))
		s, err = set.At(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, []int{0, 4}, s.Boxes.Shape())
		require.Equal(t, []int{0}, s.Labels.Shape())
	})
	require.NoError(t, os.Remove(filepath.Join(root, "b.jpg")))
	_, err := set.At(t.Context(), 1)
	require.ErrorIs(t, err, os.ErrNotExist)

	for want, text := range map[string]string{
		"unexpected end of JSON":                                   "{",
		"annotation 0 is of image 3":                               `{"annotations": [{"image_id": 3}]}`,
		`image 0 is in "../x.png", expected a path below the root`: `{"images": [{"file_name": "../x.png"}]}`,
		"with the box [1]":                                         `{"images": [{"file_name": "x"}], "annotations": [{"bbox": [1]}]}`,
	} {
		put(t, []byte(text), file)
		_, err := LoadCocoDetection(root, file)
		require.ErrorContains(t, err, want)
	}
	_, err = LoadCocoDetection(root, filepath.Join(root, "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
