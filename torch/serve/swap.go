package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// Swap warms up another model and puts it in the place of the current one, which answers what was accepted before, goes on with
// its sequences, and is closed after the last of them. Where the new model does not work, it is closed and nothing changes.
// The signature may differ.
func (s *Server) Swap(model Model) error { return s.SwapContext(context.Background(), model) }

// SwapContext is [Server.Swap], which gives up when ctx ends before the new model is warmed up, if the model does.
func (s *Server) SwapContext(ctx context.Context, model Model) error {
	s.swapping.Lock()
	defer s.swapping.Unlock()
	if errors.Is(s.Ready(), ErrClosed) {
		model.Close()
		return ErrClosed
	}
	v, err := s.prepare(ctx, model)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.draining {
		s.mu.Unlock()
		model.Close()
		return ErrClosed
	}
	s.stats.Swaps++
	after := s.retire()
	s.current = v
	s.mu.Unlock()
	after()
	return nil
}

// retire closes the current version as soon as nobody uses it. What it returns has to be called without the lock.
func (s *Server) retire() func() {
	old := s.current
	s.current = nil
	if old == nil {
		return func() {}
	}
	old.retired = true
	old.users++
	return s.release(old)
}

// prepare checks a model and warms it up, or closes it.
func (s *Server) prepare(ctx context.Context, model Model) (v *version, err error) {
	ready := false
	defer func() {
		if !ready {
			model.Close()
		}
	}()
	v = &version{model: model, signature: model.Signature()}
	if err := v.signature.check(); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	v.inputs, v.outputs, v.batches = v.signature.all(v.signature.Inputs), v.signature.all(v.signature.Outputs), v.signature.batches()
	if s.o.MaxBatch > 1 && !v.batches {
		return nil, fmt.Errorf("serve: expected -1 as the first size of all inputs and outputs for batches of up to %d rows, got %v → %v",
			s.o.MaxBatch, v.signature.Inputs, v.signature.Outputs)
	}
	sample, err := s.sample(v.signature)
	if err != nil {
		return nil, err
	}
	defer torch.Close(sample...)
	for _, rows := range s.o.WarmUp {
		if sample == nil {
			break
		}
		if err := s.warmUp(ctx, v, sample, rows); err != nil {
			return nil, fmt.Errorf("serve: warming up with %d rows: %w", rows, err)
		}
	}
	ready = true
	return v, nil
}

// sample is what to warm up with: one row; nil if only the caller could know it.
func (s *Server) sample(sig Signature) (sample []torch.Tensor, err error) {
	if s.o.Sample == nil {
		for _, spec := range sig.Inputs {
			if slices.Contains(spec.Shape[min(1, len(spec.Shape)):], -1) || len(spec.Shape) > 0 && spec.Shape[0] == -1 && !sig.batches() {
				return nil, nil
			}
		}
	}
	err = torch.Try(func() {
		torch.Unscoped(func() {
			for i, spec := range sig.Inputs {
				if i < len(s.o.Sample) {
					sample = append(sample, s.o.Sample[i].Alias())
					continue
				}
				r := request{rows: 1}
				sample = append(sample, r.state(0, spec, torch.CPU))
			}
		})
	})
	return sample, err
}

// warmUp computes a batch for nobody.
func (s *Server) warmUp(ctx context.Context, v *version, sample []torch.Tensor, rows int) (err error) {
	r := &request{ctx: ctx, version: v}
	defer func() { torch.Close(r.inputs...) }()
	switch err := r.take(sample, 1); {
	case err != nil:
		return err
	case r.rows != 1:
		return fmt.Errorf("the sample has %d rows, expected one", r.rows)
	}
	if !v.batches {
		rows = 1
	}
	busy := s.lanes.Do(ctx, func() {
		inScope(func() {
			_, err = s.run(ctx, v, s.gather(slices.Repeat([]*request{r}, rows), rows), rows)
		})
	})
	return errors.Join(err, busy)
}
