package meter

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// ProgressMeter prints the meters of a run, line by line, and on a terminal a bar.
type ProgressMeter struct {
	w       io.Writer
	batches int
	prefix  string
	meters  []*AverageMeter

	live   bool // w is a terminal
	now    func() time.Time
	start  time.Time
	drawn  time.Time // when the bar was last drawn
	bar    string    // what is on the screen
	batch  int
	images int
}

// NewProgressMeter makes a meter that writes to w, for a run of that many batches. The
// prefix starts each line: "Epoch: [0]", "Test: ".
func NewProgressMeter(w io.Writer, batches int, prefix string, meters ...*AverageMeter) *ProgressMeter {
	p := &ProgressMeter{w: w, batches: batches, prefix: prefix, meters: meters, live: isTerminal(w), now: time.Now}
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

// Display prints the line of a batch; batches count from 1.
func (p *ProgressMeter) Display(batch int) {
	total := strconv.Itoa(p.batches)
	entries := []string{fmt.Sprintf("%s[%*d/%s]", p.prefix, len(total), batch, total)}
	for _, m := range p.meters {
		entries = append(entries, m.String())
	}
	p.print(strings.Join(entries, "\t"))
}

// DisplaySummary prints the closing line, " * Acc@1 45.120", and ends the bar.
func (p *ProgressMeter) DisplaySummary() {
	p.Close()
	entries := []string{" *"}
	for _, m := range p.meters {
		if text := m.closing(); text != "" {
			entries = append(entries, text)
		}
	}
	p.print(strings.Join(entries, " "))
}

// print writes a line above the bar.
func (p *ProgressMeter) print(line string) {
	bar := p.bar
	p.wipe()
	fmt.Fprintln(p.w, line)
	p.show(bar)
}

// Advance tells the bar that a batch of that many images is done. It draws at most ten
// times a second, and only on a terminal.
func (p *ProgressMeter) Advance(batch, images int) {
	p.batch, p.images = batch, p.images+images
	if !p.live {
		return
	}
	now := p.now()
	if now.Sub(p.drawn) < 100*time.Millisecond && batch < p.batches {
		return
	}
	p.drawn = now
	p.wipe()
	p.show(p.line(now.Sub(p.start)))
}

// Close removes the bar from the screen. Lines may still be printed.
func (p *ProgressMeter) Close() { p.wipe() }

func (p *ProgressMeter) show(bar string) {
	p.bar = bar
	fmt.Fprint(p.w, bar)
}

func (p *ProgressMeter) wipe() {
	if p.bar != "" {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.bar = ""
}

// line is the bar after the given time. It stays below 80 columns: a longer line would
// wrap, and \r would not return to its start.
func (p *ProgressMeter) line(elapsed time.Duration) string {
	const width = 24
	done := 0.0
	if p.batches > 0 {
		done = min(1, float64(p.batch)/float64(p.batches))
	}
	full := int(done * width)
	text := fmt.Sprintf("%s %3.0f%% |%s%s| %d/%d", p.prefix, 100*done,
		strings.Repeat("█", full), strings.Repeat("·", width-full), p.batch, p.batches)
	if seconds := elapsed.Seconds(); seconds > 0 && p.batch > 0 {
		left := time.Duration(float64(elapsed) * float64(p.batches-p.batch) / float64(p.batch))
		text += fmt.Sprintf(" %.0f img/s ETA %s", float64(p.images)/seconds, clock(left))
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
