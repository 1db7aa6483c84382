package datasets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch/pt"
)

// ImagenetteOptions are the rarer arguments of [LoadImagenette].
type ImagenetteOptions struct {
	Options
	Size string // "full" (the default), "320px" or "160px": the short side of the images
}

var imagenetteSizes = map[string]resource{
	"full":  {"https://s3.amazonaws.com/fast-ai-imageclas/imagenette2.tgz", "fe2fc210e6bb7c5664d602c3cd71e612"},
	"320px": {"https://s3.amazonaws.com/fast-ai-imageclas/imagenette2-320.tgz", "3df6f0d01a2c9592104656642f5e78a3"},
	"160px": {"https://s3.amazonaws.com/fast-ai-imageclas/imagenette2-160.tgz", "e793b78cc4c9e9a4ccc0c1155377a412"},
}

// imagenetteClasses are the classes by the names of their folders.
var imagenetteClasses = map[string]string{
	"n01440764": "tench, Tinca tinca", "n02102040": "English springer, English springer spaniel", "n02979186": "cassette player",
	"n03000684": "chain saw, chainsaw", "n03028079": "church, church building", "n03394916": "French horn, horn",
	"n03417042": "garbage truck, dustcart", "n03425413": "gas pump, gasoline pump, petrol pump, island dispenser",
	"n03445777": "golf ball", "n03888257": "parachute, chute",
}

// LoadImagenette lists the photographs of ten classes of ImageNet, from a folder such as imagenette2-320 of root: torchvision's
// Imagenette. The split is train or val. An empty root stands for [DefaultRoot]; any other has to exist. What is missing is downloaded. It
// returns [ErrUnavailable] where it cannot be obtained, and an error when ctx ends.
func LoadImagenette(ctx context.Context, root, split string, opts ...ImagenetteOptions) (*ImageFiles, error) {
	o := option.One(opts)
	if o.Size == "" {
		o.Size = "full"
	}
	archive, ok := imagenetteSizes[o.Size]
	if !ok {
		return nil, unknown("size", o.Size, "full", "320px", "160px")
	}
	if err := trainOrVal(split); err != nil {
		return nil, err
	}
	folder := strings.TrimSuffix(archive.file(), path.Ext(archive.file()))
	p := published{name: "Imagenette", expected: []string{folder}, resources: []resource{archive}}
	dir, err := p.open(ctx, root, o.Options)
	if err != nil {
		return nil, err
	}
	set, err := LoadImageFolder(filepath.Join(dir, folder, split), ImageFolderOptions{Extensions: []string{".jpeg"}})
	if err != nil {
		return nil, err
	}
	for i, wnid := range set.Classes {
		if name, ok := imagenetteClasses[wnid]; ok {
			set.Classes[i] = name
		}
	}
	return set, nil
}

func trainOrVal(split string) error {
	if split != "train" && split != "val" {
		return unknown("split", split, "train", "val")
	}
	return nil
}

// OxfordIIITPet is photographs of cats and dogs of 37 breeds.
type OxfordIIITPet struct {
	ImageFiles
	Species []int    // of each: 0 a cat, 1 a dog
	Trimaps []string // the paths of images that say where the animal is: 1 inside, 2 outside, 3 between
}

var oxfordPet = published{
	name: "Oxford-IIIT Pet", dir: "oxford-iiit-pet", expected: []string{"images", "annotations"},
	resources: []resource{
		{"https://www.robots.ox.ac.uk/~vgg/data/pets/data/images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c"},
		{"https://www.robots.ox.ac.uk/~vgg/data/pets/data/annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f"},
	},
}

// LoadOxfordIIITPet lists the photographs in the folder oxford-iiit-pet of root: torchvision's OxfordIIITPet. The split is
// trainval or test. In all else it is [LoadImagenette].
func LoadOxfordIIITPet(ctx context.Context, root, split string, opts ...Options) (*OxfordIIITPet, error) {
	if split != "trainval" && split != "test" {
		return nil, unknown("split", split, "trainval", "test")
	}
	dir, err := oxfordPet.open(ctx, root, option.One(opts))
	if err != nil {
		return nil, err
	}
	list := filepath.Join(dir, "annotations", split+".txt")
	lines, err := textLines(list)
	if err != nil {
		return nil, oxfordPet.damaged(dir, err)
	}
	pets := &OxfordIIITPet{}
	names := map[int]string{}
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) != 4 {
			return nil, oxfordPet.damaged(dir, fmt.Errorf("%s: the line %q has %d words, expected four", list, line, len(words)))
		}
		breed, err1 := strconv.Atoi(words[1])
		species, err2 := strconv.Atoi(words[2])
		if err := errors.Join(err1, err2); err != nil || !filepath.IsLocal(words[0]) {
			return nil, oxfordPet.damaged(dir, fmt.Errorf("%s: the line is %q, expected a name, a breed and a species", list, line))
		}
		pets.Paths = append(pets.Paths, filepath.Join(dir, "images", words[0]+".jpg"))
		pets.Trimaps = append(pets.Trimaps, filepath.Join(dir, "annotations", "trimaps", words[0]+".png"))
		pets.Targets, pets.Species = append(pets.Targets, breed-1), append(pets.Species, species-1)
		names[breed-1] = words[0][:max(0, strings.LastIndex(words[0], "_"))]
	}
	for breed := range len(names) {
		if names[breed] == "" {
			return nil, oxfordPet.damaged(dir, fmt.Errorf("%s has no image of breed %d among %d", list, breed+1, len(names)))
		}
		pets.Classes = append(pets.Classes, title(names[breed]))
	}
	return pets, nil
}

