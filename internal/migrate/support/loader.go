package support

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/torch"
)

// imageTransforms is what is done with images: pictures are changed, then a minibatch of tensors.
type imageTransforms struct {
	pictures []pictureTransform
	tensors  []normalization
}

// composeTransforms sorts transforms. pictureToTensor stands between those of pictures and those of tensors.
func composeTransforms(transforms ...any) imageTransforms {
	var c imageTransforms
	for _, t := range transforms {
		switch t := t.(type) {
		case pictureTransform:
			c.pictures = append(c.pictures, t)
		case normalization:
			c.tensors = append(c.tensors, t)
		case pictureToTensor:
		default:
			panic(fmt.Sprintf("compose: a %T is no transform", t))
		}
	}
	return c
}

// labelledPicture is a picture and its class.
type labelledPicture struct {
	picture picture
	label   int64
}

// imageBatch is a minibatch, or what went wrong.
type imageBatch struct {
	images, labels torch.Tensor
	err            error
}

// imageLoader goes once through an archive of images, in the background.
type imageLoader struct {
	batches chan imageBatch
	current imageBatch
}

// newImageLoader opens a tar.gz of images. vocab numbers the classes, which are the folders that images are in. size images make
// a minibatch, hold are held to be shuffled by seed, pin puts them where cards copy from fast, and colors is rgb or gray. The loader
// is to be used to its end.
func newImageLoader(path string, vocab map[string]int, transform imageTransforms, size, hold int, seed int64, pin bool,
	colors string) (*imageLoader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	l := &imageLoader{batches: make(chan imageBatch, 4)}
	go func() {
		defer f.Close()
		defer close(l.batches)
		err := readShuffled(f, vocab, transform, hold, seed, colors, inBatches(size, func(list []labelledPicture) {
			b := collateBatch(list, transform)
			if pin {
				b.images, b.labels = b.images.PinMemory(), b.labels.PinMemory()
			}
			l.batches <- b
		}))
		if err != nil {
			l.batches <- imageBatch{err: fmt.Errorf("%s: %w", path, err)}
		}
	}()
	return l, nil
}

// Scan makes the next minibatch the current one; false where there is none.
func (l *imageLoader) Scan() bool {
	b, ok := <-l.batches
	if ok {
		l.current = b
	}
	return ok && b.err == nil
}

// Minibatch are the images of the current minibatch and their classes.
func (l *imageLoader) Minibatch() (images, labels torch.Tensor) {
	return l.current.images, l.current.labels
}

// Err is why Scan ended before the archive did, or nil.
func (l *imageLoader) Err() error { return l.current.err }

// eachArchived calls see with the regular files of a tar.gz and the folders that they are in.
func eachArchived(r io.Reader, see func(class string, content io.Reader) error) error {
	g, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	for archive := tar.NewReader(g); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil && header.Typeflag == tar.TypeReg {
			err = see(filepath.Base(filepath.Dir(header.Name)), archive)
		}
		if err != nil {
			return err
		}
	}
}

// classesOf numbers the classes of an archive, as it comes to them.
func classesOf(path string) (map[string]int, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	vocab := map[string]int{}
	err = eachArchived(f, func(class string, _ io.Reader) error {
		if _, ok := vocab[class]; !ok {
			vocab[class] = len(vocab)
		}
		return nil
	})
	return vocab, err
}

// readShuffled reads examples and passes them on in an order that the seed decides; pass gets nil at the end.
func readShuffled(f io.Reader, vocab map[string]int, transform imageTransforms, hold int, seed int64, colors string,
	pass func(*labelledPicture)) error {
	random := rand.New(rand.NewSource(seed))
	var held []labelledPicture
	err := eachArchived(f, func(class string, r io.Reader) error {
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		label, ok := vocab[class]
		if !ok {
			return fmt.Errorf("the vocabulary has no class %q", class)
		}
		p, err := decodePicture(content, colors)
		if err != nil {
			return err
		}
		for _, t := range transform.pictures {
			p = t(p)
		}
		e := labelledPicture{p, int64(label)}
		switch {
		case len(held) < hold:
			held = append(held, e)
		case hold == 0:
			pass(&e)
		default:
			i := random.Intn(hold)
			out := held[i]
			held[i] = e
			pass(&out)
		}
		return nil
	})
	if err != nil {
		return err
	}
	random.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	for i := range held {
		pass(&held[i])
	}
	pass(nil)
	return nil
}

// inBatches collects examples until there are size of them, or no more.
func inBatches(size int, use func([]labelledPicture)) func(*labelledPicture) {
	var list []labelledPicture
	return func(e *labelledPicture) {
		if e != nil {
			list = append(list, *e)
		}
		if len(list) == size || e == nil && len(list) > 0 {
			use(list)
			list = nil
		}
	}
}

// collateBatch makes a minibatch.
func collateBatch(list []labelledPicture, transform imageTransforms) imageBatch {
	first := list[0].picture
	area, channels := first.rows*first.columns, first.channels
	numbers := make([]float32, 0, len(list)*area*channels)
	labels := make([]int64, 0, len(list))
	for _, e := range list {
		labels = append(labels, e.label)
		for c := range channels {
			for i := range area {
				numbers = append(numbers, float32(float64(e.picture.pixels[i*channels+c])*(1.0/255.0)))
			}
		}
	}
	b := imageBatch{images: torch.FromSlice(numbers, len(list), channels, first.rows, first.columns), labels: torch.FromSlice(labels)}
	for _, t := range transform.tensors {
		b.images = t.Run(b.images)
	}
	return b
}
