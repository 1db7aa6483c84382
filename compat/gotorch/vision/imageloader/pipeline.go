package imageloader

import (
	"errors"
	"fmt"
	"image"
	"io"
	"math/rand"

	torch "github.com/wangkuiyi/gotorch"
	"github.com/wangkuiyi/gotorch/tool/tgz"
	"github.com/wangkuiyi/gotorch/vision/transforms"
	"gocv.io/x/gocv"
)

// errStopped ends the goroutines of a loader that nobody uses any more.
var errStopped = errors.New("the loader is gone")

// sample is an image with its class, or what went wrong, which is the last.
type sample struct {
	data  gocv.Mat
	label int64
	err   error
}

// minibatch is a minibatch, or what went wrong, which is the last.
type minibatch struct {
	data, label torch.Tensor
	err         error
}

// pipeline is three goroutines: one reads images, one shuffles them, one makes minibatches.
type pipeline struct {
	archive       *tgz.Reader
	vocab         map[string]int
	before, after *transforms.ComposeTransformer
	size, buffer  int
	seed          int64
	pin           bool
	colors        string
	read          chan sample
	shuffled      chan sample
	made          chan minibatch
	stop          chan struct{}
}

func (p *pipeline) start() {
	go p.run(p.readAll, func(err error) { p.send(p.read, sample{err: err}) }, func() {
		close(p.read)
		p.archive.Close()
	})
	go p.run(p.shuffle, func(err error) { p.send(p.shuffled, sample{err: err}) }, func() { close(p.shuffled) })
	go p.run(p.batch, func(err error) { p.put(minibatch{err: err}) }, func() { close(p.made) })
}

// run is a goroutine: fn, what is done with its error, and what is done in any case.
func (p *pipeline) run(fn func() error, failed func(error), end func()) {
	defer end()
	if err := ended(guarded(fn)); err != nil {
		failed(err)
	}
}

func (p *pipeline) send(to chan sample, s sample) error {
	select {
	case to <- s:
		return nil
	case <-p.stop:
		return errStopped
	}
}

func (p *pipeline) put(m minibatch) error {
	select {
	case p.made <- m:
		return nil
	case <-p.stop:
		return errStopped
	}
}

// readAll reads the images of the archive.
func (p *pipeline) readAll() error {
	for {
		header, err := p.archive.Next()
		if err != nil {
			return err
		}
		if !header.FileInfo().Mode().IsRegular() {
			continue
		}
		content, err := io.ReadAll(p.archive)
		if err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
		label, ok := p.vocab[class(header)]
		if !ok {
			return fmt.Errorf("%s: the vocabulary has no class %q", header.Name, class(header))
		}
		m, err := decode(content, p.colors)
		if err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
		if err := p.send(p.read, sample{data: p.before.Run(m).(gocv.Mat), label: int64(label)}); err != nil {
			return err
		}
	}
}

// decode reads an image.
func decode(content []byte, colors string) (m gocv.Mat, err error) {
	switch colors {
	case RGB:
		if m, err = gocv.IMDecode(content, gocv.IMReadColor); err == nil && !m.Empty() {
			gocv.CvtColor(m, &m, gocv.ColorBGRToRGB)
		}
	case GRAY:
		m, err = gocv.IMDecode(content, gocv.IMReadGrayScale)
	default:
		return m, fmt.Errorf("%q is no color space: expected rgb or gray", colors)
	}
	if err == nil && m.Empty() {
		err = errors.New("this is no image")
	}
	return m, err
}

// shuffle passes images on in an order that the seed decides.
func (p *pipeline) shuffle() error {
	random := rand.New(rand.NewSource(p.seed))
	var held []sample
	for s := range p.read {
		switch {
		case s.err != nil:
			return s.err
		case len(held) < p.buffer:
			held = append(held, s)
		case p.buffer == 0:
			if err := p.send(p.shuffled, s); err != nil {
				return err
			}
		default:
			i := random.Intn(len(held))
			if err := p.send(p.shuffled, held[i]); err != nil {
				return err
			}
			held[i] = s
		}
	}
	random.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	for _, s := range held {
		if err := p.send(p.shuffled, s); err != nil {
			return err
		}
	}
	return nil
}

// batch makes minibatches.
func (p *pipeline) batch() error {
	var images []gocv.Mat
	var labels []int64
	flush := func() error {
		m := p.collate(images, labels)
		images, labels = nil, nil
		return p.put(m)
	}
	for s := range p.shuffled {
		if s.err != nil {
			return s.err
		}
		images, labels = append(images, s.data), append(labels, s.label)
		if len(images) == p.size {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(images) == 0 {
		return nil
	}
	return flush()
}

// collate makes a minibatch, and frees the images.
func (p *pipeline) collate(images []gocv.Mat, labels []int64) minibatch {
	blob := gocv.NewMat()
	defer func() {
		blob.Close()
		for _, m := range images {
			m.Close()
		}
	}()
	size := image.Pt(images[0].Cols(), images[0].Rows())
	gocv.BlobFromImages(images, &blob, 1.0/255.0, size, gocv.NewScalar(0, 0, 0, 0), false, false, gocv.MatTypeCV32F)
	m := minibatch{data: p.after.Run(blob).(torch.Tensor), label: torch.NewTensor(labels)}
	if p.pin {
		m.data, m.label = m.data.PinMemory(), m.label.PinMemory()
	}
	return m
}
