package serve

import "time"

// memory is for how long, at least, a crowd remembers how large it was. A memory that is too long costs nothing but waits of MaxDelay.
const memory = 5 * time.Second

// crowd counts the rows that are on their way, those that wait and those that are computed. Who asks again as soon as he has his answer
// belongs to it in between, which is why the most of late is what there is to be divided among lanes.
type crowd struct {
	rows  int
	most  [2]int // of this span of time and of the one before
	since time.Time
}

func (c *crowd) enter(rows int, now time.Time) {
	if passed := now.Sub(c.since); passed >= memory {
		c.most = [2]int{c.rows, c.most[0]}
		if passed >= 2*memory {
			c.most[1] = 0
		}
		c.since = now
	}
	c.rows += rows
	c.most[0] = max(c.most[0], c.rows)
}

func (c *crowd) leave(rows int) { c.rows -= rows }

func (c *crowd) lately() int { return max(c.most[0], c.most[1]) }

// fair is how many rows a batch has at most. While other lanes compute, that is a lane's part of all that are on their way: more would
// leave less to the others than they need, and waiting for more is in vain. Where a lane is alone, or a card computes, it is MaxBatch.
func (s *Server) fair() int {
	if s.busy == 0 || !s.divides() {
		return s.o.MaxBatch
	}
	lanes := s.free() + s.busy
	if lanes < 2 {
		return s.o.MaxBatch
	}
	return min(s.padded((s.crowd.lately()+lanes-1)/lanes), s.o.MaxBatch)
}

// divides tells whether several batches at the same time are as good as one that is as large as all of them: not on a card, nor
// where somebody has said which batches are preferred.
func (s *Server) divides() bool { return s.o.Device.IsZero() && len(s.o.Preferred) == 0 }

// free are the lanes that could compute another batch.
func (s *Server) free() int {
	free := s.o.Lanes - s.busy
	if s.o.Share != nil { // others may compute
		lanes := s.lanes.Stats()
		free = min(free, lanes.Lanes-int(lanes.Running-s.taking.Load()))
	}
	return max(free, 0)
}
