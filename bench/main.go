// Command bench compares this module with Python's torch, both on the same libtorch.
//
//	go run ./bench            # or ./build.sh bench, which makes the Python side first
//	go run ./bench -run '^add' -rounds 100
//	go run ./bench -quick
//	go run ./bench -run '^add' -against tch=PROGRAM
//	go run ./bench -programs  # or ./build.sh programs, which fetches ONNX Runtime and OpenVINO first
//
// Both sides are processes that follow commands, so that they stay warm and take turns: a
// round of ours, a round of Python's, and so on. Before anything is timed the results of
// both are compared, bit for bit. On a busy machine the mean says little, so the table shows
// ratios of the lowest and of the quarter-lowest round, by the clock and by the CPU time of
// the calling thread. A full run is also written, as JSON, to bench/results.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch/cuda"
)

type options struct {
	only    *regexp.Regexp
	rounds  int
	threads []int
	results string
	quick   bool
	card    bool
	against rival
	rivals  bool
	others  bool
}

// rival is who is measured in the place of Python: a program that obeys the same commands.
type rival struct{ name, program string }

func main() {
	serving := flag.Bool("serve", false, "be a side: obey commands on standard input (for the benchmark's own use)")
	o, err := parse()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	case *serving:
		err = serve(os.Stdin, os.Stdout)
	default:
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func parse() (o options, err error) {
	only := flag.String("run", "", "measure only the cases whose names match this regular expression")
	rounds := flag.Int("rounds", 30, "rounds of every case; training steps make a third")
	quick := flag.Bool("quick", false, "a few rounds, to see that it works")
	onCard := flag.Bool("cuda", false, "measure the cases on the first CUDA card, instead of those on the CPU")
	onRivals := flag.Bool("programs", false, "measure compiled programs beside Python's compilers, ONNX Runtime and OpenVINO, which\n"+
		"./build.sh rivals fetches, instead of the cases; with -cuda beside Python's compiler on the card")
	others := flag.Bool("others", false, "with -programs: other networks than the table's six, in float32, beside Python's eager run,\n"+
		"ONNX Runtime and OpenVINO")
	threads := flag.String("threads", "", "numbers of threads for training steps and files (1,2), or that of -programs (1)")
	results := flag.String("results", "", "folder for the results as JSON; a full run writes to bench/results")
	against := flag.String("against", "", "`NAME=PROGRAM` takes Python's place, as bench/tch.sh has it")
	flag.Parse()
	o = options{rounds: *rounds, quick: *quick, results: *results, card: *onCard, rivals: *onRivals, others: *others}
	if o.quick {
		o.rounds = 4
	}
	if flag.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if o.rounds < 2 {
		return o, fmt.Errorf("-rounds %d: at least 2 are needed", o.rounds)
	}
	if o.others && (!o.rivals || o.card) {
		return o, errors.New("-others: those are networks of -programs, on the CPU")
	}
	if *against != "" {
		var ok bool
		if o.against.name, o.against.program, ok = strings.Cut(*against, "="); !ok {
			return o, fmt.Errorf("-against %q: NAME=PROGRAM is expected", *against)
		}
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-run: %w", err)
	}
	usual := "1,2"
	if o.rivals {
		usual = "1"
	}
	for field := range strings.SplitSeq(cmp.Or(*threads, usual), ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			return o, fmt.Errorf("-threads: %q is not a number of threads", field)
		}
		if n <= runtime.NumCPU() {
			o.threads = append(o.threads, n)
		}
	}
	if o.rivals && len(o.threads) != 1 {
		return o, fmt.Errorf("-threads %s: programs are measured with one number of threads, of %d at most", *threads, runtime.NumCPU())
	}
	if *only == "" && !o.quick && !o.rivals {
		o.results = cmp.Or(o.results, filepath.Join("bench", "results"))
	}
	return o, nil
}

// run measures, prints and writes.
func run(o options) (err error) {
	if o.card {
		if err := cuda.Unavailable(); err != nil {
			return fmt.Errorf("bench: -cuda: %w", err)
		}
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	m, err := newMaker(dir, o.against)
	if err != nil {
		return err
	}
	c := &crew{maker: m, file: filepath.Join(dir, "training.safetensors")}
	r, err := c.measure(o)
	if err != nil {
		return errors.Join(err, c.sides.Close())
	}
	progress("")
	if o.rivals {
		r.printPrograms(os.Stdout)
	} else {
		r.print(os.Stdout)
	}
	if o.results == "" {
		return nil
	}
	path, err := r.save(o.results)
	if err == nil {
		fmt.Printf("\nwritten to %s\n", path)
	}
	return err
}

// measure runs everything that was asked for.
func (c *crew) measure(o options) (*report, error) {
	s, err := c.get(c.ours, "ours", nil)
	if err != nil {
		return nil, err
	}
	hello, err := s.ask(request{Cmd: "hello"})
	if err != nil {
		return nil, err
	}
	if _, err := s.ask(request{Cmd: "write", File: c.file, N: batchSize}); err != nil {
		return nil, err
	}
	r := newReport(hello.Version, c.rival(), o.rounds)
	if o.card {
		r.Machine = cuda.DeviceProperties(0).String() + "; " + r.Machine
	}
	if o.rivals {
		return r, errors.Join(c.sides.Close(), c.programs(r, o))
	}
	if err := c.times(r, o); err != nil {
		return nil, err
	}
	if err := c.sides.Close(); err != nil {
		return nil, err
	}
	if o.card {
		return r, nil
	}
	return r, c.rest(r, o)
}

// times compares times, one group of cases after the other.
func (c *crew) times(r *report, o options) error {
	groups := []group{tinyGroup, optimizerGroup, smallGroup, trainingGroup, fileGroup, imageGroup}
	if o.card {
		groups = []group{cardGroup}
	}
	for _, g := range groups {
		threads, rounds := []int{1}, o.rounds
		switch g {
		case trainingGroup:
			threads, rounds = o.threads, max(2, o.rounds/3)
		case fileGroup:
			threads = o.threads
		case imageGroup:
			rounds = max(2, o.rounds/5)
		}
		var tasks []*task
		for _, b := range catalogue {
			if b.group != g || !o.only.MatchString(b.name) {
				continue
			}
			for _, n := range threads {
				t, err := c.newTask(b, n)
				if err != nil {
					return err
				}
				tasks = append(tasks, t)
			}
		}
		if err := measure(tasks, rounds, progress); err != nil {
			return err
		}
		for _, t := range tasks {
			r.addTask(t)
		}
	}
	return nil
}

// progress shows the current measurement in one line of the terminal.
func progress(text string) { fmt.Fprintf(os.Stderr, "\r\033[K%s\r", text) }
