package data_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
)

// newLoader is NewLoader for settings that are known to be right.
func newLoader[B any](source data.Source[B], o data.LoaderOptions) *data.Loader[B] {
	loader, err := data.NewLoader(source, o)
	if err != nil {
		panic(err)
	}
	return loader
}

func ExampleNewTensorDataset() {
	x, y := torch.Arange(6).Reshape(3, 2), torch.FromSlice([]int{0, 1, 0})
	loader := newLoader(data.NewTensorDataset(x, y), data.LoaderOptions{BatchSize: 2})
	fmt.Println(loader.Len(), "batches")
	for batch, err := range loader.Epoch(context.Background(), 0) {
		fmt.Println(torch.Matrix[int](batch.Input), torch.Values[int](batch.Target), err)
	}
	// Output:
	// 2 batches
	// [[0 1] [2 3]] [0 1] <nil>
	// [[4 5]] [0] <nil>
}

// points is a data set that computes its samples.
type points int

func (p points) Len() int { return int(p) }
func (p points) At(_ context.Context, i int) (data.Sample, error) {
	if i == 3 {
		return data.Sample{}, errors.New("the file is damaged")
	}
	return data.Sample{Input: torch.FromSlice([]int{i, i * i})}, nil
}

// Stack joins samples into a batch.
func ExampleStack() {
	loader := newLoader(data.Collate(points(3), data.Stack), data.LoaderOptions{BatchSize: 3})
	for batch, err := range loader.Epoch(context.Background(), 0) {
		fmt.Println(torch.Matrix[int](batch.Input), err)
	}
	// Output: [[0 0] [1 1] [2 4]] <nil>
}

// An error is the last item, and says what failed.
func ExampleError() {
	loader := newLoader(data.Collate(points(5), data.Stack), data.LoaderOptions{BatchSize: 2, Workers: 1})
	for batch, err := range loader.Epoch(context.Background(), 0) {
		var failed *data.Error
		if errors.As(err, &failed) {
			fmt.Println("batch", failed.Batch, "sample", failed.Index, failed.Err)
			break
		}
		fmt.Println(batch.Index)
	}
	// Output:
	// [0 1]
	// batch 1 sample 3 the file is damaged
}

// Random choices come from the loader's source: the same for the same batch of the same epoch.
func ExampleMap() {
	set := data.NewTensorDataset(torch.Zeros(4, 2), torch.Tensor{})
	noisy := data.Map(set, func(b data.Batch, r *rand.Rand) data.Batch {
		b.Input = b.Input.AddScalar(r.Float64())
		return b
	})
	sum := func(workers int) (total float64) {
		loader := newLoader(noisy, data.LoaderOptions{BatchSize: 1, Seed: 1, Workers: workers})
		for batch := range loader.Epoch(context.Background(), 7) {
			total += batch.Input.Sum().Float64()
		}
		return total
	}
	fmt.Println(sum(0) == sum(3))
	// Output: true
}

// A run that was interrupted goes on in the middle of an epoch.
func ExampleLoader_EpochFrom() {
	set := data.NewTensorDataset(torch.Arange(6), torch.Tensor{})
	loader := newLoader(set, data.LoaderOptions{BatchSize: 2, Shuffle: true})
	var all [][]int
	for batch := range loader.Epoch(context.Background(), 1) {
		all = append(all, batch.Index)
	}
	for batch := range loader.EpochFrom(context.Background(), 1, 2) {
		fmt.Println(fmt.Sprint(batch.Index) == fmt.Sprint(all[2]))
	}
	// Output: true
}

// Two loaders in step.
func ExampleLoader_Pull() {
	ctx := context.Background()
	set := data.NewTensorDataset(torch.Arange(4), torch.Tensor{})
	few := newLoader(set, data.LoaderOptions{BatchSize: 2})
	next, stop := newLoader(set, data.LoaderOptions{BatchSize: 1}).Pull(ctx, 0)
	defer stop()
	for batch := range few.Epoch(ctx, 0) {
		other, err, ok := next()
		fmt.Println(batch.Index, other.Index, err, ok)
	}
	// Output:
	// [0 1] [0] <nil> true
	// [2 3] [1] <nil> true
}

// A batch lives as long as the body of the loop; Keep keeps a tensor.
func ExampleLoader_Epoch() {
	loader := newLoader(data.NewTensorDataset(torch.Arange(3), torch.Tensor{}), data.LoaderOptions{})
	var last torch.Tensor
	for batch, err := range loader.Epoch(context.Background(), 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		last.Close()
		last = batch.Input.MulScalar(10).Keep()
	}
	fmt.Println(last)
	last.Close()
	// Output: tensor([20])
}

