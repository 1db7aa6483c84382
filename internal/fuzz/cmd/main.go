// Command cmd looks for calls that end the process, never come back, read or write outside
// memory, panic with anything but a *torch.Error, or leave something behind: package fuzz
// says how. It is ./build.sh fuzz.
//
//	go run ./internal/fuzz/cmd -time 10m                   # a new seed, which is printed
//	go run ./internal/fuzz/cmd -calls 1000000 -seed 7      # of operators, and others in proportion
//	go run ./internal/fuzz/cmd -only '^median' -time 1m
//	go run ./internal/fuzz/cmd -part operators -seed 7 -call 1234   # one call again
//	go run ./internal/fuzz/cmd -case 'neg self=bool[3]'    # a line of the corpus
//	go run ./internal/fuzz/cmd -corpus FILE                # many
//	go run ./internal/fuzz/cmd -record                     # testdata/samples.txt anew, by Python
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	"github.com/libtorch-go/libtorch/internal/fuzz"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/internal/reliability"
)

func main() {
	if os.Getenv(fuzz.EnvChild) != "" {
		if err := fuzz.Serve(os.Stdin, os.Stdout, os.NewFile(3, "log")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

const folder = "internal/fuzz" // of the repository, where the command runs

func run() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o := fuzz.Options{Out: os.Stdout, Command: []string{self}}
	var one fuzz.Finding
	flag.Uint64Var(&o.Seed, "seed", rand.Uint64()>>16, "which calls are made")
	flag.DurationVar(&o.Time, "time", 0, "how long to make calls (2m where -calls is not given either)")
	flag.IntVar(&o.Calls, "calls", 0, "how many calls of operators to make, and of other parts in proportion")
	flag.IntVar(&o.Workers, "workers", runtime.NumCPU(), "processes at once")
	flag.IntVar(&o.Each, "each", 2, "findings of one kind and function that are kept")
	only := flag.String("only", "", "functions with a name that matches this regular expression")
	flag.StringVar(&one.Part, "part", "operators", "of -call")
	call := flag.Int64("call", -1, "make the call of that number again")
	flag.StringVar(&one.Case, "case", "", "make this call, a line of the corpus")
	limit := flag.Duration("minimise", 20*time.Second, "how long to make each finding small; 0 for not at all")
	corpus := flag.String("corpus", "", "make all calls of this file of cases")
	record := flag.Bool("record", false, "write the samples anew")
	figures := flag.Bool("figures", false, "write figures as the reliability card wants them")
	flag.Parse()
	if *only != "" {
		re, err := regexp.Compile(*only)
		if err != nil {
			return err
		}
		o.Only = re
	}
	e := &fuzz.Explainer{Command: o.Command, Python: peer.Python, Script: filepath.Join(folder, "python", "ask.py"), Limit: *limit}
	defer e.Close()
	switch {
	case *record:
		return recorded()
	case *corpus != "":
		return checked(o.Command, *corpus)
	case one.Case != "" || *call >= 0:
		one.Index = uint64(max(0, *call)) // of a case: where its blocks lie
		if one.Case == "" {
			one.Case = fuzz.CaseOf(one.Part, o.Seed, one.Index).String()
		}
		return e.Again(one, os.Stdout)
	}
	switch {
	case o.Time > 0 || o.Calls > 0:
	case *figures:
		o.Calls = reliability.Size(5_000_000, 50_000)
	default:
		o.Time = 2 * time.Minute
	}
	return search(o, e, *figures)
}

// search makes calls and says what it found.
func search(o fuzz.Options, e *fuzz.Explainer, figures bool) error {
	fmt.Println("seed", o.Seed)
	r, err := fuzz.Run(o)
	if err != nil {
		return err
	}
	for _, f := range r.Findings {
		if e.Limit == 0 {
			break
		}
		if _, err := e.Explain(f, os.Stdout); err != nil {
			return err
		}
	}
	fmt.Print(r)
	if figures {
		for _, f := range r.Figures() {
			fmt.Println(f.Event())
		}
	}
	if n := len(r.Findings); n > 0 {
		return fmt.Errorf("%d findings; the same calls again: ./build.sh fuzz -seed %d", n, o.Seed)
	}
	return nil
}

// checked makes the calls of a file.
func checked(command []string, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	cases, err := fuzz.ParseAll(string(text))
	if err != nil {
		return err
	}
	faults := 0
	err = fuzz.Check(command, cases, func(c fuzz.Case, kind, _ string) {
		fmt.Printf("%-7s %s\n", kind, c)
		if fuzz.IsFault(kind) {
			faults++
		}
	})
	if err == nil && faults > 0 {
		err = fmt.Errorf("%d findings in %d calls", faults, len(cases))
	}
	return err
}

func recorded() error {
	python, err := peer.Python()
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(folder, "testdata", "samples.txt"))
	if err != nil {
		return err
	}
	defer f.Close()
	return fuzz.Record(python, ".", f)
}
