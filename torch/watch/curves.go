package watch

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Curves are the figures of a run by their tags. They are a meter.Log; the zero value is ready to use. They may not be used from two
// goroutines at once.
type Curves struct {
	Name string // of the run, in legends

	points map[string][]Point
}

// Point is one figure of a curve.
type Point struct {
	Step  int
	Value float64
}

// AddScalar adds a point to a curve. A run that goes on from an earlier step, as after a checkpoint, takes the place of what was behind
// it: the points from that step on are dropped. The error is always nil.
func (c *Curves) AddScalar(tag string, value float64, step int) error {
	if c.points == nil {
		c.points = map[string][]Point{}
	}
	list := c.points[tag]
	for len(list) > 0 && list[len(list)-1].Step >= step {
		list = list[:len(list)-1]
	}
	c.points[tag] = append(list, Point{step, value})
	return nil
}

// Tags are those of all curves, sorted.
func (c *Curves) Tags() []string { return slices.Sorted(maps.Keys(c.points)) }

// Points is a copy of a curve, in the order of its steps.
func (c *Curves) Points(tag string) []Point { return slices.Clone(c.points[tag]) }

// LoadCurves reads the figures of a run from its folder, or from a file of [meter.NewJSONLines] or [meter.NewCSV], and names them by
// the path.
func LoadCurves(path string) (*Curves, error) {
	name := filepath.Clean(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, scalarsFile)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("watch: cannot read a run: %w", err)
	}
	defer file.Close()
	c, err := ReadCurves(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.Name = name
	return c, nil
}

// ReadCurves reads what [meter.NewJSONLines] or [meter.NewCSV] wrote. Lines that a run which was killed has not ended are left out.
func ReadCurves(r io.Reader) (*Curves, error) {
	buffered := bufio.NewReader(r)
	c := &Curves{}
	first, err := buffered.Peek(1)
	switch {
	case errors.Is(err, io.EOF):
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("watch: cannot read a run: %w", err)
	case first[0] == '{':
		return c, c.readLines(buffered)
	}
	return c, c.readTable(buffered)
}

// scalar is a line of a file.
type scalar struct {
	Step  *int            `json:"step"`
	Tag   *string         `json:"tag"`
	Value json.RawMessage `json:"value"`
}

func (c *Curves) readLines(r *bufio.Reader) error {
	for number := 1; ; number++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // what is left has no end
		}
		if err != nil {
			return fmt.Errorf("watch: cannot read a run: %w", err)
		}
		var s scalar
		err = json.Unmarshal(line, &s)
		if err == nil && (s.Step == nil || s.Tag == nil) {
			err = errors.New("a step or a tag is missing")
		}
		var value float64
		if err == nil {
			value, err = strconv.ParseFloat(string(bytes.Trim(s.Value, `"`)), 64)
		}
		if err != nil {
			return fmt.Errorf(`watch: line %d: %w; expected {"step":1,"tag":"loss","value":0.5}`, number, err)
		}
		_ = c.AddScalar(*s.Tag, value, *s.Step)
	}
}

// header is the first row of a table.
var header = []string{"step", "tag", "value"}

func (c *Curves) readTable(r io.Reader) error {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = len(header)
	for number := 1; ; number++ {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF) && number > 1:
			return nil
		case err == nil && number == 1 && !slices.Equal(row, header):
			err = fmt.Errorf("the first row is %q", row)
		}
		if err == nil && number == 1 {
			continue
		}
		var step int
		var value float64
		if err == nil {
			step, err = strconv.Atoi(row[0])
		}
		if err == nil {
			value, err = strconv.ParseFloat(row[2], 64)
		}
		if err != nil {
			return fmt.Errorf("watch: row %d: %w; expected rows of %v below a row of these names", number, err, header)
		}
		_ = c.AddScalar(row[1], value, step)
	}
}
