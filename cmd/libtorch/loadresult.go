package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"time"
)

// loadResult is what came of the requests.
type loadResult struct {
	started time.Time
	took    time.Duration
	busy    time.Duration // what the server took of the processors, if that is known
	mu      sync.Mutex
	answers []answered
	errors  map[string]int
}

// answered is one answer: when it came, and how long it took.
type answered struct{ at, took time.Duration }

func (r *loadResult) add(due time.Time, wrong string) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if wrong != "" {
		r.errors[wrong]++
		return
	}
	r.answers = append(r.answers, answered{now.Sub(r.started), now.Sub(due)})
}

// latencies are the times of answers, in order.
func latencies(list []answered) []time.Duration {
	all := make([]time.Duration, len(list))
	for i, a := range list {
		all[i] = a.took
	}
	slices.Sort(all)
	return all
}

// percentile is the time that so many percent of the answers do not exceed.
func percentile(sorted []time.Duration, percent float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(percent/100*float64(len(sorted))))-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }

// percents are the percentiles that are told.
var percents = []float64{50, 90, 95, 99, 99.9, 100}

func (r *loadResult) print(out io.Writer) error {
	sorted := latencies(r.answers)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d answers in %.1f s, %.1f a second\n", len(sorted), r.took.Seconds(), float64(len(sorted))/r.took.Seconds())
	for _, what := range slices.Sorted(maps.Keys(r.errors)) {
		fmt.Fprintf(&b, "%d x %s\n", r.errors[what], what)
	}
	for _, p := range percents {
		fmt.Fprintf(&b, "%5g %%  %8s ms\n", p, ms(percentile(sorted, p)))
	}
	if r.busy > 0 && len(sorted) > 0 {
		each := float64(r.busy) / float64(len(sorted)) / float64(time.Millisecond)
		fmt.Fprintf(&b, "server   %8.3f ms of processors for each answer\n", each)
	}
	_, err := out.Write(b.Bytes())
	return err
}

// second is the figures of one second.
type second struct {
	answers       int
	p50, p90, p99 time.Duration
}

// seconds are the figures of each whole second.
func (r *loadResult) seconds() (list []second) {
	groups := map[int][]answered{}
	for _, a := range r.answers {
		groups[int(a.at/time.Second)] = append(groups[int(a.at/time.Second)], a)
	}
	for i := range int(r.took / time.Second) {
		sorted := latencies(groups[i])
		list = append(list, second{len(sorted), percentile(sorted, 50), percentile(sorted, 90), percentile(sorted, 99)})
	}
	return list
}

// write writes the files that were asked for.
func (r *loadResult) write(csv, svg string) error {
	list := r.seconds()
	if csv != "" {
		var b bytes.Buffer
		b.WriteString("second,answers,p50_ms,p90_ms,p99_ms\n")
		for i, s := range list {
			fmt.Fprintf(&b, "%d,%d,%s,%s,%s\n", i, s.answers, ms(s.p50), ms(s.p90), ms(s.p99))
		}
		if err := os.WriteFile(csv, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if svg == "" {
		return nil
	}
	return os.WriteFile(svg, chart(list), 0o644)
}

// chart draws answers a second, and below the median and the 99th percentile.
func chart(list []second) []byte {
	var b bytes.Buffer
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 400" font-family="sans-serif" font-size="12">` + "\n" +
		"<style>path{fill:none;stroke-width:1.5}</style><rect width=\"640\" height=\"400\" fill=\"#fff\"/>\n")
	draw := func(top float64, title string, lines map[string]func(second) float64) {
		highest := 1e-9
		for _, s := range list {
			for _, value := range lines {
				highest = max(highest, value(s))
			}
		}
		fmt.Fprintf(&b, `<text x="20" y="%g">%s; the top is %.4g</text><path stroke="#ccc" d="M20 %gH620"/>`+"\n", top, title, highest, top+160)
		for _, colour := range slices.Sorted(maps.Keys(lines)) {
			fmt.Fprintf(&b, `<path stroke="%s" d="`, colour)
			for i, s := range list {
				x := 20 + 600*float64(i)/float64(max(1, len(list)-1))
				fmt.Fprintf(&b, "%c%.1f %.1f", "LM"[min(1, max(0, 1-i))], x, top+160-150*lines[colour](s)/highest)
			}
			b.WriteString("\"/>\n")
		}
	}
	draw(20, "answers a second", map[string]func(second) float64{"#d9480f": func(s second) float64 { return float64(s.answers) }})
	draw(215, "milliseconds: half of the answers (blue), 99 % (red)", map[string]func(second) float64{
		"#1c7ed6": func(s second) float64 { return float64(s.p50) / 1e6 },
		"#e03131": func(s second) float64 { return float64(s.p99) / 1e6 },
	})
	b.WriteString("</svg>\n")
	return b.Bytes()
}
