package data_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
)

// BenchmarkEpoch loads 10,000 images of the size of CIFAR-10's in batches of 128: shuffled,
// selected, made float32 and normalised. The loop does nothing with them.
func BenchmarkEpoch(b *testing.B) {
	const n = 10000
	images, labels := torch.Zeros(n, 3, 32, 32).To(torch.Uint8), torch.Arange(n)
	mean, scale := torch.Full([]int{1, 3, 1, 1}, 120), torch.Full([]int{1, 3, 1, 1}, 1./64)
	defer torch.Close(images, labels, mean, scale)
	raw := data.NewTensorDataset(images, labels)
	normalised := data.Map(raw, func(batch data.Batch, _ *rand.Rand) data.Batch {
		batch.Input = batch.Input.To(torch.Float32).SubInPlace(mean).MulInPlace(scale)
		return batch
	})
	for name, source := range map[string]data.Source[data.Batch]{"raw": raw, "normalised": normalised} {
		for _, workers := range []int{0, 1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
				loader, err := data.NewLoader(source, data.LoaderOptions{BatchSize: 128, Shuffle: true, Workers: workers})
				if err != nil {
					b.Fatal(err)
				}
				for epoch := 0; b.Loop(); epoch++ {
					for _, err := range loader.Epoch(context.Background(), epoch) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "img/s")
			})
		}
	}
}
