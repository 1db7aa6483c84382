package serve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// request is one request on its way. What changes after it was accepted is under the server's lock, until done is closed.
type request struct {
	ctx      context.Context
	version  *version
	inputs   []torch.Tensor // handles of the server's own
	rows     int
	alike    []likeness // of the inputs: what requests that share a batch have in common
	priority int
	arrived  time.Time

	sequence *sequence
	end      bool           // of the sequence
	states   []torch.Tensor // the new ones

	outputs   []torch.Tensor
	times     Times
	err       error
	panic     *torch.LanePanic
	abandoned bool // nobody waits for the answer
	answered  bool
	part      int    // of requests that several lanes share: those of a part make batches among themselves, and wait for no more; 0 is none
	after     chores // of the answer
	done      chan struct{}
}

// likeness is what an input has in common with those of requests that share a batch.
type likeness struct {
	row    []int // its shape without the first size
	device torch.Device
}

func (l likeness) equal(other likeness) bool {
	return l.device == other.device && slices.Equal(l.row, other.row)
}

// take checks inputs and keeps them.
func (r *request) take(inputs []torch.Tensor, most int) error {
	specs := r.version.signature.Inputs
	if len(inputs) != len(specs) {
		return &InputError{fmt.Errorf("%d inputs, expected %d: %v", len(inputs), len(specs), specs)}
	}
	r.rows = 1
	for i, t := range inputs {
		shape, err := specs[i].check(t)
		if err == nil {
			err = r.takeInput(i, t, shape, most > 1)
		}
		if err != nil {
			return &InputError{err}
		}
	}
	if r.rows < 1 || r.version.batches && most > 1 && r.rows > most {
		return &InputError{fmt.Errorf("%d rows, expected 1 to %d", r.rows, most)}
	}
	return r.takeStates()
}

// takeInput keeps an input, and counts its rows. Shared says that the batch may have other requests in it.
func (r *request) takeInput(i int, t torch.Tensor, shape []int, shared bool) error {
	if r.version.batches {
		specs := r.version.inputs
		if i == 0 {
			r.rows = shape[0]
		} else if shape[0] != r.rows {
			return fmt.Errorf("%q has %d rows, %q has %d", specs[i].Name, shape[0], specs[0].Name, r.rows)
		}
		if shared {
			r.alike = append(r.alike, likeness{shape[1:], t.Device()})
		}
	}
	r.inputs = append(r.inputs, t.Keep())
	return nil
}

// takeStates compares a request with the one before it in the sequence.
func (r *request) takeStates() error {
	if r.sequence == nil || !r.version.batches {
		return nil
	}
	for _, t := range r.sequence.states {
		if n := t.Size(0); n != r.rows {
			return &InputError{fmt.Errorf("%d rows, expected %d as at the beginning of the sequence", r.rows, n)}
		}
	}
	return nil
}

// result hands the answer over to the caller.
func (r *request) result() ([]torch.Tensor, error) {
	if r.panic != nil {
		panic(r.panic)
	}
	if r.err != nil {
		return nil, r.err
	}
	if bridge.Held() { // there may be a scope, to which they belong
		for i, t := range r.outputs {
			r.outputs[i] = t.Alias()
			t.Close()
		}
	}
	return r.outputs, nil
}

// queue holds the requests that wait: higher priorities first, then those that came first.
type queue []*request

func (q *queue) add(r *request) {
	i := len(*q)
	for i > 0 && (*q)[i-1].priority < r.priority {
		i--
	}
	*q = slices.Insert(*q, i, r)
}

// remove takes a request out; false says that it was not there.
func (q *queue) remove(r *request) bool {
	i := slices.Index(*q, r)
	if i >= 0 {
		*q = slices.Delete(*q, i, i+1)
	}
	return i >= 0
}

// wanted tells whether anybody waits for the answer. Whoever does not is about to take the request out.
func (r *request) wanted() bool { return r.ctx.Err() == nil }

// like tells whether a request may share a batch with another.
func (r *request) like(other *request) bool {
	return r.version == other.version && r.part == other.part && slices.EqualFunc(r.alike, other.alike, likeness.equal)
}

// allLike are the requests that wait and could share batches with another, and their rows.
func (q queue) allLike(other *request) (all []*request, rows int) {
	for _, r := range q {
		if r.wanted() && r.like(other) {
			all, rows = append(all, r), rows+r.rows
		}
	}
	return all, rows
}

// next are the requests that would make the next batch of at most so many rows, the time when the oldest of them arrived, and whether it
// shall wait for no more: no more fit, or there are as many rows as a preferred batch has, the largest that there are enough for.
func (q queue) next(o *Options, most int) (batch []*request, since time.Time, ripe bool) {
	rows, preferred := 0, 0 // requests of the preferred batch
	for _, r := range q {
		if !r.wanted() {
			continue
		}
		if len(batch) > 0 && !r.like(batch[0]) {
			continue
		}
		if ripe = len(batch) > 0 && rows+r.rows > most; ripe {
			break
		}
		batch, rows = append(batch, r), rows+r.rows
		if since.IsZero() || r.arrived.Before(since) {
			since = r.arrived
		}
		if slices.Contains(o.Preferred, rows) {
			preferred = len(batch)
		}
		if ripe = rows >= most || !r.version.batches; ripe {
			break
		}
	}
	if preferred > 0 {
		return batch[:preferred], since, true
	}
	return batch, since, ripe
}
