package phrasebook

import (
	"image/color"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/models"
	"github.com/libtorch-go/libtorch/vision/ops"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

var (
	img, found, scores torch.Tensor
	r                  *rand.Rand
	root               string
)

var images = chapter{
	title: "Transforms",
	python: `img = torch.arange(192, dtype=torch.uint8).reshape(3, 8, 8)
found = tv_tensors.BoundingBoxes([[1, 0, 5, 4], [2, 3, 9, 8]], format="XYXY", canvas_size=(8, 8), dtype=torch.float32)`,
	setup: func() {
		img = torch.Arange(192).To(torch.Uint8).Reshape(3, 8, 8)
		found = torch.FromNested([][]float32{{1, 0, 5, 4}, {2, 3, 9, 8}})
		r = rand.New(rand.NewPCG(0, 0))
	},
	phrases: []phrase{
		{"v2.Resize((4, 6))(img)", func() any { return transforms.Image(transforms.Resize{Size: transforms.Size{4, 6}}, img, nil) }},
		{"v2.Resize(5, interpolation=v2.InterpolationMode.BICUBIC)(img)", func() any {
			return transforms.Image(transforms.Resize{ShortSide: 5, Interpolation: "bicubic"}, img, nil)
		}},
		{"v2.Resize((12, 12), interpolation=v2.InterpolationMode.NEAREST)(img)", func() any {
			return transforms.Image(transforms.Resize{Size: transforms.Square(12), Interpolation: "nearest"}, img, nil)
		}},
		{"v2.CenterCrop(4)(img)", func() any { return transforms.Image(transforms.CenterCrop{Size: transforms.Square(4)}, img, nil) }},
		{"v2.Pad([1, 2, 3, 4], fill=7)(img)", func() any {
			return transforms.Image(transforms.Pad{Padding: [4]int{1, 2, 3, 4}, Fill: []float64{7}}, img, nil)
		}},
		{"v2.Pad(2, padding_mode='reflect')(img)", func() any {
			return transforms.Image(transforms.Pad{Padding: [4]int{2, 2, 2, 2}, Mode: "reflect"}, img, nil)
		}},
		{"v2.FiveCrop(3)(img)", func() any { return transforms.FiveCrop(img, transforms.Square(3)) }},
		{"v2.TenCrop(3)(img)", func() any { return transforms.TenCrop(img, transforms.Square(3), false) }},
		{"v2.RandomCrop(8)(img)", func() any { return transforms.Image(transforms.RandomCrop{Size: transforms.Square(8)}, img, r) }},
		{"v2.RandomResizedCrop(4, scale=(1, 1), ratio=(1, 1))(img)", func() any {
			crop := transforms.RandomResizedCrop{Size: transforms.Square(4), Scale: &[2]float64{1, 1}, Ratio: &[2]float64{1, 1}}
			return transforms.Image(crop, img, r)
		}},
		{"v2.RandomHorizontalFlip(p=1.0)(img)", func() any { return transforms.Image(transforms.RandomHorizontalFlip{P: 1}, img, r) }},
		{"v2.RandomVerticalFlip(p=1.0)(img)", func() any { return transforms.Image(transforms.RandomVerticalFlip{P: 1}, img, r) }},
		{"v2.RandomRotation((90, 90), expand=True)(img)", func() any {
			return transforms.Image(transforms.RandomRotation{Degrees: [2]float64{90, 90}, Expand: true}, img, r)
		}},
		{"v2.Grayscale()(img)", func() any { return transforms.Image(transforms.Grayscale{}, img, nil) }},
		{"v2.ColorJitter(brightness=(1.5, 1.5))(img)", func() any {
			return transforms.Image(transforms.ColorJitter{BrightnessRange: &[2]float64{1.5, 1.5}}, img, r)
		}},
		{"v2.GaussianBlur(3, sigma=(1.0, 1.0))(img)", func() any {
			return transforms.Image(transforms.GaussianBlur{KernelSize: [2]int{3, 3}, Sigma: &[2]float64{1, 1}}, img, r)
		}},
		{"v2.RandomInvert(p=1.0)(img)", func() any { return transforms.Image(transforms.RandomInvert{P: 1}, img, r) }},
		{"v2.RandomPosterize(bits=3, p=1.0)(img)", func() any { return transforms.Image(transforms.RandomPosterize{Bits: 3, P: 1}, img, r) }},
		{"v2.RandomSolarize(threshold=100, p=1.0)(img)", func() any {
			return transforms.Image(transforms.RandomSolarize{Threshold: 100, P: 1}, img, r)
		}},
		{"v2.RandomEqualize(p=1.0)(img)", func() any { return transforms.Image(transforms.RandomEqualize{P: 1}, img, r) }},
		{"v2.RandomAutocontrast(p=1.0)(img)", func() any { return transforms.Image(transforms.RandomAutocontrast{P: 1}, img, r) }},
		{"v2.RandomAdjustSharpness(2, p=1.0)(img)", func() any {
			return transforms.Image(transforms.RandomAdjustSharpness{SharpnessFactor: 2, P: 1}, img, r)
		}},
		{"v2.ToDtype(torch.float32, scale=True)(img)", func() any { return transforms.Image(transforms.ToDType{Scale: true}, img, nil) }},
		{`prepare = v2.Compose([
    v2.CenterCrop(6),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
])
y = prepare(img)`, func() any {
			prepare := transforms.Compose{
				transforms.CenterCrop{Size: transforms.Square(6)},
				transforms.ToDType{Scale: true},
				transforms.Normalize{Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}},
			}
			y = transforms.Image(prepare, img, nil)
			return y
		}},
		{"flipped, boxes = v2.RandomHorizontalFlip(p=1.0)(img, found)", func() any {
			s := transforms.Sample{Image: img, Boxes: found, Format: transforms.XYXY}
			s = transforms.RandomHorizontalFlip{P: 1}.Apply(s, r)
			// ->
			return all(s.Image, s.Boxes)
		}},
		{"img, boxes = v2.ClampBoundingBoxes()(img, found)", func() any {
			s := transforms.ClampBoundingBoxes{}.Apply(transforms.Sample{Image: img, Boxes: found, Format: transforms.XYXY}, nil)
			// ->
			return all(s.Image, s.Boxes)
		}},
		{"img, boxes = v2.ConvertBoundingBoxFormat('CXCYWH')(img, found)", func() any {
			s := transforms.Sample{Image: img, Boxes: found, Format: transforms.XYXY}
			s = transforms.ConvertBoundingBoxFormat{Format: transforms.CXCYWH}.Apply(s, nil)
			// ->
			return all(s.Image, s.Boxes)
		}},
	},
}