// The same seed and epoch give the same order, on every machine and in PyTorch's DistributedSampler.
func ExampleRandom() {
	order := data.Random(5, 42)
	fmt.Println(order.Indices(0))
	fmt.Println(order.Indices(1))
	// Output:
	// [2 4 3 0 1]
	// [3 1 4 2 0]
}

func ExampleShard() {
	for rank := range 2 {
		fmt.Println(data.Shard(data.Sequential(5), rank, 2).Indices(0))
	}
	// Output:
	// [0 2 4]
	// [1 3 0]
}

func ExampleBatched() {
	fmt.Println(data.Batched(data.Sequential(5), 2, false).Batches(0))
	fmt.Println(data.Batched(data.Sequential(5), 2, true).Batches(0)) // drop the last
	// Output:
	// [[0 1] [2 3] [4]]
	// [[0 1] [2 3]]
}

// rare visits class 1, of which there is little, as often as class 0.
type rare struct{ labels []int }

func (s rare) Len() int { return 2 * len(s.labels) }
func (s rare) Indices(epoch int) []int {
	g := torch.NewGenerator(torch.CPU).ManualSeed(uint64(epoch))
	defer g.Close()
	var indices []int
	torch.Scope(func() {
		labels := torch.FromSlice(s.labels)
		weights := labels.BinCount().To(torch.Float64).Reciprocal().Index(labels)
		draws := weights.Multinomial(s.Len(), torch.MultinomialOptions{Replacement: true, Generator: g})
		indices = torch.Values[int](draws)
	})
	return indices
}

// A sampler of one's own is two methods.
func ExampleSampler() {
	labels := []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
	var sampler data.Sampler = rare{labels}
	ones := 0
	for epoch := range 50 {
		for _, i := range sampler.Indices(epoch) {
			ones += labels[i]
		}
	}
	fmt.Printf("%.1f of the samples are of class 1\n", float64(ones)/float64(50*sampler.Len()))
	// Output: 0.5 of the samples are of class 1
}

// Options that make no sense are an error before anything starts.
func ExampleNewLoader() {
	_, err := data.NewLoader(data.NewTensorDataset(torch.Arange(3), torch.Tensor{}), data.LoaderOptions{Workers: -1})
	fmt.Println(err != nil)
	// Output: true
}

// The share of the time that a training waits for its data.
func ExampleLoader_Stats() {
	set := data.NewTensorDataset(torch.RandN(100, 3), torch.Zeros(100))
	loader, err := data.NewLoader[data.Batch](set, data.LoaderOptions{BatchSize: 10, Workers: 1})
	if err != nil {
		panic(err)
	}
	for _, err := range loader.Epoch(context.Background(), 0) {
		if err != nil {
			panic(err)
		}
	}
	s := loader.Stats()
	fmt.Println(s.Batches, s.Bytes, s.Waiting() <= 1)
	// Output: 10 1600 true
}

// Lines of text that come one after the other, mixed in a buffer; the workers turn them into tensors.
func ExampleNewStreamLoader() {
	lines := data.Stream[string](func(context.Context, int) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for line := range strings.Lines("1 2\n3 4\n5 6\n") {
				if !yield(line, nil) {
					return
				}
			}
		}
	})
	parse := func(lines []string, indices []int, _ *rand.Rand) (data.Batch, error) {
		var numbers []int
		for _, line := range lines {
			var a, b int
			if _, err := fmt.Sscan(line, &a, &b); err != nil {
				return data.Batch{}, err
			}
			numbers = append(numbers, a, b)
		}
		return data.Batch{Input: torch.FromSlice(numbers).View(-1, 2), Index: indices}, nil
	}
	loader, err := data.NewStreamLoader(lines.Shuffle(2, 1), parse, data.LoaderOptions{BatchSize: 3, Workers: 2})
	if err != nil {
		panic(err)
	}
	for batch, err := range loader.Epoch(context.Background(), 0) {
		if err != nil {
			panic(err)
		}
		fmt.Println(batch.Input.Shape(), batch.Input.Sum().Int())
	}
	// Output: [3 2] 21
}

// Sentences of unequal lengths.
func ExamplePad() {
	sentences := data.NewDataset(2, func(_ context.Context, i int) (data.Sample, error) {
		return data.Sample{Input: torch.FromSlice([][]int{{4, 8, 15}, {16}}[i]), Target: torch.FromValue(i)}, nil
	})
	loader, err := data.NewLoader(data.Collate(sentences, data.Pad()), data.LoaderOptions{BatchSize: 2})
	if err != nil {
		panic(err)
	}
	for batch, err := range loader.Epoch(context.Background(), 0) {
		if err != nil {
			panic(err)
		}
		fmt.Println(batch.Input, batch.InputLengths)
	}
	// Output:
	// tensor([[ 4,  8, 15],
	//         [16,  0,  0]]) tensor([3, 1])
}
