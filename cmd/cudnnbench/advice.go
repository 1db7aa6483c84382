package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An advice is the conclusion from a workload's figures.
type advice struct {
	Best    setting   `json:"best,omitempty"`
	Changes []string  `json:"changes,omitempty"` // of the baseline: "amp bf16"
	Speed   estimate  `json:"speed,omitzero"`    // of the baseline's
	Others  []verdict `json:"others,omitempty"`  // on what differs from the best in one axis
	Why     string    `json:"why,omitempty"`     // why there is no Best
}

// A verdict is the speed of the best setting with one value replaced.
type verdict struct {
	Axis  string   `json:"axis"`
	Value string   `json:"value"`
	Speed estimate `json:"speed"` // of the best's
}

// indifferent is how much slower a plainer setting may seem, if it cannot be told from the
// fastest.
const indifferent = 0.97

// advise finds the setting to take. Of the settings that are certainly faster than the
// baseline and cannot be distinguished from the fastest, it takes the one with the fewest
// changes. Among many cells some differ by chance, so the intervals here are wider than
// those of the tables: all intervals of one workload hold together, with the usual
// confidence.
func advise(cells []*cell, choices []choice) (a advice) {
	alive := slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return !c.ok() })
	base := cells[0]
	switch {
	case !base.ok():
		return advice{Why: "the baseline has no times"}
	case len(alive) < 2:
		return advice{Why: "there is nothing to compare"}
	}
	const comparisons = 3 // of each cell: with the baseline, with the fastest, with the best
	miss := usual / float64(comparisons*(len(alive)-1))
	if rounds, need := len(base.Seconds), roundsFor(miss); rounds < need {
		return advice{Why: fmt.Sprintf("%d rounds are too few to compare %d settings: it takes %d", rounds, len(alive), need)}
	}
	sure := slices.DeleteFunc(slices.Clone(alive), func(c *cell) bool { return !speedup(base.Seconds, c.Seconds, miss).over1() })
	best := base
	if a.Speed = (estimate{Median: 1}); len(sure) > 0 {
		best = plainest(sure, choices, miss)
		a.Speed = speedup(base.Seconds, best.Seconds, miss)
	}
	a.Best, a.Changes = best.Setting, best.Setting.changes(choices)
	for _, c := range choices {
		for _, v := range c.values {
			if i := find(alive, best.Setting.with(c.name, v)); v != best.Setting[c.name] && i >= 0 {
				a.Others = append(a.Others, verdict{c.name, v, speedup(best.Seconds, alive[i].Seconds, miss)})
			}
		}
	}
	return a
}

// find is the place of the cell with a setting, or -1.
func find(cells []*cell, s setting) int {
	return slices.IndexFunc(cells, func(c *cell) bool { return c.Setting.key() == s.key() })
}

// plainest is the cell with the fewest changes among those that cannot be distinguished from the
// fastest.
func plainest(cells []*cell, choices []choice, miss float64) *cell {
	middle := func(c *cell) float64 { return median(c.Seconds, miss).Median }
	fastest := slices.MinFunc(cells, func(a, b *cell) int { return cmp.Compare(middle(a), middle(b)) })
	best := fastest
	for _, c := range cells {
		against := speedup(fastest.Seconds, c.Seconds, miss)
		fewer := len(c.Setting.changes(choices)) - len(best.Setting.changes(choices))
		if against.same() && against.Median >= indifferent && (fewer < 0 || fewer == 0 && middle(c) < middle(best)) {
			best = c
		}
	}
	return best
}

// line is the advice in words.
func (a advice) line(choices []choice) string {
	if a.Best == nil {
		return "none: " + a.Why
	}
	text := "leave all as it is: nothing here is faster for sure"
	if len(a.Changes) > 0 {
		text = fmt.Sprintf("%s: %.2fx (%.2f..%.2f) of the baseline", strings.Join(a.Changes, ", "), a.Speed.Median, a.Speed.Low, a.Speed.High)
	}
	var same, equal, doubtful []string
	for _, v := range a.Others {
		word, taken := v.Axis+" "+v.Value, v.Axis+" "+a.Best[v.Axis]
		changed := slices.Contains(a.Changes, taken)
		switch {
		case changed && !v.Speed.same():
		case changed && v.Value == baseline(v.Axis, choices):
			doubtful = append(doubtful, taken)
		case changed:
			equal = append(equal, word)
		case v.Speed.same():
			same = append(same, word)
		default:
			text += fmt.Sprintf("; %s would be %.2fx of that", word, v.Speed.Median)
		}
	}
	return text + clause(equal, "does", "do", "as well") + clause(same, "makes", "make", "no difference") +
		clause(doubtful, "may", "may each", "have no part in it")
}

// baseline is the baseline's value of an axis.
func baseline(name string, choices []choice) string {
	at := slices.IndexFunc(choices, func(c choice) bool { return c.name == name })
	return choices[at].values[0]
}

// clause is "; tf32 on makes no difference".
func clause(subjects []string, one, many, rest string) string {
	switch len(subjects) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; %s %s %s", subjects[0], one, rest)
	}
	return fmt.Sprintf("; %s %s %s", strings.Join(subjects, ", "), many, rest)
}
