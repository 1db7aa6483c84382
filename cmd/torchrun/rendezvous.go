package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/libtorch-go/libtorch/torch/dist"
)

// meeting is where the agents of all machines agree on rounds: in each, all ranks are started, and it ends when all are done, one fails,
// or a machine comes or goes. One agent serves the store and leads.
type meeting struct {
	*options
	store   *dist.Store
	leads   bool
	workers *dist.Store // of this round's ranks, if this agent leads
}

// round is one of them, as this machine sees it.
type round struct {
	n          int
	rank, size int // of this machine, and the number of machines
	port       int // of the ranks' store
}

// key is that of something in a round.
func (r round) key(what string) string { return fmt.Sprintf("round %d/%s", r.n, what) }

func meet(ctx context.Context, o *options) (*meeting, error) {
	m := &meeting{options: o, leads: o.nodeRank == 0}
	port := o.port
	if o.maxNodes == 1 {
		port = 0 // the ranks' store gets the one that was asked for
	}
	if o.backend == "c10d" {
		m.leads = o.maxNodes == 1 || isFree(o.host, port)
	}
	s, err := dist.NewTCPStore(ctx, o.host, port, dist.TCPStoreOptions{Master: m.leads, Timeout: o.patience})
	if err != nil && m.leads && o.backend == "c10d" && o.maxNodes > 1 { // another agent of this machine was faster
		m.leads = false
		s, err = dist.NewTCPStore(ctx, o.host, port, dist.TCPStoreOptions{Timeout: o.patience})
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	m.store, err = dist.NewPrefixStore("torchrun/"+o.id, s)
	return m, err
}

// isFree tells whether a host is this machine, and nobody has the port.
func isFree(host string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

func (m *meeting) close() {
	if m.workers != nil {
		m.workers.Close()
	}
	m.store.Close()
}

// join waits for a round that has room for this machine, and until it has enough machines. n is the first that may be.
func (m *meeting) join(ctx context.Context, n int) (r round, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.patience, fmt.Errorf("fewer than %d machines have come within %v", m.minNodes, m.patience))
	defer cancel()
	for ; ; n++ {
		r = round{n: n, rank: m.nodeRank}
		if closed, err := m.store.Check(r.key("size")); err != nil {
			return r, err
		} else if closed {
			if err := m.store.Set(r.key("changed"), []byte("a machine wants to join")); err != nil {
				return r, err
			}
			if _, err := m.store.Get(ctx, r.key("ended")); err != nil { // which it is soon
				return r, err
			}
			continue
		}
		came, err := m.store.Add(r.key("joined"), 1)
		if err != nil {
			return r, err
		}
		if m.backend == "c10d" {
			r.rank = came - 1
		}
		if m.leads {
			err = m.begin(ctx, r)
		}
		if err != nil {
			return r, err
		}
		if r.size, err = m.number(ctx, r.key("size")); err != nil {
			return r, err
		}
		if r.rank < r.size {
			r.port, err = m.number(ctx, r.key("port"))
			return r, err
		}
	}
}

// begin closes a round when it has enough machines, and makes the store of its ranks.
func (m *meeting) begin(ctx context.Context, r round) error {
	came, last := 0, time.Time{}
	for came < m.maxNodes && (last.IsZero() || time.Now().Before(last)) {
		var err error
		if came, err = m.store.Add(r.key("joined"), 0); err != nil {
			return err
		}
		if came >= m.minNodes && last.IsZero() {
			last = time.Now().Add(m.lastCall)
		}
		if err := pause(ctx, m.interval); err != nil {
			return err
		}
	}
	if m.workers != nil {
		m.workers.Close()
	}
	port := 0
	if m.maxNodes == 1 {
		port = m.port
	}
	var err error
	if m.workers, err = dist.NewTCPStore(ctx, m.host, port, dist.TCPStoreOptions{Master: true}); err != nil {
		return err
	}
	if err := m.store.Set(r.key("port"), strconv.AppendInt(nil, int64(m.workers.Port()), 10)); err != nil {
		return err
	}
	return m.store.Set(r.key("size"), strconv.AppendInt(nil, int64(min(came, m.maxNodes)), 10))
}

func (m *meeting) number(ctx context.Context, key string) (int, error) {
	text, err := m.store.Get(ctx, key)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

// tell says to all machines how a round went on: "failed" or "changed", and why. The first who says so counts.
func (m *meeting) tell(r round, what, why string) error {
	_, err := m.store.CompareSet(r.key(what), nil, []byte(why))
	return err
}

// news is what somebody has told, "" if nobody has. Where a machine leaves, ranks of others fail soon after it has said so: then the
// change counts.
func (m *meeting) news(ctx context.Context, r round) (what, why string, err error) {
	for _, key := range []string{"failed", "changed"} {
		there, err := m.store.Check(r.key(key))
		if err != nil {
			return "", "", err
		}
		if there {
			what = key
		}
	}
	if what == "" {
		return "", "", nil
	}
	text, err := m.store.Get(ctx, r.key(what))
	return what, string(text), err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
