package vision

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"io"
)

// SynthesizeImage makes an image of one color.
func SynthesizeImage(w, h int, c color.Color) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(m, m.Bounds(), image.NewUniform(c), image.Point{}, draw.Src)
	return m
}

// Synthesizer writes a tar.gz of images.
type Synthesizer struct {
	gzw *gzip.Writer
	*tar.Writer
}

// NewSynthesizer makes a Synthesizer.
func NewSynthesizer(output io.Writer) *Synthesizer {
	gzw := gzip.NewWriter(output)
	return &Synthesizer{gzw: gzw, Writer: tar.NewWriter(gzw)}
}

// Close ends the archive.
func (s *Synthesizer) Close() {
	s.Writer.Close()
	s.gzw.Close()
}

// AddImage writes a JPEG of one color under a name.
func (s *Synthesizer) AddImage(fn string, w, h int, c color.Color) error {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, SynthesizeImage(w, h, c), nil); err != nil {
		return err
	}
	if err := s.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fn, Mode: 0o600, Size: int64(b.Len())}); err != nil {
		return err
	}
	_, err := s.Write(b.Bytes())
	return err
}