var pictures = chapter{
	title: "Files and data sets of images",
	before: `def photos():
    """A folder of photographs, with a folder for each class."""
    root = path + ".photos"
    for i, name in enumerate(["ant", "bee"]):
        os.makedirs(f"{root}/{name}", exist_ok=True)
        write_png(img + i, f"{root}/{name}/1.png")
    return root
`,
	python: `img = torch.arange(192, dtype=torch.uint8).reshape(3, 8, 8)
root = photos()`,
	setup: func() {
		img = torch.Arange(192).To(torch.Uint8).Reshape(3, 8, 8)
		root = photos()
	},
	phrases: []phrase{
		{"y = read_image(root + '/bee/1.png')", func() any {
			y, err := imageio.Read(root + "/bee/1.png")
			if err != nil {
				return err
			}
			return y
		}},
		{"write_png(img, path + '.png')" + hidden + "read_image(path + '.png')", func() any {
			err := imageio.Save(path+".png", img)
			// ->
			if err != nil {
				return err
			}
			y, err := imageio.Read(path + ".png")
			if err != nil {
				return err
			}
			return y
		}},
		{"y = decode_image(encode_png(img), mode='GRAY')", func() any {
			file, err := imageio.EncodePNG(img)
			if err != nil {
				return err
			}
			y, err := imageio.DecodeBytes(file, imageio.DecodeOptions{Mode: "GRAY"})
			if err != nil {
				return err
			}
			return y
		}},
		{"file = encode_jpeg(img, quality=90)" + hidden + "decode_image(file)", func() any {
			file, err := imageio.EncodeJPEG(img, imageio.EncodeOptions{Quality: 90})
			// ->
			if err != nil {
				return err
			}
			y, err := imageio.DecodeBytes(file)
			if err != nil {
				return err
			}
			return y
		}},
		{"grid = make_grid(torch.stack([img, img, img]), nrow=2, padding=1)", func() any {
			grid := imageio.Grid(torch.Stack([]torch.Tensor{img, img, img}), imageio.GridOptions{NRow: 2, Padding: new(1)})
			return grid
		}},
		{"drawn = draw_bounding_boxes(img, torch.tensor([[1, 1, 6, 5]]), colors='red')" + hidden + "drawn.contiguous()", func() any {
			red := []color.RGBA{{R: 255, A: 255}}
			drawn := imageio.DrawBoundingBoxes(img, torch.FromNested([][]int{{1, 1, 6, 5}}), imageio.DrawOptions{Colors: red})
			return drawn
		}},
		{"draw_segmentation_masks(img, img[0] > 30, alpha=0.5, colors='red')", func() any {
			red := []color.RGBA{{R: 255, A: 255}}
			return imageio.DrawSegmentationMasks(img, img.Select(0, 0).GtScalar(30), imageio.DrawOptions{Alpha: new(0.5), Colors: red})
		}},
		{`photos = ImageFolder(root)
n, classes = len(photos), photos.classes`, func() any {
			photos, err := datasets.LoadImageFolder(root)
			if err != nil {
				return err
			}
			n, classes := photos.Len(), photos.Classes
			return all(n, classes)
		}},
		{"x, y = ImageFolder(root, transform=v2.PILToTensor())[1]" + hidden + "[x, y]", func() any {
			photos, err := datasets.LoadImageFolder(root)
			if err != nil {
				return err
			}
			sample, err := photos.At(ctx, 1)
			if err != nil {
				return err
			}
			x, y = sample.Input, sample.Target
			// ->
			return all(x, y.Int())
		}},
		{"x, y = FakeData(size=4, image_size=(3, 8, 8), num_classes=5, transform=v2.PILToTensor())[2]" +
			hidden + "[x.contiguous(), int(y)]", func() any {
			fake := datasets.FakeData(4, datasets.FakeDataOptions{ImageSize: [3]int{3, 8, 8}, NumClasses: 5})
			sample, err := fake.At(ctx, 2)
			if err != nil {
				return err
			}
			x, y = sample.Input, sample.Target
			// ->
			return all(x, y.Int())
		}},
		{"model = torchvision.models.squeezenet1_1(num_classes=2)" + hidden + "model.classifier[1].weight", func() any {
			model := models.SqueezeNet1_1(2)
			// ->
			return maps.Collect(nn.StateDict(model))["classifier.1.weight"]
		}},
		{`model = torchvision.models.get_model("squeezenet1_1", num_classes=2).eval()
with torch.inference_mode():
    y = model(torch.ones(1, 3, 32, 32))`, func() any {
			model, err := models.New("squeezenet1_1", 2)
			if err != nil {
				return err
			}
			nn.Eval(model)
			torch.Inference(func() { y = model.Forward(torch.Ones(1, 3, 32, 32)) })
			return y
		}},
		{`weights = torchvision.models.ResNet18_Weights.DEFAULT
x = weights.transforms()(img).unsqueeze(0)`, func() any {
			weights, err := models.FindWeights("resnet18", "DEFAULT")
			if err != nil {
				return err
			}
			x = weights.Transforms.Apply(img)
			return x
		}},
		{"weights = torchvision.models.ResNet50_Weights.DEFAULT" + hidden + "[weights.url, len(weights.meta['categories'])]", func() any {
			weights, err := models.FindWeights("resnet50", "DEFAULT")
			if err != nil {
				return err
			}
			return all(weights.URL, len(weights.Categories))
		}},
	},
}

