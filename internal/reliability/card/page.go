package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// page is the card: the last record of each suite that ever ran.
func page(folder string, all []suite) (string, error) {
	var b, sections strings.Builder
	b.WriteString("# Reliability card\n\nWritten by `./build.sh reliability` from the last run of each suite (" + folder +
		"). Each figure stands beside its " +
		"bar, failures too; the command under a heading runs that part alone, and with -only the card is written anew with it.\n\n")
	row(&b, "suite", "", "date", "commit", "figures", "missed", "time", "")
	row(&b, "---", "---", "---", "---", "---", "---", "---", "---")
	var sum time.Duration
	for _, s := range all {
		r, ok, err := recorded(folder, s.name)
		if err != nil {
			return "", err
		}
		if !ok {
			row(&b, s.name, s.title, "never", "", "", "", "", "**not run**")
			continue
		}
		took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Second)
		sum += took
		n := len(slices.DeleteFunc(slices.Clone(r.Figures), kept))
		row(&b, "["+s.name+"](#"+s.name+")", s.title, r.Date, r.Commit, len(r.Figures), n, took, r.word())
		section(&sections, s, r)
	}
	row(&b, "all", "", "", "", "", "", sum, "")
	return b.String() + sections.String(), nil
}

// section tells of one suite.
func section(b *strings.Builder, s suite, r record) {
	fmt.Fprintf(b, "\n## %s\n\n%s. %s\n\n    %s\n\n", s.name, s.title, s.what, r.Command)
	fmt.Fprintf(b, "%s, at %s: %s.\n\n%s.\n\n", r.Date, r.Commit, r.On, r.Verdict)
	if len(r.Figures) > 0 {
		row(b, "figure", "measured", "bar", "")
		row(b, "---", "---", "---", "---")
	}
	for _, f := range r.Figures {
		mark := ""
		if f.Missed {
			mark = "**missed**"
		}
		row(b, f.Name, f.Got, f.Bar, mark)
	}
}

func row(b *strings.Builder, cells ...any) {
	for _, c := range cells {
		fmt.Fprintf(b, "| %s ", strings.ReplaceAll(fmt.Sprint(c), "|", "\\|"))
	}
	b.WriteString("|\n")
}

func (r record) word() string {
	if r.Failed {
		return "**failed**"
	}
	return "passed"
}
