package dist

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

// BroadcastObject gives all ranks the value of rank src, as JSON carries it.
func BroadcastObject[T any](ctx context.Context, g *Group, v T, src int) (T, error) {
	var text []byte
	if g.rank == src {
		var err error
		if text, err = json.Marshal(v); err != nil {
			return v, fmt.Errorf("dist: broadcast_object: %w", err)
		}
	}
	size := torch.FromValue(int64(len(text)))
	defer size.Close()
	if err := g.Broadcast(size, src).Wait(ctx); err != nil {
		return v, err
	}
	body := padded(text, int(size.Int()))
	defer body.Close()
	if err := g.Broadcast(body, src).Wait(ctx); err != nil {
		return v, err
	}
	return v, json.Unmarshal(torch.Values[uint8](body), &v)
}

// AllGatherObject gives all ranks the values of all, in the order of the ranks, as JSON carries them.
func AllGatherObject[T any](ctx context.Context, g *Group, v T) ([]T, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("dist: all_gather_object: %w", err)
	}
	longest := torch.FromValue(int64(len(text)))
	defer longest.Close()
	if err := g.AllReduce(longest, ReduceOptions{Op: Max}).Wait(ctx); err != nil {
		return nil, err
	}
	n := int(longest.Int())
	body, all := padded(text, n), padded(nil, n*len(g.ranks))
	defer body.Close()
	defer all.Close()
	if err := g.AllGatherIntoTensor(all, body).Wait(ctx); err != nil {
		return nil, err
	}
	list, bytes := make([]T, len(g.ranks)), torch.Values[uint8](all)
	for i := range list {
		if err := json.Unmarshal(bytes[i*n:(i+1)*n], &list[i]); err != nil {
			return nil, fmt.Errorf("dist: all_gather_object: rank %d: %w", i, err)
		}
	}
	return list, nil
}

// padded is a text with blanks, which JSON ignores, up to n bytes.
func padded(text []byte, n int) torch.Tensor {
	list := append(make([]byte, 0, n), text...)
	for len(list) < n {
		list = append(list, ' ')
	}
	return torch.FromSlice(list, n)
}
