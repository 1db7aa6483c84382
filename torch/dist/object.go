package dist

import (
	"context"
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

// BroadcastObject gives all ranks the value of rank src: Python's broadcast_object_list with a list of one. Ranks of Python's may take
// part: what travels is a pickle of what JSON can say of the value.
func BroadcastObject[T any](ctx context.Context, g *Group, v T, src int) (got T, err error) {
	var text []byte
	if g.rank == src {
		if text, err = pickled(v); err != nil {
			return v, fmt.Errorf("dist: broadcast_object: %w", err)
		}
	}
	text, err = exchanged(func() ([]byte, error) {
		size := g.numbers(len(text))
		if err := g.Broadcast(size, src).Wait(ctx); err != nil {
			return nil, err
		}
		body := g.bytes(text, int(size.Int()))
		if err := g.Broadcast(body, src).Wait(ctx); err != nil {
			return nil, err
		}
		return torch.Values[uint8](body.To(torch.CPU)), nil
	})
	if err != nil {
		return v, err
	}
	return unpickled[T]("broadcast_object", text)
}

// ScatterObject gives each rank its value of the list that rank src has: Python's scatter_object_list. The list of the others is nil.
// Ranks of Python's may take part, as in [BroadcastObject].
func ScatterObject[T any](ctx context.Context, g *Group, list []T, src int) (got T, err error) {
	if err := g.rooted("the list", len(list), "source", src); err != nil {
		return got, g.failed("scatter_object", -1, err)
	}
	texts, longest := make([][]byte, len(list)), 0
	for i, v := range list {
		if texts[i], err = pickled(v); err != nil {
			return got, fmt.Errorf("dist: scatter_object: the value of rank %d: %w", i, err)
		}
		longest = max(longest, len(texts[i]))
	}
	text, err := exchanged(func() ([]byte, error) {
		var bodies, sizes []torch.Tensor
		most := g.numbers(longest)
		if err := g.Broadcast(most, src).Wait(ctx); err != nil {
			return nil, err
		}
		n := int(most.Int())
		for _, text := range texts {
			bodies, sizes = append(bodies, g.bytes(text, n)), append(sizes, g.numbers(len(text)))
		}
		body, size := g.bytes(nil, n), g.numbers(0)
		if err := WaitAll(ctx, g.Scatter(body, bodies, src), g.Scatter(size, sizes, src)); err != nil {
			return nil, err
		}
		return cut(torch.Values[uint8](body.To(torch.CPU)), size)
	})
	if err != nil {
		return got, err
	}
	return unpickled[T]("scatter_object", text)
}

// AllGatherObject gives all ranks the values of all, in the order of the ranks: Python's all_gather_object. Ranks of Python's may take
// part, as in [BroadcastObject].
func AllGatherObject[T any](ctx context.Context, g *Group, v T) ([]T, error) {
	text, err := pickled(v)
	if err != nil {
		return nil, fmt.Errorf("dist: all_gather_object: %w", err)
	}
	texts := make([][]byte, len(g.ranks))
	_, err = exchanged(func() ([]byte, error) {
		var sizes, bodies []torch.Tensor
		for range g.ranks {
			sizes = append(sizes, g.numbers(0))
		}
		if err := g.AllGather(sizes, g.numbers(len(text))).Wait(ctx); err != nil {
			return nil, err
		}
		longest := int(torch.Cat(sizes, 0).Max().Int())
		for range g.ranks {
			bodies = append(bodies, g.bytes(nil, longest))
		}
		if err := g.AllGather(bodies, g.bytes(text, longest)).Wait(ctx); err != nil {
			return nil, err
		}
		for i, body := range bodies {
			if texts[i], err = cut(torch.Values[uint8](body.To(torch.CPU)), sizes[i]); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	list := make([]T, len(texts))
	for i, text := range texts {
		if list[i], err = unpickled[T]("all_gather_object", text); err != nil {
			return nil, fmt.Errorf("rank %d: %w", i, err)
		}
	}
	return list, nil
}

// exchanged runs fn, whose tensors are freed after it.
func exchanged(fn func() ([]byte, error)) (text []byte, err error) {
	defer torch.Recover(&err)
	var failed error
	torch.Scope(func() { text, failed = fn() })
	return text, failed
}

// cut is as much of a text as a rank said.
func cut(text []byte, size torch.Tensor) ([]byte, error) {
	n := int(size.Int())
	if n < 0 || n > len(text) {
		return nil, fmt.Errorf("dist: a rank sent an object of %d bytes in %d", n, len(text))
	}
	return text[:n], nil
}

// device is where tensors are that belong to no model, such as numbers and texts that the ranks exchange.
func (g *Group) device() torch.Device {
	if g.carries("cpu") {
		return torch.CPU
	}
	return g.world.card()
}

func (g *Group) numbers(list ...int) torch.Tensor {
	wide := make([]int64, len(list))
	for i, n := range list {
		wide[i] = int64(n)
	}
	return torch.FromSlice(wide, len(list)).To(g.device())
}

// bytes is a text in a tensor of n bytes.
func (g *Group) bytes(text []byte, n int) torch.Tensor {
	list := make([]byte, n)
	copy(list, text)
	return torch.FromSlice(list, n).To(g.device())
}