// photos makes a folder of photographs, with a folder for each class.
func photos() string {
	root := path + ".photos"
	for i, name := range []string{"ant", "bee"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			panic(err)
		}
		if err := imageio.Save(filepath.Join(root, name, "1.png"), img.AddScalar(i)); err != nil {
			panic(err)
		}
	}
	return root
}

var boxes = chapter{
	title: "Boxes",
	python: `found = torch.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 1.0, 4.0, 5.0], [5.0, 5.0, 9.0, 8.0]])
scores = torch.tensor([0.6, 0.9, 0.5])`,
	setup: func() {
		found = torch.FromNested([][]float32{{0, 0, 4, 4}, {0, 1, 4, 5}, {5, 5, 9, 8}})
		scores = torch.FromSlice([]float32{0.6, 0.9, 0.5})
	},
	phrases: []phrase{
		{"ops.nms(found, scores, iou_threshold=0.5)", func() any { return ops.NMS(found, scores, 0.5) }},
		{"ops.batched_nms(found, scores, torch.tensor([0, 1, 0]), 0.5)", func() any {
			return ops.BatchedNMS(found, scores, torch.FromSlice([]int{0, 1, 0}), 0.5)
		}},
		{"ops.box_iou(found, found)", func() any { return ops.BoxIoU(found, found) }},
		{"ops.generalized_box_iou(found, found)", func() any { return ops.GeneralizedBoxIoU(found, found) }},
		{"ops.distance_box_iou(found, found)", func() any { return ops.DistanceBoxIoU(found, found) }},
		{"ops.complete_box_iou(found, found)", func() any { return ops.CompleteBoxIoU(found, found) }},
		{"ops.masks_to_boxes(torch.eye(4).reshape(1, 4, 4))", func() any { return ops.MasksToBoxes(torch.Eye(4).Reshape(1, 4, 4)) }},
		{"ops.box_area(found)", func() any { return ops.BoxArea(found) }},
		{"ops.box_convert(found, 'xyxy', 'cxcywh')", func() any { return ops.BoxConvert(found, ops.XYXY, ops.CXCYWH) }},
		{"ops.clip_boxes_to_image(found, (8, 6))", func() any { return ops.ClipBoxesToImage(found, [2]int{8, 6}) }},
		{"ops.remove_small_boxes(found, 3.5)", func() any { return ops.RemoveSmallBoxes(found, 3.5) }},
	},
}
