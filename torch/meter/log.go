package meter

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// A Log takes the figures of a run: a *tensorboard.Writer, [NewJSONLines], [NewCSV], or a type of the program's own.
type Log interface {
	// AddScalar adds a figure, with its name, at a step of the run.
	AddScalar(tag string, value float64, step int) error
}

// NewJSONLines is a [Log] that writes an object a line:
//
//	{"time":"2026-11-22T16:10:33.5Z","step":10,"tag":"Loss","value":2.13}
//
// What is not finite has the value "NaN", "+Inf" or "-Inf", since JSON has no numbers for it.
func NewJSONLines(w io.Writer) Log { return &jsonLines{w, time.Now} }

type jsonLines struct {
	w   io.Writer
	now func() time.Time
}

func (l *jsonLines) AddScalar(tag string, value float64, step int) error {
	var number any = value
	if math.IsNaN(value) || math.IsInf(value, 0) {
		number = strconv.FormatFloat(value, 'g', -1, 64)
	}
	line, err := json.Marshal(struct {
		Time  time.Time `json:"time"`
		Step  int       `json:"step"`
		Tag   string    `json:"tag"`
		Value any       `json:"value"`
	}{l.now().UTC(), step, tag, number})
	if err == nil {
		_, err = l.w.Write(append(line, '\n'))
	}
	return wrapped(err)
}

// NewCSV is a [Log] that writes a row of step, tag and value for every figure, below a row of these names.
func NewCSV(w io.Writer) Log { return &rows{w: csv.NewWriter(w)} }

type rows struct {
	w      *csv.Writer
	headed bool
}

func (l *rows) AddScalar(tag string, value float64, step int) error {
	if !l.headed {
		l.headed = true
		_ = l.w.Write([]string{"step", "tag", "value"}) // an error stays, and is Error's
	}
	_ = l.w.Write([]string{strconv.Itoa(step), tag, strconv.FormatFloat(value, 'g', -1, 64)})
	l.w.Flush()
	return wrapped(l.w.Error())
}

func wrapped(err error) error {
	if err != nil {
		return fmt.Errorf("meter: cannot log a figure: %w", err)
	}
	return nil
}

// log hands a figure of each average to the logs, until one of them fails.
func (p *Progress) log(figure func(a *Average) (suffix string, value float64)) {
	for _, l := range p.Logs {
		for _, a := range p.averages {
			suffix, value := figure(a)
			if p.failed == nil {
				p.failed = l.AddScalar(p.Tag+a.Name+suffix, value, p.First+p.Done)
			}
		}
	}
}

// Err is the first error of the Logs, which get nothing after it.
func (p *Progress) Err() error { return p.failed }
