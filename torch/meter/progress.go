package meter

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Progress prints the averages of a run, line by line, and on a terminal a bar: PyTorch's
// ProgressMeter.
type Progress struct {
	Every int    // Step prints the line of every Every-th batch and of the last; default 10, and none if it is negative
	Done  int    // batches that are done: 0, or where a run goes on
	Unit  string // what a sample is; default "img"

	// Logs get the last value of every average with each line, and its mean, as "Loss/mean", with the closing one.
	Logs  []Log
	Tag   string // what the names in Logs begin with, such as "train/"
	First int    // how many steps of the run came before this Progress: in Logs a batch has the number First+Done

	failed   error // of Logs
	w        io.Writer
	prefix   string
	batches  int
	averages []*Average

	live    bool // w is a terminal
	now     func() time.Time
	start   time.Time
	drawn   time.Time // when the bar was last drawn
	bar     string    // what is on the screen
	steps   int       // calls of Step
	samples int
}

// NewProgress makes a Progress that writes to w, for a run of that many batches. The prefix
// begins each line: "Epoch: [0]", "Test: ".
func NewProgress(w io.Writer, prefix string, batches int, averages ...*Average) *Progress {
	p := &Progress{w: w, batches: batches, prefix: prefix, averages: averages, live: isTerminal(w), now: time.Now}
	p.start = p.now()
	return p
}

// isTerminal tells whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Step says that a batch of that many samples is done, after its figures were recorded. It
// draws the bar at most ten times a second, and only on a terminal.
func (p *Progress) Step(samples int) {
	p.Done++
	p.steps++
	p.samples += samples
	if every := cmp.Or(p.Every, 10); every > 0 && (p.Done%every == 0 || p.Done == p.batches) {
		p.print(p.line())
		p.log(func(a *Average) (string, float64) { return "", a.Val() })
	}
	if !p.live {
		return
	}
	now := p.now()
	if now.Sub(p.drawn) < 100*time.Millisecond && p.Done < p.batches {
		return
	}
	p.drawn = now
	p.wipe()
	p.show(p.barAfter(now.Sub(p.start)))
}

// line is what there is to say of the last batch.
func (p *Progress) line() string {
	total := strconv.Itoa(p.batches)
	entries := []string{fmt.Sprintf("%s[%*d/%s]", p.prefix, len(total), p.Done, total)}
	for _, a := range p.averages {
		entries = append(entries, a.String())
	}
	return strings.Join(entries, "\t")
}

// Summary prints the closing line, " * Acc@1 45.120": the means of those averages that ask for
// it. It ends the bar.
func (p *Progress) Summary() {
	p.wipe()
	entries := []string{" *"}
	for _, a := range p.averages {
		if a.Summary {
			entries = append(entries, a.Name+" "+number("%.3f", a.Avg()))
		}
	}
	p.print(strings.Join(entries, " "))
	p.log(func(a *Average) (string, float64) { return "/mean", a.Avg() })
}

// print writes a line above the bar.
func (p *Progress) print(line string) {
	bar := p.bar
	p.wipe()
	fmt.Fprintln(p.w, line)
	p.show(bar)
}

// Close removes the bar from the screen, and frees what the averages hold on their devices.
// Their figures can still be asked for.
func (p *Progress) Close() {
	p.wipe()
	for _, a := range p.averages {
		a.settle()
	}
}

func (p *Progress) show(bar string) {
	p.bar = bar
	fmt.Fprint(p.w, bar)
}

func (p *Progress) wipe() {
	if p.bar != "" {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.bar = ""
}

// barAfter is the bar after the given time. It stays below 80 columns: a longer line would
// wrap, and \r would not return to its start.
func (p *Progress) barAfter(elapsed time.Duration) string {
	const width = 24
	done := 0.0
	if p.batches > 0 {
		done = min(1, float64(p.Done)/float64(p.batches))
	}
	full := int(done * width)
	text := fmt.Sprintf("%s %3.0f%% |%s%s| %d/%d", p.prefix, 100*done,
		strings.Repeat("█", full), strings.Repeat("·", width-full), p.Done, p.batches)
	if seconds := elapsed.Seconds(); seconds > 0 && p.steps > 0 {
		left := time.Duration(float64(elapsed) * float64(p.batches-p.Done) / float64(p.steps))
		text += fmt.Sprintf(" %.0f %s/s ETA %s", float64(p.samples)/seconds, cmp.Or(p.Unit, "img"), clock(left))
	}
	if runes := []rune(text); len(runes) > 79 {
		text = string(runes[:79])
	}
	return text
}

// clock writes a duration as 1:05 or 2:03:00.
func clock(d time.Duration) string {
	s := int(max(0, d).Round(time.Second).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
