package serve

import (
	"math"
	"slices"
	"time"
)

// Stats counts what a server is doing and has done. The difference of two of them is [Stats.Since].
type Stats struct {
	Waiting, Running int // requests at this moment
	Sequences        int // that are open

	Answered  int64 // requests with outputs
	Failed    int64 // those that got an error of the model's
	Invalid   int64 // those whose inputs did not fit
	Refused   int64 // those that found no place, or no server
	Cancelled int64 // those whose context ended first

	Batches       int64   // runs of the model
	Rows, Padding int64   // in all of them
	Sizes         []int64 // how many batches had how many rows
	Swaps         int64   // new versions

	Queue   Durations // from when a request came until its batch was begun
	Gather  Durations // to make the model's inputs, for each batch
	Compute Durations // to run the model, for each batch
	Split   Durations // to make the answers, for each batch
	Total   Durations // from when a request came to its answer
}

// batch counts a run of the model.
func (s *Stats) batch(rows, padding int, gather, compute, split time.Duration) {
	s.Batches++
	s.Rows += int64(rows)
	s.Padding += int64(padding)
	if rows < len(s.Sizes) {
		s.Sizes[rows]++
	}
	s.Gather.add(gather)
	s.Compute.add(compute)
	s.Split.add(split)
}

func (s *Stats) answered(r *request) {
	switch {
	case r.abandoned:
	case r.err == ErrClosed:
		s.Refused++
	case r.err != nil || r.panic != nil:
		s.Failed++
	default:
		s.Answered++
		s.Total.add(time.Since(r.arrived))
	}
}

// Since is what happened after an earlier Stats of the same server.
func (s Stats) Since(earlier Stats) Stats {
	s.Answered -= earlier.Answered
	s.Failed -= earlier.Failed
	s.Invalid -= earlier.Invalid
	s.Refused -= earlier.Refused
	s.Cancelled -= earlier.Cancelled
	s.Batches -= earlier.Batches
	s.Rows -= earlier.Rows
	s.Padding -= earlier.Padding
	s.Swaps -= earlier.Swaps
	s.Sizes = slices.Clone(s.Sizes)
	for i, n := range earlier.Sizes {
		s.Sizes[i] -= n
	}
	s.Queue = s.Queue.since(earlier.Queue)
	s.Gather = s.Gather.since(earlier.Gather)
	s.Compute = s.Compute.since(earlier.Compute)
	s.Split = s.Split.since(earlier.Split)
	s.Total = s.Total.since(earlier.Total)
	return s
}

// Stats returns the counts so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Sizes = slices.Clone(st.Sizes)
	st.Waiting, st.Sequences = len(s.queue), len(s.sequences)
	return st
}

// Durations are many durations, of which their sum and their percentiles are known.
type Durations struct {
	Count  int64
	Sum    time.Duration
	counts [steps*octaves + 1]int64
}

// A step is an eighth of an octave: percentiles are up to 9 % too high. The first step is a microsecond, the last twenty minutes.
const (
	steps   = 8
	octaves = 30
)

func (d *Durations) add(x time.Duration) {
	i := 0
	if us := float64(x) / float64(time.Microsecond); us > 1 {
		i = min(int(math.Ceil(math.Log2(us)*steps)), len(d.counts)-1)
	}
	d.counts[i]++
	d.Count++
	d.Sum += x
}

func (d Durations) since(earlier Durations) Durations {
	d.Count -= earlier.Count
	d.Sum -= earlier.Sum
	for i, n := range earlier.counts {
		d.counts[i] -= n
	}
	return d
}

// Mean is the average; 0 if there are none.
func (d Durations) Mean() time.Duration {
	if d.Count == 0 {
		return 0
	}
	return d.Sum / time.Duration(d.Count)
}

// Quantile is what a part of the durations, such as 0.99, does not exceed, up to 9 % more; 0 if there are none.
func (d Durations) Quantile(part float64) time.Duration {
	rank := int64(math.Ceil(part * float64(d.Count)))
	for i, n := range d.counts {
		if rank -= n; rank <= 0 && d.Count > 0 {
			return time.Duration(math.Exp2(float64(i)/steps) * float64(time.Microsecond))
		}
	}
	return 0
}
