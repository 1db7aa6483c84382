// Command gpureport makes a page and a JSON file of the output of tests:
//
//	gpureport -o FOLDER -machine TEXT FOLDER/gpusuite.txt FOLDER/parity.txt …
//
// The files are outputs of go test -v, or of compiled tests with -test.v, one of each package.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/reliability"
)

// report is what is written as JSON.
type report struct {
	Machine string `json:"machine"`
	Date    string `json:"date"`
	Tests   []test `json:"tests"`
}

// test is the result of one test.
type test struct {
	Package string               `json:"package"`
	Name    string               `json:"name"`
	Outcome string               `json:"outcome"` // PASS, FAIL or SKIP
	Seconds float64              `json:"seconds"`
	Said    string               `json:"said,omitempty"` // the last line, unless it passed
	Figures []reliability.Figure `json:"figures,omitempty"`
}

func main() {
	to := flag.String("o", ".", "folder for results.json and results.md")
	machine := flag.String("machine", "", "what the tests ran on")
	flag.Parse()
	r := report{Machine: *machine, Date: time.Now().Format(time.DateOnly)}
	err := r.collect(flag.Args())
	if err == nil {
		err = r.write(*to)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpureport:", err)
		os.Exit(1)
	}
	r.print(os.Stdout)
}

func (r *report) collect(paths []string) error {
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		tests, err := read(file, strings.TrimSuffix(filepath.Base(path), ".txt"))
		if closing := file.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r.Tests = append(r.Tests, tests...)
	}
	return nil
}

var (
	ending    = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (\S+) \(([\d.]+)s\)$`)
	attribute = regexp.MustCompile(`^=== ATTR  (\S+) ` + reliability.Attribute + ` (.+)$`)
)

// read takes the tests at the top level out of an output. Figures come before their test ends.
func read(in io.Reader, pkg string) (tests []test, err error) {
	figures, said := map[string][]reliability.Figure{}, ""
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		line := lines.Text()
		if m := attribute.FindStringSubmatch(line); m != nil {
			var f reliability.Figure
			if err := json.Unmarshal([]byte(m[2]), &f); err != nil {
				return nil, err
			}
			name, _, _ := strings.Cut(m[1], "/")
			figures[name] = append(figures[name], f)
			continue
		}
		m := ending.FindStringSubmatch(line)
		if m == nil {
			if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "===") && !strings.HasPrefix(text, "---") {
				said = text
			}
			continue
		}
		t := test{Package: pkg, Name: m[2], Outcome: m[1], Figures: figures[m[2]]}
		if t.Seconds, err = strconv.ParseFloat(m[3], 64); err != nil {
			return nil, err
		}
		if t.Outcome != "PASS" {
			t.Said = said
		}
		tests = append(tests, t)
	}
	return tests, lines.Err()
}

func (r *report) write(folder string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "results.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	var page strings.Builder
	r.print(&page)
	return os.WriteFile(filepath.Join(folder, "results.md"), []byte(page.String()), 0o644)
}

// print writes the table, and counts the outcomes.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s; %s.\n\n| package | test | | s | |\n|---|---|---|---|---|\n", r.Machine, r.Date)
	counts := map[string]int{}
	for _, t := range r.Tests {
		counts[t.Outcome]++
		var notes []string
		if t.Said != "" {
			notes = append(notes, strings.ReplaceAll(t.Said, "|", "/"))
		}
		for _, f := range t.Figures {
			note := f.Name + ": " + f.Got
			if f.Bar != "" {
				note += " (" + f.Bar + ")"
			}
			notes = append(notes, note)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %.1f | %s |\n", t.Package, t.Name, t.Outcome, t.Seconds, strings.Join(notes, "; "))
	}
	fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped.\n", counts["PASS"], counts["FAIL"], counts["SKIP"])
}
