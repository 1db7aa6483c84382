package datasets

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/option"
)

// ImageFolderOptions are the rarer arguments of [LoadImageFolder].
type ImageFolderOptions struct {
	Extensions []string // that names of images end with, in small letters; default torchvision's nine, .jpg to .webp
	AllowEmpty bool     // a class may have no image
}

// imageExtensions are torchvision's IMG_EXTENSIONS.
var imageExtensions = []string{".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"}

// LoadImageFolder lists the images of a folder that has a folder for each class, which may have further folders in it:
//
//	photos/cat/123.jpg
//	photos/dog/new/x.png
//
// It is torchvision's ImageFolder: classes are sorted by name, files by class and path, in the same order; links are followed. No file
// is opened. It returns an error for a folder that cannot be read, has no folder in it, or has one without an image.
func LoadImageFolder(root string, opts ...ImageFolderOptions) (*ImageFiles, error) {
	o := option.One(opts)
	if o.Extensions == nil {
		o.Extensions = imageExtensions
	}
	classes, err := subfolders(root)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	if len(classes) == 0 {
		return nil, fmt.Errorf("datasets: %s has no folder in it, expected one for each class", root)
	}
	return o.list(root, classes, func(class int) []string { return classes[class : class+1] })
}

// list is the images of all classes; the folders of one are what of says.
func (o ImageFolderOptions) list(root string, classes []string, of func(class int) (folders []string)) (*ImageFiles, error) {
	set := &ImageFiles{Classes: classes}
	var empty []string
	for class := range classes {
		before := set.Len()
		for _, folder := range of(class) {
			paths, err := imagesBelow(filepath.Join(root, folder), o.Extensions)
			if err != nil {
				return nil, fmt.Errorf("datasets: %w", err)
			}
			set.Paths = append(set.Paths, paths...)
		}
		for range set.Len() - before {
			set.Targets = append(set.Targets, class)
		}
		if set.Len() == before {
			empty = append(empty, classes[class])
		}
	}
	if len(empty) > 0 && !o.AllowEmpty {
		return nil, fmt.Errorf("datasets: %s has no image for the classes %s, expected names that end in %s", root,
			strings.Join(empty, ", "), strings.Join(o.Extensions, ", "))
	}
	return set, nil
}

// subfolders are the names of the folders in a folder, and of links to folders, sorted.
func subfolders(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if isFolder(dir, entry) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// isFolder follows links. It asks the system only about these: a data set may have a million files.
func isFolder(dir string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.IsDir()
	}
	info, err := os.Stat(filepath.Join(dir, entry.Name()))
	return err == nil && info.IsDir()
}

// imagesBelow are the paths of all files below a folder whose names end as said, folder by folder in the order of their paths.
func imagesBelow(dir string, extensions []string) (paths []string, err error) {
	folders, err := foldersBelow(dir, nil)
	if err != nil {
		return nil, err
	}
	slices.Sort(folders)
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			name := strings.ToLower(entry.Name())
			if slices.ContainsFunc(extensions, func(e string) bool { return strings.HasSuffix(name, e) }) && !isFolder(folder, entry) {
				paths = append(paths, filepath.Join(folder, entry.Name()))
			}
		}
	}
	return paths, nil
}

// foldersBelow are a folder and all below it. A link to a folder around it is an error, since following it would never end.
func foldersBelow(dir string, around []fs.FileInfo) (folders []string, err error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(around, func(outer fs.FileInfo) bool { return os.SameFile(outer, info) }) {
		return nil, fmt.Errorf("%s is a link to a folder that it is in", dir)
	}
	names, err := subfolders(dir)
	if err != nil {
		return nil, err
	}
	folders = []string{dir}
	for _, name := range names {
		below, err := foldersBelow(filepath.Join(dir, name), append(slices.Clip(around), info))
		if err != nil {
			return nil, err
		}
		folders = append(folders, below...)
	}
	return folders, nil
}
