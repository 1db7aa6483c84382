package data

import (
	"fmt"
	"sync/atomic"
	"time"
)

// LoaderStats tells whether a training loop waits for its data. All figures are sums over the loader's life; those of a
// part of it are the difference of two by [LoaderStats.Since].
type LoaderStats struct {
	Batches int           // that the loop has taken
	Wait    time.Duration // how long it waited for them
	Busy    time.Duration // how long workers, or the loop itself where there are none, took to make batches
	Workers int           // that make them at the same time; 0: the loop
	Bytes   int64         // of tensors in the batches made
	Elapsed time.Duration // from the first time that a batch was asked for to the last
}

// Since is what has been added since an earlier time.
func (s LoaderStats) Since(earlier LoaderStats) LoaderStats {
	s.Batches -= earlier.Batches
	s.Wait -= earlier.Wait
	s.Busy -= earlier.Busy
	s.Bytes -= earlier.Bytes
	s.Elapsed -= earlier.Elapsed
	return s
}

// Waiting is the share of the time that the loop waited for data: near 0 the loop is bound by its computation, near 1 by
// its data.
func (s LoaderStats) Waiting() float64 { return share(s.Wait, s.Elapsed) }

// Working is the share of the time that the workers were at work: near 1 more of them, or faster ones, would help where the
// loop waits.
func (s LoaderStats) Working() float64 {
	return share(s.Busy, s.Elapsed*time.Duration(max(1, s.Workers)))
}

// String is one line, such as
//
//	data: waited 0.4 % of the time (0.1 ms a batch), 2 workers busy for 31 %, 58.2 MB/s
func (s LoaderStats) String() string {
	makers := "made by the loop itself"
	if s.Workers > 0 {
		makers = fmt.Sprintf("%d workers busy for %.0f %%", s.Workers, 100*s.Working())
	}
	each, rate := time.Duration(0), 0.0
	if s.Batches > 0 {
		each = s.Wait / time.Duration(s.Batches)
	}
	if s.Elapsed > 0 {
		rate = float64(s.Bytes) / s.Elapsed.Seconds()
	}
	return fmt.Sprintf("data: waited %.1f %% of the time (%.1f ms a batch), %s, %.1f MB/s",
		100*s.Waiting(), float64(each)/float64(time.Millisecond), makers, rate/1e6)
}

func share(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Stats are the figures of all epochs so far, those that run included.
func (l *Loader[B]) Stats() LoaderStats {
	t := &l.tally
	s := LoaderStats{
		Batches: int(t.batches.Load()),
		Wait:    time.Duration(t.wait.Load()),
		Busy:    time.Duration(t.busy.Load()),
		Workers: l.options.Workers,
		Bytes:   t.bytes.Load(),
	}
	if first := t.first.Load(); first != nil {
		s.Elapsed = time.Duration(t.last.Load())
	}
	return s
}

// A tally counts for [LoaderStats]. Several epochs may count at once.
type tally struct {
	batches, wait, busy, bytes atomic.Int64
	first                      atomic.Pointer[time.Time] // when the first batch was asked for
	last                       atomic.Int64              // how long after that the last one arrived
}

// waited counts a wait that began at a time, and whether it was for a batch.
func (t *tally) waited(asked time.Time, forBatch bool) {
	t.first.CompareAndSwap(nil, &asked)
	t.wait.Add(int64(time.Since(asked)))
	t.last.Store(int64(time.Since(*t.first.Load())))
	if forBatch {
		t.batches.Add(1)
	}
}
