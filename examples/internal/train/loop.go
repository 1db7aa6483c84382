package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/examples/internal/cli"
	"github.com/libtorch-go/libtorch/examples/internal/meter"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
)

// Loop runs through the loader as often as the flags say. step trains on a batch and returns
// its mean loss; each, which may be nil, is called after every epoch. An interrupt ends the
// loop after the current batch.
func (f *Flags) Loop(ctx context.Context, loader *data.Loader[data.Batch], step func(data.Batch) torch.Tensor,
	each func(epoch int) error) error {
	return f.loop(ctx, loader, func(b data.Batch) (torch.Tensor, error) { return step(b), nil }, each)
}

func (f *Flags) loop(ctx context.Context, loader *data.Loader[data.Batch], step func(data.Batch) (torch.Tensor, error),
	each func(epoch int) error) error {
	for epoch := range f.Epochs {
		done, err := f.epoch(ctx, loader, step, epoch)
		if err == nil && each != nil {
			err = each(epoch)
		}
		if errors.Is(err, context.Canceled) {
			return cli.Interruptedf("interrupted in epoch %d after batch %d of %d", epoch, done, loader.Len())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Flags) epoch(ctx context.Context, loader *data.Loader[data.Batch], step func(data.Batch) (torch.Tensor, error),
	epoch int) (done int, err error) {
	loss := meter.NewAverageMeter("Loss", "%.4e", meter.None)
	defer loss.Reset()
	p := meter.NewProgressMeter(f.out, loader.Len(), fmt.Sprintf("Epoch: [%d]", epoch), loss)
	defer p.Close()
	for b, err := range loader.Epoch(ctx, epoch) {
		if err != nil {
			return done, err
		}
		value, err := step(b)
		if err != nil {
			return done, err
		}
		loss.Add(value, b.Len())
		if done++; done%f.Every == 0 || done == loader.Len() {
			p.Display(done)
		}
		p.Advance(done, b.Len())
	}
	return done, nil
}
