package serve

import "context"

// Shutdown refuses new requests and waits until those that were accepted have their answers, or ctx ends; then it closes the
// server. Its error is that of ctx: some requests got [ErrClosed].
func (s *Server) Shutdown(ctx context.Context) (err error) {
	s.drain()
	select {
	case <-s.idle:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.Close()
	return err
}

// drain refuses new requests.
func (s *Server) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return
	}
	s.draining = true
	s.endIfDrained()
	for range s.o.Lanes { // what waits for others waits no longer
		s.signal()
	}
}

// endIfDrained tells those who wait for it when the last request has its answer.
func (s *Server) endIfDrained() {
	if s.draining && s.accepted == 0 && !s.drained {
		s.drained = true
		close(s.idle)
	}
}

// Close ends the server: requests that wait get [ErrClosed], those that are being computed their answers. It returns when the
// model is closed.
func (s *Server) Close() {
	s.drain()
	s.mu.Lock()
	waiting := s.queue
	s.queue = nil
	s.stats.Running += len(waiting)
	s.mu.Unlock()
	s.deliver(waiting, ErrClosed)
	<-s.idle
	s.mu.Lock()
	first := s.current != nil
	after := []func(){s.retire()}
	for _, seq := range s.sequences {
		after = append(after, s.drop(seq))
	}
	s.mu.Unlock()
	for _, fn := range after {
		fn()
	}
	if first {
		close(s.quit)
	}
	s.workers.Wait()
	if first {
		s.closeLanes()
	}
}

// closeLanes closes lanes of the server's own.
func (s *Server) closeLanes() {
	if s.o.Share == nil {
		s.lanes.Close()
	}
}
