package tensorfile

import (
	"os"
	"runtime"
	"sync"

	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// Map maps a file into memory as one tensor of its bytes. What is written to the tensor does not reach the file.
func Map(path string, size int64) (t torch.Tensor, err error) {
	n := int(size)
	err = torch.Try(func() {
		torch.Unsafe(func() { t = aten.FromFile(path, false, &n, torch.TensorOptions{DType: torch.Uint8}) })
	})
	return t, err
}

// Part is a part of a file and the tensor that it is read into: contiguous, on the CPU, neither conjugated nor
// negated.
type Part struct {
	File *os.File
	At   int64 // where it begins
	Into torch.Tensor
}

// block is how much one goroutine reads before it takes the next.
const block = 16 << 20

// Read reads parts, in their order, and returns the number of the one that failed first and its error. A file that
// ends too soon is an io.ErrUnexpectedEOF.
func Read(parts []Part) (failed int, err error) {
	blocks := make(chan func() (int, error))
	var (
		mu   sync.Mutex
		all  sync.WaitGroup
		stop = make(chan struct{})
	)
	for range min(runtime.GOMAXPROCS(0), 8) {
		all.Go(func() {
			for read := range blocks {
				i, e := read()
				if e == nil {
					continue
				}
				mu.Lock()
				if err == nil {
					failed, err = i, e
					close(stop)
				}
				mu.Unlock()
			}
		})
	}
	feed(parts, blocks, stop)
	close(blocks)
	all.Wait()
	return failed, err
}

// feed hands out the blocks of all parts, until they are told to stop.
func feed(parts []Part, blocks chan<- func() (int, error), stop <-chan struct{}) {
	for i, p := range parts {
		size := p.Into.NumEl() * p.Into.DType().Size()
		for at := 0; at < size; at += block {
			n := min(block, size-at)
			select {
			case blocks <- func() (int, error) { return i, p.read(at, n) }:
			case <-stop:
				return
			}
		}
	}
}

// read reads n bytes of a part, from the one at that place on.
func (p Part) read(at, n int) (err error) {
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() {
				bytes := p.Into.Detach().View(-1).ViewDType(torch.Uint8)
				err = bridge.ReadFile(bytes.Narrow(0, at, n), p.File, p.At+int64(at))
			})
		})
	})
	if broken != nil {
		return broken
	}
	return err
}
