package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
)

// A bar is a speed relative to the baseline's, with its interval.
type bar struct {
	label string
	speed estimate
	note  string
	best  bool
}

// A panel has the bars of a workload.
type panel struct {
	title string
	bars  []bar
}

// panels are those of all tasks; the convolutions of a network share one, with a bar for the
// best setting of each.
func (r *result) panels() (list []panel) {
	seen := map[string]bool{}
	for _, t := range r.Tasks {
		switch {
		case t.Of == "":
			list = append(list, r.cells(t))
		case !seen[t.Of]:
			seen[t.Of] = true
			list = append(list, r.bests(newFamily(r, t.Of)))
		}
	}
	return list
}

func (r *result) cells(t *task) panel {
	p := panel{title: t.Work.String() + r.mark(t)}
	for _, c := range t.Cells {
		b := bar{label: c.Setting.text(r.choices), speed: c.Speed, note: c.why(), best: len(t.Advice.Changes) > 0 && t.best() == c}
		if c.ok() {
			b.note = fmt.Sprintf("%s ms", figure(1e3*c.Time.Median))
		}
		p.bars = append(p.bars, b)
	}
	return p
}

func (r *result) bests(f *family) panel {
	p := panel{title: "the best setting for each convolution of " + f.of}
	for _, t := range f.tasks {
		p.bars = append(p.bars, bar{label: t.Work.Conv, speed: t.Advice.Speed, note: short(t.Advice, r.choices), best: len(t.Advice.Changes) > 0})
	}
	return p
}

// The chart's measures.
const (
	chartWidth, labelWidth, noteWidth = 960.0, 400.0, 190.0
	rowHeight, barHeight, titleHeight = 20.0, 12.0, 34.0
	margin                            = 16.0

	room = 1.25 // for whiskers beyond the fastest; longer ones are cut off
)

// style has colours for pages that are light and for those that are dark.
const style = `text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600;font-size:14px}.faint{fill:#57606a}
.bar{fill:#8c959f}.best{fill:#1a7f37}.whisker,.one{stroke:#24292f;fill:none}.one{stroke-dasharray:3 3;stroke:#57606a}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.faint{fill:#9198a1}.bar{fill:#6e7681}
.best{fill:#3fb950}.whisker{stroke:#e6edf3}.one{stroke:#9198a1}}`

// writeSVG draws the speeds as bars, which end in whiskers where their intervals do.
func (r *result) writeSVG(w io.Writer) error {
	panels := r.panels()
	most, height := 1.0, 2*margin+2*rowHeight
	for _, p := range panels {
		height += titleHeight + rowHeight*float64(len(p.bars))
		for _, b := range p.bars {
			most = max(most, room*b.speed.Median)
		}
	}
	c := &canvas{most: most, scale: (chartWidth - labelWidth - noteWidth - 2*margin) / most}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" role="img">`, chartWidth, height, chartWidth)
	c.add(`<title>Speed of each setting in terms of the baseline</title><style>%s</style>`, style)
	y := margin + rowHeight
	c.text(margin, y, "title", "start", "Speed in terms of the baseline, higher is better")
	c.text(margin, y+rowHeight, "faint", "start", r.Machine.Device+": "+r.Machine.String())
	y += rowHeight
	for _, p := range panels {
		c.text(margin, y+titleHeight-6, "title", "start", p.title)
		y += titleHeight
		for i, b := range p.bars {
			c.bar(y+rowHeight*float64(i), b)
		}
		bottom := y + rowHeight*float64(len(p.bars))
		c.line("one", c.x(1), y, c.x(1), bottom)
		y = bottom
	}
	c.add("</svg>\n")
	_, err := io.WriteString(w, c.String())
	return err
}

// A canvas collects the elements of a chart.
type canvas struct {
	strings.Builder
	scale float64 // pixels for a speed of 1
	most  float64 // the fastest speed that fits on the canvas
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

// x is where a speed lies.
func (c *canvas) x(speed float64) float64 {
	const tenth = 10
	return math.Round(tenth*(margin+labelWidth+speed*c.scale)) / tenth
}

func (c *canvas) text(x, y float64, class, anchor, text string) {
	c.add(`<text x="%g" y="%g" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor, escaped(text))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.add(`<path class="%s" d="M%g %gL%g %g"/>`, class, x1, y1, x2, y2)
}

// bar draws one row, whose top is at y.
func (c *canvas) bar(y float64, b bar) {
	const baseline, tick = 14, 3
	middle := y + rowHeight/2
	c.text(margin+labelWidth-8, y+baseline, "", "end", b.label)
	end := c.x(0)
	if b.speed.Median > 0 {
		class := "bar"
		if b.best {
			class = "best"
		}
		end = c.x(b.speed.Median)
		c.add(`<rect class="%s" x="%g" y="%g" width="%.1f" height="%g"/>`, class, c.x(0), middle-barHeight/2, end-c.x(0), barHeight)
		b.note = times(b.speed) + ", " + b.note
	}
	if b.speed.known() {
		low, high := c.x(min(b.speed.Low, c.most)), c.x(min(b.speed.High, c.most))
		c.line("whisker", low, middle, high, middle)
		c.line("whisker", low, middle-tick, low, middle+tick)
		if b.speed.High <= c.most {
			c.line("whisker", high, middle-tick, high, middle+tick)
		}
		end = max(end, high)
	}
	c.text(max(end, c.x(1))+8, y+baseline, "faint", "start", b.note)
}

// escaped is the text with XML's escapes.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // writing to a Builder cannot fail
	return b.String()
}
