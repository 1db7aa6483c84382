package datasets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// Sizes of one CIFAR-10 record: a label byte, then the red, green and blue
// planes of the image, each in row-major order.
const (
	cifarSide   = 32
	cifarPlane  = cifarSide * cifarSide
	cifarImage  = 3 * cifarPlane
	cifarRecord = 1 + cifarImage
)

// CIFAR10 is one half of the data set, the training or the test images, in memory.
type CIFAR10 struct {
	// Images holds Len() images of 3,072 bytes one after the other: the memory
	// of a contiguous uint8 tensor of shape [Len(), 3, 32, 32], channels in
	// the order red, green, blue.
	Images []byte
	// Labels holds the class of each image, an index into Classes().
	Labels []uint8
}

// CIFAR10Options are the optional arguments of LoadCIFAR10.
type CIFAR10Options struct {
	// Logf receives one line per call: each mirror that is asked, its progress, and why it
	// failed. Nil means silence.
	Logf func(format string, args ...any)
	// Offline forbids the network: only existing files are used.
	Offline bool
	// Mirrors are the places that are asked for a data set that is not there, one after the
	// other; the package documentation says how they are written. Nil means CIFAR10Mirrors().
	Mirrors []string
}

// LoadCIFAR10 returns the 50,000 training images (train) or the 10,000 test images
// found in the folder cifar-10-batches-bin of root; root may also be that folder
// itself. An empty root stands for [DefaultRoot]; any other has to exist. Where the folder
// is absent the files are obtained as the package documentation says.
//
// It returns an error for a root that does not exist, for a missing, truncated
// or altered file in an existing folder, [ErrUnavailable] where the files cannot be
// obtained, and an error when ctx ends.
func LoadCIFAR10(ctx context.Context, root string, train bool, opts ...CIFAR10Options) (*CIFAR10, error) {
	return load(ctx, &cifar10Release, root, train, option.One(opts))
}

func load(ctx context.Context, r *release, root string, train bool, opts CIFAR10Options) (*CIFAR10, error) {
	contents, err := r.open(ctx, root, train, opts.Offline, opts.Mirrors, opts.Logf)
	if err != nil {
		return nil, err
	}
	d := newCIFAR10(totalSize(contents) / cifarRecord)
	for _, raw := range contents {
		d.appendRecords(raw)
	}
	return d, nil
}

func totalSize(contents [][]byte) (n int) {
	for _, raw := range contents {
		n += len(raw)
	}
	return n
}

// DefaultRoot is where data sets are kept unless a caller says otherwise: the folder
// libtorch-go/datasets of the user's cache folder ($XDG_CACHE_HOME or ~/.cache on
// Linux). It returns an error if the user has no such folder.
func DefaultRoot() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("datasets: no folder to keep data in: %w; name one", err)
	}
	return filepath.Join(cache, "libtorch-go", "datasets"), nil
}

// Len returns the number of images.
func (d *CIFAR10) Len() int { return len(d.Labels) }

// Classes returns the names of the ten classes, in the order of their labels.
func (d *CIFAR10) Classes() []string {
	return []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}
}

// Head returns the first n images, or all if there are fewer. It shares memory
// with d.
func (d *CIFAR10) Head(n int) *CIFAR10 {
	n = max(0, min(n, d.Len()))
	return &CIFAR10{Images: d.Images[:n*cifarImage], Labels: d.Labels[:n]}
}

// newCIFAR10 allocates memory for n images.
func newCIFAR10(n int) *CIFAR10 {
	return &CIFAR10{Images: make([]byte, 0, n*cifarImage), Labels: make([]uint8, 0, n)}
}

// appendRecords adds the images of raw, which is in the official binary layout.
func (d *CIFAR10) appendRecords(raw []byte) {
	for ; len(raw) > 0; raw = raw[cifarRecord:] {
		d.Labels = append(d.Labels, raw[0])
		d.Images = append(d.Images, raw[1:cifarRecord]...)
	}
}

// Tensors returns the images, uint8 [Len(), 3, 32, 32], and the labels, int64 [Len()], on
// the CPU. They are copies and do not need d.
func (d *CIFAR10) Tensors() (images, labels torch.Tensor) {
	return tensors(d.Images, d.Labels, 3, cifarSide)
}

// tensors returns square images with that many channels, uint8 [N, channels, side, side],
// and their labels, int64 [N].
func tensors(pixels []byte, classes []uint8, channels, side int) (images, labels torch.Tensor) {
	wide := make([]int64, len(classes))
	for i, label := range classes {
		wide[i] = int64(label)
	}
	return torch.FromSlice(pixels, len(classes), channels, side, side), torch.FromSlice(wide)
}
