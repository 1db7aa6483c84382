package watch

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// drawing is what a browser reads of an SVG file.
type drawing struct {
	XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
	Width   int      `xml:"width,attr"`
	Height  int      `xml:"height,attr"`
	Legend  []string `xml:"text"`
	Lines   []struct {
		Stroke string `xml:"stroke,attr"`
	} `xml:"line"`
	Charts []chart `xml:"g"`
}

type chart struct {
	At    string `xml:"transform,attr"`
	Texts []struct {
		Class string  `xml:"class,attr"`
		X     float64 `xml:"x,attr"`
		Y     float64 `xml:"y,attr"`
		Text  string  `xml:",chardata"`
	} `xml:"text"`
	Paths []struct {
		D      string `xml:"d,attr"`
		Stroke string `xml:"stroke,attr"`
		Dashes string `xml:"stroke-dasharray,attr"`
		Title  string `xml:"title"`
	} `xml:"path"`
}

func draw(t *testing.T, runs ...*Curves) (d drawing) {
	t.Helper()
	var text strings.Builder
	require.NoError(t, WriteSVG(&text, runs...))
	require.NoError(t, xml.Unmarshal([]byte(text.String()), &d), text.String())
	return d
}

// reading is how a reader of a chart finds a number from a pixel: by two ticks of an axis.
func (c chart) reading(t *testing.T, axis string) func(pixel float64) float64 {
	var pixels, numbers []float64
	for _, text := range c.Texts {
		if text.Class != axis {
			continue
		}
		number, err := strconv.ParseFloat(text.Text, 64)
		require.NoError(t, err)
		pixel := text.X
		if axis == "y" {
			pixel = text.Y
		}
		pixels, numbers = append(pixels, pixel), append(numbers, number)
	}
	require.GreaterOrEqual(t, len(pixels), 2, "ticks of %s", axis)
	require.LessOrEqual(t, len(pixels), 12, "ticks of %s", axis)
	last := len(pixels) - 1
	each := (numbers[last] - numbers[0]) / (pixels[last] - pixels[0])
	for i := range pixels { // the ticks themselves are even
		require.InDelta(t, numbers[i], numbers[0]+(pixels[i]-pixels[0])*each, math.Abs(each)*0.05)
	}
	return func(pixel float64) float64 { return numbers[0] + (pixel-pixels[0])*each }
}

var command = regexp.MustCompile(`([MLh])([-\d.]+)(?: ([-\d.]+))?`)

// places are the points of a path in pixels, in parts between gaps.
func places(t *testing.T, path string) (parts [][][2]float64) {
	require.Regexp(t, `^(M[-\d.]+ [-\d.]+((L[-\d.]+ [-\d.]+)+|h0))+$`, path)
	for _, m := range command.FindAllStringSubmatch(path, -1) {
		if m[1] == "h" {
			continue
		}
		x, _ := strconv.ParseFloat(m[2], 64)
		y, _ := strconv.ParseFloat(m[3], 64)
		if m[1] == "M" {
			parts = append(parts, nil)
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], [2]float64{x, y})
	}
	return parts
}

func curvesOf(name, tag string, values ...float64) *Curves {
	c := &Curves{Name: name}
	for i, v := range values {
		_ = c.AddScalar(tag, v, 10*i)
	}
	return c
}

// What a reader measures with a ruler are the numbers that were logged.
func TestChartsTellTheNumbers(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for name, scene := range map[string]struct {
		values []float64
		parts  [][]float64
	}{
		"falling":    {[]float64{2.3, 1.9, 1.1, 0.7, 0.65}, [][]float64{{2.3, 1.9, 1.1, 0.7, 0.65}}},
		"around 0":   {[]float64{-0.25, 0, 0.5}, [][]float64{{-0.25, 0, 0.5}}},
		"small":      {[]float64{3e-7, 1e-7, 2.5e-7}, [][]float64{{3e-7, 1e-7, 2.5e-7}}},
		"large":      {[]float64{3e9, 5.5e9, -2e9}, [][]float64{{3e9, 5.5e9, -2e9}}},
		"close":      {[]float64{1000.001, 1000.002, 1000.0035}, [][]float64{{1000.001, 1000.002, 1000.0035}}},
		"all alike":  {[]float64{7, 7, 7}, [][]float64{{7, 7, 7}}},
		"zeros":      {[]float64{0, 0}, [][]float64{{0, 0}}},
		"gaps":       {[]float64{nan, 1, 2, inf, 3, -inf, 4, 5}, [][]float64{{1, 2}, {3}, {4, 5}}},
		"overflow":   {[]float64{1, math.MaxFloat64, 2}, [][]float64{{1}, {2}}},
		"a point":    {[]float64{0.5}, [][]float64{{0.5}}},
		"no numbers": {[]float64{nan, nan}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := draw(t, curvesOf("run", "loss", scene.values...))
			require.Len(t, d.Charts, 1)
			c := d.Charts[0]
			require.Equal(t, "loss", c.Texts[0].Text)
			x, y := c.reading(t, "x"), c.reading(t, "y")
			if scene.parts == nil {
				require.Empty(t, c.Paths)
				return
			}
			require.Len(t, c.Paths, 1)
			parts := places(t, c.Paths[0].D)
			require.Len(t, parts, len(scene.parts))
			pixel := math.Abs(y(1) - y(0))
			step := 0
			for i, part := range parts {
				require.Len(t, part, len(scene.parts[i]))
				for k, at := range part {
					for scene.values[step] != scene.parts[i][k] {
						step++
					}
					require.InDelta(t, scene.values[step], y(at[1]), pixel/10, "value %d", step)
					require.InDelta(t, 10*step, x(at[0]), math.Abs(x(1)-x(0))/10, "step %d", step)
					require.True(t, at[0] >= plotLeft && at[0] <= plotRight && at[1] >= plotTop && at[1] <= plotBottom, "%v is inside", at)
					step++
				}
			}
		})
	}
}

