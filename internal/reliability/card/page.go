package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/internal/reliability"
)

// page is the card.
func page(results []result, o options) string {
	var b strings.Builder
	size := "full"
	if o.short {
		size = "of CI"
	}
	b.WriteString("# Reliability card\n\nWritten by `./build.sh reliability`. Each figure stands beside its bar, failures too; " +
		"the command under a heading runs that part alone.\n\n")
	row := func(cells ...any) {
		for _, c := range cells {
			fmt.Fprintf(&b, "| %s ", strings.ReplaceAll(fmt.Sprint(c), "|", "\\|"))
		}
		b.WriteString("|\n")
	}
	row("", "")
	row("---", "---")
	row("date", time.Now().Format(time.DateOnly))
	row("commit", commit())
	row("libtorch", cmp.Or(libtorch(), "unknown"))
	row("Go", runtime.Version())
	row("machine", fmt.Sprintf("%s, %d cores; %s", proc.Processor(), runtime.NumCPU(), proc.Kernel()))
	row("sizes", size)
	row("all suites", took(results))
	b.WriteString("\n")
	row("suite", "", "figures", "missed", "time", "")
	row("---", "---", "---", "---", "---", "---")
	for _, r := range results {
		n := len(slices.DeleteFunc(slices.Clone(r.figures), func(f reliability.Figure) bool { return !f.Missed }))
		row("["+r.name+"](#"+r.name+")", r.title, len(r.figures), n, r.took.Round(time.Second), verdict(r))
	}
	for _, r := range results {
		fmt.Fprintf(&b, "\n## %s\n\n%s. %s\n\n    %s\n\n%s.\n\n", r.name, r.title, r.what, r.alone(o), r.verdict())
		if len(r.figures) > 0 {
			row("figure", "measured", "bar", "")
			row("---", "---", "---", "---")
		}
		for _, f := range r.figures {
			mark := ""
			if f.Missed {
				mark = "**missed**"
			}
			row(f.Name, f.Got, f.Bar, mark)
		}
	}
	return b.String()
}

func verdict(r result) string {
	if r.failed() {
		return "**failed**"
	}
	return "passed"
}

func took(results []result) time.Duration {
	var sum time.Duration
	for _, r := range results {
		sum += r.took
	}
	return sum.Round(time.Second)
}

func commit() string {
	c := output("git", "rev-parse", "--short", "HEAD")
	if output("git", "status", "--porcelain", "--untracked-files=no") != "" {
		c += ", with changes that are not committed"
	}
	return cmp.Or(c, "unknown")
}

// libtorch is the version that the shim was built for.
func libtorch() string {
	text, _ := os.ReadFile(cmp.Or(os.Getenv("LIBTORCH_GO_HOME"), "third_party") + "/lib/version.txt")
	return strings.TrimSpace(string(text))
}
