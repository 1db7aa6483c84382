// Command cost compares what operators cost in two checkouts of this module: before a change
// and after it.
//
//	go run ./internal/reliability/cost -before main~10     # makes a checkout and builds its shim
//	go run ./internal/reliability/cost -before ../before   # a checkout that has its shim
//
// Both benchmarks run as the processes that package bench knows, by turns in one run, on
// tensors of a few elements. The ratio is that of the CPU time of the quarter-lowest round,
// after over before; the command fails if the geometric mean is above 1.03.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/libtorch-go/libtorch/internal/reliability"
)

// operators are the cases of package bench that are one call each.
var operators = []string{"add", "add_", "view", "mm 4x4", "empty", "add scalar", "relu", "sum", "add, recorded"}

const (
	calls = 2000 // of a round
	bar   = 1.03
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
	var sides [2]*side
	for i, folder := range []string{there, here} {
		if sides[i], err = start(folder, filepath.Join(dir, fmt.Sprint("bench", i))); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, sides[i].close()) }()
	}
	return measure(sides, rounds)
}

// measure has both sides run all operators, the one that begins changing from round to
// round.
func measure(sides [2]*side, rounds int) (list []reliability.Figure, err error) {
	taken := map[string]*[2][]float64{}
	const warmUp = 3
	for r := -warmUp; r < rounds; r++ {
		for _, op := range operators {
			if taken[op] == nil {
				taken[op] = &[2][]float64{}
			}
			for n := range sides {
				i := (n + r&1) % len(sides)
				cpu, err := sides[i].run(op)
				if err != nil {
					return nil, err
				}
				if r >= 0 {
					taken[op][i] = append(taken[op][i], cpu/calls)
				}
			}
		}
	}
	sum := 0.0
	for _, op := range operators {
		was, is := quarter(taken[op][0]), quarter(taken[op][1])
		sum += math.Log(is / was)
		list = append(list, reliability.Figure{Name: op, Got: fmt.Sprintf("%.3f (%.0f ns, was %.0f ns)", is/was, is, was)})
	}
	mean := math.Exp(sum / float64(len(operators)))
	return append(list, reliability.Figure{
		Name: "geometric mean of the ratios", Got: fmt.Sprintf("%.3f", mean), Bar: fmt.Sprintf("≤ %.2f", bar), Missed: mean > bar,
	}), nil
}

// quarter is the quarter-lowest of some times: what else the machine does is in the others.
func quarter(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/4] }
