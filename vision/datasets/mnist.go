package datasets

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

const mnistSide = 28

// MNIST is one half of the data set, the training or the test images, in memory.
type MNIST struct {
	// Images holds Len() images of 784 bytes one after the other: the memory of a contiguous
	// uint8 tensor of shape [Len(), 1, 28, 28], 0 where there is paper.
	Images []byte
	// Labels holds the digit of each image.
	Labels []uint8
}

// MNISTOptions are the optional arguments of LoadMNIST.
type MNISTOptions struct {
	// Logf receives one line per call: each mirror that is asked, its progress, and why it
	// failed. Nil means silence.
	Logf func(format string, args ...any)
	// Offline forbids the network: only existing files are used.
	Offline bool
	// Mirrors are the places that are asked for a data set that is not there, one after the
	// other; the package documentation says how they are written. Nil means MNISTMirrors().
	Mirrors []string
}

var mnistRelease = release{
	name:   "MNIST",
	folder: "mnist",
	train: []file{
		{"train-images-idx3-ubyte", 47040016, "6bbc9ace898e44ae57da46a324031adb"},
		{"train-labels-idx1-ubyte", 60008, "a25bea736e30d166cdddb491f175f624"},
	},
	test: []file{
		{"t10k-images-idx3-ubyte", 7840016, "2646ac647ad5339dbf082846283269ea"},
		{"t10k-labels-idx1-ubyte", 10008, "27ae3e4e09519cfbb04c329615203637"},
	},
	mirrors: MNISTMirrors(),
}

// LoadMNIST returns the 60,000 training images (train) or the 10,000 test images of
// handwritten digits found in the folder mnist of root; root may also be that folder itself.
// An empty root stands for [DefaultRoot]; any other has to exist. Where the folder is absent
// the files are obtained as the package documentation says.
//
// It returns an error for a root that does not exist, for a missing, truncated or altered
// file in an existing folder, [ErrUnavailable] where the files cannot be obtained, and an error
// when ctx ends.
func LoadMNIST(ctx context.Context, root string, train bool, opts ...MNISTOptions) (*MNIST, error) {
	return loadMNIST(ctx, &mnistRelease, root, train, option.One(opts))
}

func loadMNIST(ctx context.Context, r *release, root string, train bool, opts MNISTOptions) (*MNIST, error) {
	contents, err := r.open(ctx, root, train, opts.Offline, opts.Mirrors, opts.Logf)
	if err != nil {
		return nil, err
	}
	images, shape, err := readIDX(contents[0], 1)
	if err == nil && (len(shape) != 3 || shape[1] != mnistSide || shape[2] != mnistSide) {
		err = fmt.Errorf("the images have shape %v", shape)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", r.name, err)
	}
	labels, shape, err := readIDX(contents[1], 1)
	if err == nil && (len(shape) != 1 || len(labels) != len(images)/mnistSide/mnistSide) {
		err = fmt.Errorf("the labels of %d images have shape %v", len(images)/mnistSide/mnistSide, shape)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", r.name, err)
	}
	return &MNIST{images, labels}, nil
}

// idxTypes are the types of a file's elements of that many bytes.
var idxTypes = map[int]struct {
	code byte
	name string
}{1: {8, "bytes"}, 4: {12, "32-bit integers"}}

// readIDX returns the bytes of a file in the IDX format, whose elements have that many bytes each, and its shape: two zeros, the
// type of the elements, the number of dimensions, each dimension as four bytes, the elements.
func readIDX(raw []byte, width int) (elements []byte, shape []int, err error) {
	if len(raw) < 4 || raw[0] != 0 || raw[1] != 0 || raw[2] != idxTypes[width].code || len(raw) < 4+4*int(raw[3]) {
		return nil, nil, fmt.Errorf("not a file of %s in the IDX format", idxTypes[width].name)
	}
	dims, n := int(raw[3]), width
	for i := range dims {
		size := int(binary.BigEndian.Uint32(raw[4+4*i:]))
		if size > len(raw) {
			n = -1 // also where a product would overflow
			break
		}
		shape = append(shape, size)
		n = min(n*size, len(raw))
	}
	if elements = raw[4+4*dims:]; n != len(elements) {
		return nil, nil, fmt.Errorf("an IDX file of shape %v with %d elements", shape, len(elements)/width)
	}
	return elements, shape, nil
}

// Len returns the number of images.
func (d *MNIST) Len() int { return len(d.Labels) }

// Head returns the first n images, or all if there are fewer. It shares memory with d.
func (d *MNIST) Head(n int) *MNIST {
	n = max(0, min(n, d.Len()))
	return &MNIST{d.Images[:n*mnistSide*mnistSide], d.Labels[:n]}
}

// Tensors returns the images, uint8 [Len(), 1, 28, 28], and the labels, int64 [Len()], on the
// CPU. They are copies: d can be let go.
func (d *MNIST) Tensors() (images, labels torch.Tensor) {
	return tensors(d.Images, d.Labels, 1, mnistSide)
}
