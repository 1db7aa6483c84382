package data_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
)

func ExampleLoader() {
	set := data.NewTensorDataset(torch.Arange(10), torch.Tensor{})
	doubled := data.Map(set, func(b data.Batch, _ *rand.Rand) data.Batch {
		b.Input = b.Input.MulScalar(2)
		return b
	})
	loader, err := data.NewLoader(doubled, data.LoaderOptions{BatchSize: 4, Shuffle: true, Seed: 7, Workers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for batch, err := range loader.Epoch(context.Background(), 3) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch.Index, torch.Values[int](batch.Input))
	}
	// Output:
	// [7 4 6 1] [14 8 12 2]
	// [3 5 9 8] [6 10 18 16]
	// [2 0] [4 0]
}

type words []string

func (w words) Len() int                                    { return len(w) }
func (w words) At(_ context.Context, i int) (string, error) { return w[i], nil }

func join(samples []string, _ []int, _ *rand.Rand) (string, error) {
	return strings.Join(samples, " and "), nil
}

// Batches need not be tensors.
func ExampleCollate() {
	loader, err := data.NewLoader(data.Collate(words{"salt", "pepper", "oil"}, join), data.LoaderOptions{BatchSize: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for word, err := range loader.Epoch(context.Background(), 0) {
		fmt.Println(word, err)
	}
	// Output:
	// salt and pepper <nil>
	// oil <nil>
}
