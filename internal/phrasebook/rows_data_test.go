package phrasebook

import (
	"context"
	"iter"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
)

var sampling = chapter{
	title: "Data sets and samplers",
	before: `def targets(loader):
    return [ys.tolist() for _, ys in loader]

`,
	python: `x, y = torch.arange(10.0).reshape(5, 2), torch.arange(5)
dataset = TensorDataset(x, y)`,
	setup: func() {
		x, y = torch.Arange(10.0).Reshape(5, 2), torch.Arange(5)
		dataset = data.NewTensorDataset(x, y)
	},
	phrases: []phrase{
		{"xs, ys = dataset[3]", func() any {
			sample, err := dataset.At(ctx, 3)
			if err != nil {
				return err
			}
			return all(sample.Input, sample.Target)
		}},
		{`part = Subset(dataset, [3, 1])` + hidden + "[len(part), *part[1]]", func() any {
			part := data.Subset[data.Sample](dataset, []int{3, 1})
			// ->
			sample, err := part.At(ctx, 1)
			if err != nil {
				return err
			}
			return all(part.Len(), sample.Input, sample.Target)
		}},
		{`both = ConcatDataset([dataset, Subset(dataset, [2])])` + hidden + "[len(both), *both[5]]", func() any {
			both := data.Concat[data.Sample](dataset, data.Subset[data.Sample](dataset, []int{2}))
			// ->
			sample, err := both.At(ctx, 5)
			if err != nil {
				return err
			}
			return all(both.Len(), sample.Input, sample.Target)
		}},
		{`train, val = random_split(dataset, [3, 2], torch.Generator().manual_seed(7))` + hidden + "[len(train), *val[0]]", func() any {
			parts := data.RandomSplit[data.Sample](dataset, []int{3, 2}, 7)
			train, val := parts[0], parts[1]
			// ->
			sample, err := val.At(ctx, 0)
			if err != nil {
				return err
			}
			return all(train.Len(), sample.Input, sample.Target)
		}},
		{"list(RandomSampler(dataset, replacement=True, num_samples=8, generator=torch.Generator().manual_seed(7)))", func() any {
			return data.RandomDraws(5, 8, 7).Indices(0)
		}},
		{"list(WeightedRandomSampler([1, 0, 2, 3, 1], 3, replacement=False, generator=torch.Generator().manual_seed(7)))", func() any {
			return data.Weighted([]float64{1, 0, 2, 3, 1}, 3, false, 7).Indices(0)
		}},
		{"list(BatchSampler(SequentialSampler(dataset), 2, drop_last=True))", func() any {
			return data.Batched(data.Sequential(5), 2, true).Batches(0)
		}},
		{`sampler = DistributedSampler(dataset, num_replicas=2, rank=0, seed=7, drop_last=True)
sampler.set_epoch(3)
order = list(sampler)`, func() any {
			sampler := data.Shard(data.Random(5, 7), 0, 2, data.ShardOptions{DropLast: true})
			order := sampler.Indices(3)
			return order
		}},
		{"targets(DataLoader(dataset, sampler=[4, 0, 2], batch_size=2))", func() any {
			loader, err := data.NewLoader(dataset, data.LoaderOptions{Sampler: order{4, 0, 2}, BatchSize: 2})
			if err != nil {
				return err
			}
			return targets(loader)
		}},
		{"targets(DataLoader(dataset, batch_sampler=BatchSampler(SequentialSampler(dataset), 3, False), num_workers=0))", func() any {
			loader, err := data.NewLoader(dataset, data.LoaderOptions{BatchSampler: data.Batched(data.Sequential(5), 3, false)})
			if err != nil {
				return err
			}
			return targets(loader)
		}},
		{"targets(DataLoader(Subset(dataset, [4, 1, 2]), batch_size=2, num_workers=2, timeout=60, prefetch_factor=4))", func() any {
			part := data.Subset[data.Sample](dataset, []int{4, 1, 2})
			loader, err := data.NewLoader(data.Collate(part, data.Stack),
				data.LoaderOptions{BatchSize: 2, Workers: 2, Timeout: time.Minute, Prefetch: 4})
			if err != nil {
				return err
			}
			return targets(loader)
		}},
		{`batch = default_collate([{"x": x[0], "y": y[0]}, {"x": x[1], "y": y[1]}])`, func() any {
			batch, err := data.StackNested([]map[string]torch.Tensor{
				{"x": x.Select(0, 0), "y": y.Select(0, 0)},
				{"x": x.Select(0, 1), "y": y.Select(0, 1)},
			}, nil, nil)
			if err != nil {
				return err
			}
			return batch
		}},
		{"batch = pad_sequence([torch.ones(2), torch.ones(4)], batch_first=True, padding_value=-1)", func() any {
			words := []data.Sample{{Input: torch.Ones(2), Target: y.Select(0, 0)}, {Input: torch.Ones(4), Target: y.Select(0, 1)}}
			batch, err := data.Pad(data.PadOptions{Value: -1})(words, nil, nil)
			if err != nil {
				return err
			}
			return batch.Input
		}},
		{`class Counting(IterableDataset):
    def __iter__(self):
        yield from ((torch.ones(2), i) for i in range(5))

targets(DataLoader(Counting(), batch_size=2))`, func() any {
			counting := data.Stream[data.Sample](func(context.Context, int) iter.Seq2[data.Sample, error] {
				return func(yield func(data.Sample, error) bool) {
					for i := range 5 {
						if !yield(data.Sample{Input: torch.Ones(2).Keep(), Target: torch.FromValue(i).Keep()}, nil) {
							return
						}
					}
				}
			})
			loader, err := data.NewStreamLoader(counting, data.Stack, data.LoaderOptions{BatchSize: 2})
			if err != nil {
				return err
			}
			return targets(loader)
		}},
	},
}

// An order is a sampler that visits these samples in every epoch.
type order []int

func (o order) Len() int          { return len(o) }
func (o order) Indices(int) []int { return o }

// targets are those of the batches of an epoch.
func targets(loader *data.Loader[data.Batch]) any {
	var list [][]int
	for batch, err := range loader.Epoch(ctx, 0) {
		if err != nil {
			return err
		}
		list = append(list, torch.Values[int](batch.Target))
	}
	return list
}
