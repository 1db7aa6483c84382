package serve

import (
	"time"

	"github.com/libtorch-go/libtorch/cgo"
)

// quick is how long a batch may take that is computed on the goroutine that asks: not much longer than the way to another one and back,
// so that a request that is given up meanwhile ends in time all the same.
const quick = 200 * time.Microsecond

// native is a model that may be known to run no code in Go, which could end the goroutine that it runs on.
type native interface{ native() bool }

func isNative(m Model) bool {
	n, ok := m.(native)
	return ok && n.native()
}

// here computes the next batch, which is mostly that of the request, on the goroutine that asks, if there is a lane, the model is quick,
// and the goroutine has no modes that the model would see. False says that it has to be computed elsewhere.
func (s *Server) here(r *request) bool {
	s.mu.Lock()
	can := r.version.native && r.version.took < quick && s.busy < s.o.Lanes
	s.mu.Unlock()
	if !can || cgo.ThreadHeld() {
		return false
	}
	_, ripe := s.ripe()
	return ripe && s.turn(r.ctx) == nil
}
