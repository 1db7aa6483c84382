// Command cost compares what operators cost in two checkouts of this module: before a change
// and after it.
//
//	go run ./internal/reliability/cost -before main~10     # makes a checkout and builds its shim
//	go run ./internal/reliability/cost -before ../before   # a checkout that has its shim
//
// Both benchmarks run as the processes that package bench knows, by turns in one run, on
// tensors of a few elements. The ratio is that of the CPU time of the quarter-lowest round,
// after over before; the command fails if the operators' geometric mean is above 1.01, or a small training step above 1.02.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/libtorch-go/libtorch/internal/pace"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/internal/talk"
)

// operators are the cases of package bench that are one call each.
var operators = []string{"add", "add_", "view", "mm 4x4", "empty", "add scalar", "relu", "sum", "add, recorded"}

// step is a training step of a small network, in which all parts of the library meet.
const step = "MLP, SGD"

// callsOf are the calls of a round.
func callsOf(name string) int {
	if name == step {
		return 50
	}
	return 2000
}

const (
	bar     = 1.01 // of the operators' mean
	stepBar = 1.02
)

func main() {
	before := flag.String("before", "", "a commit, or the folder of a checkout with its shim")
	rounds := flag.Int("rounds", 100, "how often each side runs each operator")
	events := flag.Bool("figures", false, "write figures as go test -json does, for the card")
	flag.Parse()
	if *before == "" || *rounds < 4 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	list, err := compare(*before, *rounds)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
	failed := false
	for _, f := range list {
		failed = failed || f.Missed
		tell(f, *events)
	}
	if failed {
		os.Exit(1)
	}
}

func tell(f reliability.Figure, event bool) {
	if !event {
		fmt.Printf("%-32s %s %s\n", f.Name, f.Got, f.Bar)
		return
	}
	fmt.Println(f.Event())
}

// compare builds both sides and measures them.
func compare(before string, rounds int) (list []reliability.Figure, err error) {
	dir, err := os.MkdirTemp("", "cost")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	here, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	there, remove, err := checkout(here, before, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	var crew pace.Crew[*talk.Partner]
	defer func() { err = errors.Join(err, crew.Close()) }()
	var sides []*side
	for _, folder := range []string{there, here} {
		partner, err := crew.Get(folder, func() (*talk.Partner, error) {
			return start(folder, filepath.Join(dir, fmt.Sprint("bench", crew.Len())))
		})
		if err != nil {
			return nil, err
		}
		sides = append(sides, &side{partner, map[string][]float64{}})
	}
	return measure(sides[0], sides[1], rounds)
}

// measure has both sides run all operators by turns.
func measure(before, after *side, rounds int) (list []reliability.Figure, err error) {
	const warmUp = 3
	err = pace.Rounds(warmUp, rounds, func(round int) error {
		for _, op := range append(slices.Clone(operators), step) {
			for _, s := range pace.Turn([]*side{before, after}, round) {
				cpu, err := s.run(op)
				if err != nil {
					return err
				}
				if round >= 0 {
					s.taken[op] = append(s.taken[op], cpu/float64(callsOf(op)))
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	ratio := func(name string) (float64, string) {
		was, is := pace.Quarter(before.taken[name]), pace.Quarter(after.taken[name])
		return is / was, fmt.Sprintf("%.3f (%.0f ns, was %.0f ns)", is/was, is, was)
	}
	var ratios []float64
	for _, op := range operators {
		r, text := ratio(op)
		ratios = append(ratios, r)
		list = append(list, reliability.Figure{Name: op, Got: text})
	}
	mean := pace.GeoMean(ratios)
	whole, text := ratio(step)
	return append(list,
		reliability.Figure{Name: "geometric mean of these ratios", Got: fmt.Sprintf("%.3f", mean), Bar: fmt.Sprintf("≤ %.2f", bar),
			Missed: mean > bar},
		reliability.Figure{Name: "step of " + step, Got: text, Bar: fmt.Sprintf("≤ %.2f", stepBar), Missed: whole > stepBar},
	), nil
}
