package main

import (
	"errors"
	"time"
)

// What can be measured only once in a process: its start and its peak of memory.

// rest compares start and memory, which need a new process for every measurement.
func (c *crew) rest(r *report, o options) error {
	const startName, memoryName = "start", "memory"
	if o.only.MatchString(startName) {
		progress("starting processes")
		ours, theirs, err := c.starts(max(2, o.rounds/5))
		if err != nil {
			return err
		}
		r.addStart(ours, theirs)
	}
	for _, b := range catalogue {
		if b.group != trainingGroup || !o.only.MatchString(b.name+" "+memoryName) {
			continue
		}
		for _, p := range pairings {
			progress("memory of " + b.name)
			ours, err := c.footprint(c.ours, p.ours, b.name)
			if err != nil {
				return err
			}
			theirs, err := c.footprint(c.theirs, p.theirs, b.name)
			if err != nil {
				return err
			}
			r.addMemory(b.name, p.name, ours, theirs)
		}
	}
	return nil
}

// timedStart measures how long a side takes from its start to its first result.
func timedStart(begin func(...string) (*side, error)) (took time.Duration, err error) {
	began := time.Now()
	s, err := begin()
	if err != nil {
		return 0, err
	}
	_, err = s.ask(request{Cmd: "check", Case: "add"})
	took = time.Since(began)
	return took, errors.Join(err, s.Close())
}

// starts measures how long each side takes from the start of its process to the first
// result.
func (m *maker) starts(rounds int) (ours, theirs []float64, err error) {
	for range rounds {
		for _, s := range []struct {
			begin func(...string) (*side, error)
			taken *[]float64
		}{{m.ours, &ours}, {m.theirs, &theirs}} {
			took, err := timedStart(s.begin)
			if err != nil {
				return nil, nil, err
			}
			*s.taken = append(*s.taken, float64(took))
		}
	}
	return ours, theirs, nil
}

// footprint is the memory of a fresh process that makes three training steps.
type footprint struct{ idle, peak int64 }

func (c *crew) footprint(begin func(...string) (*side, error), env []string, name string) (f footprint, err error) {
	s, err := begin(env...)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var replies []reply
	for _, q := range []request{
		{Cmd: "check", Case: "add"},
		{Cmd: "memory"},
		{Cmd: "load", File: c.file},
		{Cmd: "run", Case: name, Threads: 1, N: 3},
		{Cmd: "memory"},
	} {
		r, err := s.ask(q)
		if err != nil {
			return f, err
		}
		replies = append(replies, r)
	}
	return footprint{idle: replies[1].RSS, peak: replies[4].Peak}, nil
}
