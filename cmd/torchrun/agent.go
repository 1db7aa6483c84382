package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// agent runs the ranks of this machine, round by round.
type agent struct {
	*options
	meeting   *meeting
	out, errs io.Writer
	restarts  int // of rounds in which a rank failed
}

// grace is what ranks have to end after a signal before they are killed.
const grace = 10 * time.Second

// settle is what ranks have to fail of what made the first one fail: where one is killed the others lose their connection to it at
// once, and may be seen to end before it.
const settle = 100 * time.Millisecond

func (a *agent) run(ctx context.Context) error {
	for n := 0; ; n++ {
		r, err := a.meeting.join(ctx, n)
		if err != nil {
			return err
		}
		n = r.n
		what, why, err := a.round(ctx, r)
		switch {
		case err != nil:
			return err
		case what == "":
			return nil
		case what == "failed" && a.restarts == a.maxRestarts:
			return a.leave(ctx, r, fmt.Errorf("%s; there are no restarts left of %d", why, a.maxRestarts))
		case what == "failed":
			a.restarts++
		}
		fmt.Fprintf(a.errs, "torchrun: %s: all ranks are started anew\n", why)
		if err := a.meeting.store.Set(r.key("ended"), nil); err != nil {
			return err
		}
	}
}

// leave ends this agent after a round that failed for good. The one that serves the store waits until the others have learnt it.
func (a *agent) leave(ctx context.Context, r round, failed error) error {
	gone, err := a.meeting.store.Add(r.key("left"), 1)
	for began := time.Now(); err == nil && a.meeting.leads && gone < r.size && time.Since(began) < grace; {
		if err = pause(ctx, a.interval); err == nil {
			gone, err = a.meeting.store.Add(r.key("left"), 0)
		}
	}
	return failed
}

// round starts the ranks of this machine and watches them until all ranks everywhere are done, or there is news: one has failed, or a
// machine comes or goes.
func (a *agent) round(ctx context.Context, r round) (what, why string, err error) {
	workers, err := a.start(r)
	defer func() { stop(workers, grace) }()
	if err != nil {
		return "", "", err
	}
	told := false
	for {
		if what, why, err = a.meeting.news(ctx, r); what != "" || err != nil {
			return what, why, errorUnlessGone(err, told && ctx.Err() == nil)
		}
		if slices.ContainsFunc(workers, (*worker).failed) {
			time.Sleep(settle)
			if err := a.meeting.tell(r, "failed", failures(workers)); err != nil {
				return "", "", err
			}
			continue // with the news
		}
		running := slices.ContainsFunc(workers, (*worker).runs)
		if !running && !told {
			told = true
			_, err = a.meeting.store.Add(r.key("done"), 1)
		}
		if done, err := a.meeting.store.Add(r.key("done"), 0); err != nil || done == r.size {
			return "", "", errorUnlessGone(err, !running)
		}
		if err := pause(ctx, a.interval); err != nil {
			a.meeting.tell(r, "changed", "a machine leaves") //nolint:errcheck // the store may be gone as well
			return "", "", err
		}
	}
}

// errorUnlessGone forgives that the store is gone when all is done: its server may have seen so first.
func errorUnlessGone(err error, done bool) error {
	if done {
		return nil
	}
	return err
}
