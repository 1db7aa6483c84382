package watch

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// The measures of a drawing in pixels.
const (
	columns              = 2
	cellWidth            = 480
	cellHeight           = 280
	plotLeft, plotRight  = 64, cellWidth - 16
	plotTop, plotBottom  = 36, cellHeight - 36
	legendRow            = 20
	wantedX, wantedY     = 6, 5 // ticks
	legendLeft, nameLeft = 24, 52
)

// colours tell runs apart, also for readers who see few of them: those of Okabe and Ito. After the last the lines are dashed.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// WriteSVG draws the curves of runs: a chart for each tag, in which each run that has it is a line of its colour, and above
// the charts which colour is whose. What is not finite leaves a gap. Where a curve has more points than the chart has room for, the first,
// last, least and greatest of those that share a column of pixels are drawn.
func WriteSVG(w io.Writer, runs ...*Curves) error {
	if len(runs) == 0 {
		return errors.New("watch: there are no runs to draw")
	}
	var tags []string
	for _, run := range runs {
		tags = append(tags, run.Tags()...)
	}
	slices.Sort(tags)
	tags = slices.Compact(tags)

	var p picture
	top := legendRow * (len(runs) + 1)
	height := top + cellHeight*((len(tags)+columns-1)/columns)
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif"`+
		` font-size="11">`, columns*cellWidth, height)
	p.printf(`<rect width="100%%" height="100%%" fill="#ffffff"/>`)
	for i, run := range runs {
		y := legendRow * (i + 1)
		p.printf(`<line x1="%d" y1="%d" x2="%d" y2="%[2]d" %[4]s/>`, legendLeft, y-4, nameLeft-6, stroke(i))
		p.printf(`<text x="%d" y="%d">%s</text>`, nameLeft, y, escaped(run.Name))
	}
	for i, tag := range tags {
		p.printf(`<g transform="translate(%d %d)">`, i%columns*cellWidth, top+i/columns*cellHeight)
		p.chart(tag, runs)
		p.printf(`</g>`)
	}
	p.printf(`</svg>`)
	_, err := w.Write(p.Bytes())
	return err
}

// stroke is how the line of a run looks.
func stroke(run int) string {
	dashes := ""
	if turn := run / len(colours); turn > 0 {
		dashes = fmt.Sprintf(` stroke-dasharray="%d 3"`, 2+2*turn)
	}
	return fmt.Sprintf(`stroke="%s" stroke-width="1.5" stroke-linecap="round"%s`, colours[run%len(colours)], dashes)
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes all
	return b.String()
}

// A picture is the text of a drawing.
type picture struct{ bytes.Buffer }

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// chart draws the curves of a tag.
func (p *picture) chart(tag string, runs []*Curves) {
	x, y := axes(tag, runs)
	p.printf(`<text x="%d" y="%d" font-size="13" font-weight="bold">%s</text>`, plotLeft, plotTop-12, escaped(tag))
	list, step := y.ticks(wantedY, 0)
	for _, v := range list {
		at := y.at(v)
		p.printf(`<line x1="%d" y1="%.2f" x2="%d" y2="%.2[2]f" stroke="#dddddd"/>`, plotLeft, at, plotRight)
		p.printf(`<text class="y" x="%d" y="%.2f" text-anchor="end" dominant-baseline="middle">%s</text>`, plotLeft-6, at, label(v, step))
	}
	list, step = x.ticks(wantedX, 1)
	for _, v := range list {
		at := x.at(v)
		p.printf(`<line x1="%.2f" y1="%d" x2="%.2[1]f" y2="%[3]d" stroke="#dddddd"/>`, at, plotTop, plotBottom)
		p.printf(`<text class="x" x="%.2f" y="%d" text-anchor="middle">%s</text>`, at, plotBottom+16, label(v, step))
	}
	p.printf(`<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#888888"/>`,
		plotLeft, plotTop, plotRight-plotLeft, plotBottom-plotTop)
	for i, run := range runs {
		if path := line(run.points[tag], x, y); path != "" {
			p.printf(`<path class="curve" fill="none" stroke-linejoin="round" %s d="%s"><title>%s</title></path>`,
				stroke(i), path, escaped(run.Name))
		}
	}
}

// axes are the scales of the steps and of the values of a chart.
func axes(tag string, runs []*Curves) (x, y scale) {
	x = scale{math.Inf(1), math.Inf(-1), plotLeft, plotRight}
	y = scale{math.Inf(1), math.Inf(-1), plotBottom, plotTop}
	for _, run := range runs {
		for _, point := range run.points[tag] {
			x.low, x.high = min(x.low, float64(point.Step)), max(x.high, float64(point.Step))
			if drawable(point.Value) {
				y.low, y.high = min(y.low, point.Value), max(y.high, point.Value)
			}
		}
	}
	x.low, x.high = widened(x.low, x.high, 1)
	y.low, y.high = widened(y.low, y.high, 0)
	return x, y
}

// line is the path of a curve: "M64.00 20.00L70.00 24.00"; a point alone is a line to itself, which is drawn as a dot.
func line(points []Point, x, y scale) string {
	var b strings.Builder
	lone, drawing := false, false
	end := func() {
		if lone {
			b.WriteString("h0")
		}
		lone, drawing = false, false
	}
	for _, point := range thinned(points, x) {
		if !drawable(point.Value) {
			end()
			continue
		}
		command := "L"
		if lone = !drawing; lone {
			command, drawing = "M", true
		}
		fmt.Fprintf(&b, "%s%.2f %.2f", command, x.at(float64(point.Step)), y.at(point.Value))
	}
	end()
	return b.String()
}

// thinned are the points that make a difference: of each column of pixels the first, the last, the least, the greatest, and the first
// that is not finite.
func thinned(points []Point, x scale) []Point {
	const each = 5 // points that a column needs at most
	if len(points) <= each*(plotRight-plotLeft) {
		return points
	}
	var kept []Point
	for from := 0; from < len(points); {
		column := math.Floor(x.at(float64(points[from].Step)))
		to := from + 1
		for to < len(points) && math.Floor(x.at(float64(points[to].Step))) == column {
			to++
		}
		kept = append(kept, extremes(points[from:to])...)
		from = to
	}
	return kept
}

// extremes are the points of a column that are kept, in their order.
func extremes(column []Point) (kept []Point) {
	keep := []int{0, len(column) - 1}
	least, greatest, gap := -1, -1, -1
	for i, point := range column {
		switch {
		case !drawable(point.Value):
			if gap < 0 {
				gap = i
			}
		case least < 0:
			least, greatest = i, i
		case point.Value < column[least].Value:
			least = i
		case point.Value > column[greatest].Value:
			greatest = i
		}
	}
	keep = append(keep, least, greatest, gap)
	slices.Sort(keep)
	for _, i := range slices.Compact(keep) {
		if i >= 0 {
			kept = append(kept, column[i])
		}
	}
	return kept
}
