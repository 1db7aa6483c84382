package imageloader

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	torch "github.com/wangkuiyi/gotorch"
	"github.com/wangkuiyi/gotorch/tool/tgz"
	"github.com/wangkuiyi/gotorch/vision/transforms"
)

// The color spaces that images are read in.
const (
	RGB  string = "rgb"  // three channels
	GRAY string = "gray" // one channel
)

// ImageLoader goes once through an archive.
type ImageLoader struct {
	pipeline *pipeline
	current  minibatch
	err      error
}

// New opens the archive fn. vocab numbers the classes, which are the folders that images are in; trans ends in ToTensor, perhaps
// followed by transforms of tensors. Minibatches have mbSize images, but the last; bufSize images are held to be shuffled, by
// seed. pinMemory puts them where cards copy from fast. colorSpace is RGB or GRAY.
//
// Reading goes on in the background until the archive ends or nothing refers to the loader any more.
func New(fn string, vocab map[string]int, trans *transforms.ComposeTransformer, mbSize, bufSize int, seed int64, pinMemory bool,
	colorSpace string) (*ImageLoader, error) {
	if mbSize <= 0 {
		panic(fmt.Sprintf("New: a minibatch of %d images: expected one or more", mbSize))
	}
	r, err := tgz.OpenFile(fn)
	if err != nil {
		return nil, err
	}
	before, after := splitComposeByToTensor(trans)
	p := &pipeline{
		archive: r, vocab: vocab, before: before, after: after, size: mbSize, buffer: bufSize, seed: seed, pin: pinMemory,
		colors: colorSpace, read: make(chan sample, mbSize*4), shuffled: make(chan sample, mbSize*4), made: make(chan minibatch, 4),
		stop: make(chan struct{}),
	}
	p.start()
	m := &ImageLoader{pipeline: p}
	runtime.SetFinalizer(m, func(m *ImageLoader) { close(m.pipeline.stop) })
	return m, nil
}

// Scan makes the next minibatch the current one; false where there is none, because the archive ended or because of an error.
func (p *ImageLoader) Scan() bool {
	torch.GC()
	m, ok := <-p.pipeline.made
	if ok && m.err == nil {
		p.current = m
		return true
	}
	p.current = minibatch{}
	if ok {
		p.err = m.err
	}
	torch.FinishGC()
	return false
}

// Minibatch are the images of the current minibatch and their classes.
func (p *ImageLoader) Minibatch() (torch.Tensor, torch.Tensor) {
	return p.current.data, p.current.label
}

// Err is why Scan ended before the archive did, or nil.
func (p *ImageLoader) Err() error { return p.err }

// BuildLabelVocabularyFromTgz numbers the classes of an archive, the folders that files are in, as it comes to them.
func BuildLabelVocabularyFromTgz(fn string) (map[string]int, error) {
	list, err := tgz.ListFile(fn)
	if err != nil {
		return nil, err
	}
	vocab := map[string]int{}
	for _, header := range list {
		if _, ok := vocab[class(header)]; !ok {
			vocab[class(header)] = len(vocab)
		}
	}
	return vocab, nil
}

func class(header *tar.Header) string { return filepath.Base(filepath.Dir(header.Name)) }

// splitComposeByToTensor are the transforms of single images, and those from ToTensor on, which see minibatches.
func splitComposeByToTensor(c *transforms.ComposeTransformer) (before, after *transforms.ComposeTransformer) {
	at := len(c.Transforms)
	for i, t := range c.Transforms {
		if _, ok := t.(*transforms.ToTensorTransformer); ok {
			at = i
			break
		}
	}
	return transforms.Compose(c.Transforms[:at]...), transforms.Compose(c.Transforms[at:]...)
}

// guarded is what fn returns, or what it panics with as an error.
func guarded(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			if cause, ok := v.(error); ok {
				err = cause
			} else {
				err = fmt.Errorf("%v", v)
			}
		}
	}()
	return fn()
}

// ended is err unless that is the end of the archive or of the loader.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, errStopped) {
		return nil
	}
	return err
}
