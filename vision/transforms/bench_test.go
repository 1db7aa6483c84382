package transforms

import (
	"math/rand/v2"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
)

// BenchmarkCropFlipNormalize makes batches of small images on one core.
func BenchmarkCropFlipNormalize(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	p := CropFlipNormalize{Size: 32, Padding: 4, Mean: [3]float64{0.49, 0.48, 0.45}, Std: [3]float64{0.25, 0.24, 0.26}}
	torch.Scope(func() {
		images := torch.TensorOptions{DType: torch.Uint8}.RandIntN(256, 128, 3, 32, 32)
		for b.Loop() {
			p.Apply(images, r).Close()
		}
	})
	b.ReportMetric(float64(128*b.N)/b.Elapsed().Seconds(), "images/s")
}