// title writes great_pyrenees as Great Pyrenees.
func title(name string) string {
	words := strings.Split(strings.ToLower(name), "_")
	for i, word := range words {
		if word != "" {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, " ")
}

const flowersFolder = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"

var flowers102 = published{
	name: "Flowers-102", dir: "flowers-102", expected: []string{"jpg", "imagelabels.mat", "setid.mat"},
	resources: []resource{
		{flowersFolder + "102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"},
		{flowersFolder + "imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"},
		{flowersFolder + "setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"},
	},
}

// LoadFlowers102 lists the photographs of 102 kinds of flowers in the folder flowers-102 of root: torchvision's Flowers102. The split is
// train, val or test. In all else it is [LoadImagenette].
func LoadFlowers102(ctx context.Context, root, split string, opts ...Options) (*ImageFiles, error) {
	return loadFlowers102(ctx, &flowers102, root, split, option.One(opts))
}

func loadFlowers102(ctx context.Context, p *published, root, split string, o Options) (*ImageFiles, error) {
	list, ok := map[string]string{"train": "trnid", "val": "valid", "test": "tstid"}[split]
	if !ok {
		return nil, unknown("split", split, "train", "val", "test")
	}
	dir, err := p.open(ctx, root, o)
	if err != nil {
		return nil, err
	}
	const most = 1 << 20 // of numbers
	sets, err := readMatlab(dir, "setid.mat", p.resources[2].md5, most)
	if err != nil {
		return nil, p.damaged(dir, err)
	}
	labels, err := readMatlab(dir, "imagelabels.mat", p.resources[1].md5, most)
	if err != nil {
		return nil, p.damaged(dir, err)
	}
	if sets[list] == nil || labels["labels"] == nil {
		return nil, p.damaged(dir, fmt.Errorf("setid.mat has no %s, or imagelabels.mat no labels", list))
	}
	set, classes := &ImageFiles{Classes: slices.Clone(flowerNames)}, labels["labels"].Ints()
	for _, id := range sets[list].Ints() {
		if id < 1 || id > len(classes) || classes[id-1] < 1 || classes[id-1] > len(set.Classes) {
			return nil, p.damaged(dir, fmt.Errorf("setid.mat: image %d has no label among %d", id, len(classes)))
		}
		set.Paths = append(set.Paths, filepath.Join(dir, "jpg", fmt.Sprintf("image_%05d.jpg", id)))
		set.Targets = append(set.Targets, classes[id-1]-1)
	}
	return set, nil
}

// LoadImageNet lists the photographs of ImageNet 2012 in the folder root/train or root/val, which has a folder for each class,
// called by its number in WordNet: torchvision's ImageNet, once that has unpacked the publisher's files. Where root has the
// meta.bin that torchvision leaves there, Classes are names, otherwise these numbers. The publisher lets nobody download without
// asking.
func LoadImageNet(root, split string) (*ImageFiles, error) {
	if err := trainOrVal(split); err != nil {
		return nil, err
	}
	set, err := LoadImageFolder(filepath.Join(root, split))
	if err != nil {
		return nil, err
	}
	meta := filepath.Join(root, "meta.bin")
	if _, err := os.Stat(meta); errors.Is(err, fs.ErrNotExist) {
		return set, nil
	}
	names, err := imageNetNames(meta)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	for i, wnid := range set.Classes {
		if name, ok := names[wnid]; ok {
			set.Classes[i] = name
		}
	}
	return set, nil
}

// imageNetNames are the classes by their numbers in WordNet, as torchvision keeps them: a tuple of a dict of tuples, and a list.
func imageNetNames(path string) (map[string]string, error) {
	v, err := pt.Load(path)
	if err != nil {
		return nil, err
	}
	defer pt.Close(v)
	parts, ok := v.(pt.Tuple)
	if !ok || len(parts) != 2 {
		return nil, fmt.Errorf("%s: expected a tuple of two, it has %T", path, v)
	}
	dict, ok := parts[0].(*pt.Dict)
	if !ok {
		return nil, fmt.Errorf("%s: expected a dict of names, it has %T", path, parts[0])
	}
	names := map[string]string{}
	for key, value := range dict.All() {
		wnid, ok := key.(string)
		words, okWords := value.(pt.Tuple)
		if !ok || !okWords {
			return nil, fmt.Errorf("%s: expected names by numbers, it has %v of %T", path, key, value)
		}
		var list []string
		for _, word := range words {
			list = append(list, fmt.Sprint(word))
		}
		names[wnid] = strings.Join(list, ", ")
	}
	return names, nil
}
