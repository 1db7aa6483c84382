// Command card runs the suites that memory, threads and faults are trusted on, keeps what they measured, and writes
// RELIABILITY.md from the last run of each.
//
//	go run ./internal/reliability/card          # or ./build.sh reliability, which builds what it takes
//	go run ./internal/reliability/card -short   # the sizes of CI
//	go run ./internal/reliability/card -list
//	go run ./internal/reliability/card -only 'leaks|race'         # and the card from these and the runs of before
//	go run ./internal/reliability/card -only 'leaks|race' -o ''   # without a card
//
// A suite is a row of the table in suites.go: tests, flags, an environment. Its figures are
// the attributes that its tests set by way of package reliability. The command fails if a
// suite does.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/reliability"
)

// records is the folder with what is kept of each suite.
const records = "bench/results/reliability"

func main() {
	o := options{}
	flag.BoolVar(&o.short, "short", false, "run the sizes of CI")
	only := flag.String("only", "", "run suites with a name that matches this regular expression")
	list := flag.Bool("list", false, "list the suites")
	flag.StringVar(&o.before, "before", "", "also compare the cost of operators with that of a commit, or of another checkout")
	flag.StringVar(&o.output, "o", "RELIABILITY.md", "where to write the card; nowhere if empty")
	flag.Parse()
	chosen, err := choose(*only, o)
	if err != nil || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "card: unexpected arguments:", flag.Args(), err)
		os.Exit(2)
	}
	if *list {
		for _, s := range chosen {
			fmt.Printf("%-12s %s\n             %s\n", s.name, s.title, s.alone(o))
		}
		return
	}
	if err := run(chosen, o); err != nil {
		fmt.Fprintln(os.Stderr, "card:", err)
		os.Exit(1)
	}
}

type options struct {
	short  bool
	before string
	output string
}

// environment is what all suites run with.
func (o options) environment() []string {
	if o.short {
		return []string{"CI=1"}
	}
	return []string{"CI=1", reliability.Variable + "=full"}
}

func choose(only string, o options) ([]suite, error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Concat(suites, comparison(o.before)), func(s suite) bool { return !pattern.MatchString(s.name) }), nil
}

// run runs the suites one after the other: each may have the machine to itself.
func run(chosen []suite, o options) error {
	var failed []string
	for _, s := range chosen {
		fmt.Printf("==> %s: %s\n", s.name, s.title)
		r, err := s.run(o)
		if err != nil {
			return err
		}
		for _, f := range r.figures {
			fmt.Println("    " + line(f))
		}
		fmt.Printf("    %s, %.1f s\n", r.verdict(), r.took.Seconds())
		if r.failed() {
			failed = append(failed, s.name)
			fmt.Print(r.complaint)
		}
		if o.output == "" {
			continue
		}
		if err := write(r, o); err != nil { // after each: a run that is broken off loses nothing
			return err
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	return nil
}

// write keeps the result and writes the card with it.
func write(r result, o options) error {
	if err := recordOf(r, o).save(records); err != nil {
		return err
	}
	text, err := page(records, slices.Concat(suites, comparison("COMMIT")))
	if err != nil {
		return err
	}
	return os.WriteFile(o.output, []byte(text), 0o666)
}

func line(f reliability.Figure) string {
	s := f.Name + ": " + f.Got
	if f.Bar != "" {
		s += " (bar: " + f.Bar + ")"
	}
	if f.Missed {
		s += " MISSED"
	}
	return s
}

// output is what a command writes, without the line's end; empty if it fails.
func output(name string, args ...string) string {
	text, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
