package bundle

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"io"
	"runtime"
	"sync"
)

// A compressor is a gzip writer for large archives: it compresses as many blocks at once as there are processors, as pigz does. What it
// writes is one stream, which all readers know; a block does not refer to the one before, which makes it larger by some per mille.
type compressor struct {
	w     io.Writer
	block []byte
	queue chan chan []byte // of compressed blocks, in their order
	ended chan error
	sum   hash.Hash32
	size  uint32 // modulo 2^32, as the format has it
}

const blockSize = 1 << 20

func newCompressor(w io.Writer) *compressor {
	c := &compressor{w: w, queue: make(chan chan []byte, runtime.NumCPU()), ended: make(chan error, 1), sum: crc32.NewIEEE()}
	go c.write()
	return c
}

// Write never fails: what w says comes with Close.
func (c *compressor) Write(p []byte) (n int, err error) {
	n = len(p)
	c.sum.Write(p)
	c.size += uint32(n)
	for len(p) > 0 {
		if c.block == nil {
			c.block = make([]byte, 0, blockSize)
		}
		some := min(len(p), blockSize-len(c.block))
		c.block, p = append(c.block, p[:some]...), p[some:]
		if len(c.block) == blockSize {
			c.flush()
		}
	}
	return n, nil
}

// flush has the block compressed, and waits while as many as there are processors are.
func (c *compressor) flush() {
	block, done := c.block, make(chan []byte, 1)
	c.block = nil
	c.queue <- done
	go func() { done <- compressed(block) }()
}

// Close writes what is left and the end of the stream.
func (c *compressor) Close() error {
	c.flush()
	close(c.queue)
	if err := <-c.ended; err != nil {
		return err
	}
	const lastBlock, empty = 0x03, 0x00 // of flate's fixed codes, with nothing in it
	end := binary.LittleEndian.AppendUint32([]byte{lastBlock, empty}, c.sum.Sum32())
	_, err := c.w.Write(binary.LittleEndian.AppendUint32(end, c.size))
	return err
}

// write puts the compressed blocks one behind the other. After an error it takes them nevertheless, so that nobody waits.
func (c *compressor) write() {
	const gzip1, gzip2, deflate, unknownSystem = 0x1f, 0x8b, 8, 255
	_, err := c.w.Write([]byte{gzip1, gzip2, deflate, 0, 0, 0, 0, 0, 0, unknownSystem})
	for done := range c.queue {
		block := <-done
		if err == nil {
			_, err = c.w.Write(block)
		}
	}
	c.ended <- err
}

var flates = sync.Pool{New: func() any {
	z, _ := flate.NewWriter(io.Discard, flate.DefaultCompression) // it fails over levels alone that there are not
	return z
}}

// compressed ends at a whole byte, so that another block can follow.
func compressed(block []byte) []byte {
	var to bytes.Buffer
	z := flates.Get().(*flate.Writer)
	defer flates.Put(z)
	z.Reset(&to)
	z.Write(block) // into memory, which takes all
	z.Flush()
	return to.Bytes()
}