func TestRunsShareCharts(t *testing.T) {
	var runs []*Curves
	for i := range len(colours) + 1 {
		runs = append(runs, curvesOf(fmt.Sprintf("run <%d> & \x00", i), "val/Acc@1", 1, float64(i)))
	}
	_ = runs[0].AddScalar("lr", 0.1, 0)
	_ = runs[0].AddScalar("a & b", 0.1, 0)
	d := draw(t, runs...)
	require.Equal(t, [2]int{columns * cellWidth, legendRow*(len(runs)+1) + 2*cellHeight}, [2]int{d.Width, d.Height})
	require.Len(t, d.Legend, len(runs))
	require.Len(t, d.Lines, len(runs))
	var titles, at []string
	for _, c := range d.Charts {
		titles, at = append(titles, c.Texts[0].Text), append(at, c.At)
	}
	require.Equal(t, []string{"a & b", "lr", "val/Acc@1"}, titles)
	top := legendRow * (len(runs) + 1)
	require.Equal(t, []string{fmt.Sprintf("translate(0 %d)", top), fmt.Sprintf("translate(%d %d)", cellWidth, top),
		fmt.Sprintf("translate(0 %d)", top+cellHeight)}, at)
	require.Len(t, d.Charts[0].Paths, 1)
	last := d.Charts[2]
	require.Len(t, last.Paths, len(runs))
	looks := map[string]bool{}
	for i, path := range last.Paths {
		require.Equal(t, fmt.Sprintf("run <%d> & \uFFFD", i), path.Title)
		require.Equal(t, d.Legend[i], path.Title)
		require.Equal(t, d.Lines[i].Stroke, path.Stroke)
		looks[path.Stroke+path.Dashes] = true
	}
	require.Len(t, looks, len(runs), "each run looks another way")
}

// A long run keeps what can be seen of it: its ends and its peaks.
func TestLongRunsAreThinned(t *testing.T) {
	c := &Curves{}
	const points = 100_000
	for i := range points {
		v := math.Sin(float64(i))
		switch i {
		case 33_333:
			v = 50
		case 66_666:
			v = -50
		case 77_777:
			v = math.NaN()
		}
		_ = c.AddScalar("loss", v, i)
	}
	chart := draw(t, c).Charts[0]
	x, y := chart.reading(t, "x"), chart.reading(t, "y")
	parts := places(t, chart.Paths[0].D)
	require.Len(t, parts, 2, "the gap is there")
	all := append(parts[0], parts[1]...)
	require.Less(t, len(all), 5*cellWidth)
	most, least := all[0], all[0]
	for _, at := range all {
		if at[1] < most[1] {
			most = at
		}
		if at[1] > least[1] {
			least = at
		}
	}
	require.InDelta(t, 50, y(most[1]), 1)
	require.InDelta(t, -50, y(least[1]), 1)
	require.InDelta(t, 33_333, x(most[0]), 300)
	require.InDelta(t, 66_666, x(least[0]), 300)
	require.InDelta(t, 0, x(all[0][0]), 300)
	require.InDelta(t, points, x(all[len(all)-1][0]), 300)
}

func TestTicks(t *testing.T) {
	for _, scene := range []struct {
		low, high, least float64
		want             string
	}{
		{0, 1, 0, "0 0.2 0.4 0.6 0.8 1.0"},
		{-0.3, 0.27, 0, "-0.2 0 0.2"},
		{0, 3, 1, "0 1 2 3"},
		{0, 1, 1, "0 1"},
		{0, 240_000, 1, "0 50000 100000 150000 200000"},
		{0, 5e7, 1, "0 1e+07 2e+07 3e+07 4e+07 5e+07"},
		{1.0e-7, 3e-7, 0, "1.0e-07 1.5e-07 2.0e-07 2.5e-07 3.0e-07"},
		{123_456_788, 123_456_792, 0, "1.23456788e+08 1.23456789e+08 1.23456790e+08 1.23456791e+08 1.23456792e+08"},
	} {
		list, step := scale{low: scene.low, high: scene.high}.ticks(5, scene.least)
		var labels []string
		for _, v := range list {
			labels = append(labels, label(v, step))
		}
		require.Equal(t, scene.want, strings.Join(labels, " "))
	}
}

type refusing struct{}

var errRefused = errors.New("no space left")

func (refusing) Write([]byte) (int, error) { return 0, errRefused }

func TestDrawingFails(t *testing.T) {
	require.ErrorContains(t, WriteSVG(refusing{}), "there are no runs to draw")
	require.ErrorIs(t, WriteSVG(refusing{}, &Curves{}), errRefused)
	require.Empty(t, draw(t, &Curves{}).Charts)
}
