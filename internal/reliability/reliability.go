package reliability

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// Variable says in the environment how large the suites are to be.
const Variable = "RELIABILITY"

// Size is the first number for the card and the second one for CI.
func Size[T any](full, short T) T {
	if os.Getenv(Variable) == "full" {
		return full
	}
	return short
}

// Attribute is the name of the test attribute that holds a [Figure] as JSON.
const Attribute = "figure"

// Figure is something that was measured.
type Figure struct {
	Name   string `json:"name"`
	Got    string `json:"got"`
	Bar    string `json:"bar,omitempty"` // empty for a figure without one
	Missed bool   `json:"missed,omitempty"`
}

// Event is the line with which go test -json would tell of the figure, for commands that
// measure without being tests.
func (f Figure) Event() string {
	value, _ := json.Marshal(f) // of texts alone
	line, _ := json.Marshal(map[string]string{"Action": "attr", "Key": Attribute, "Value": string(value)})
	return string(line)
}

// number is what can be measured.
type number interface {
	~int | ~int64 | ~float64
}

// AtMost writes a figure down and fails the test if it is above the bar. A unit is
// optional.
func AtMost[N number](t testing.TB, name string, got, bar N, unit ...string) {
	t.Helper()
	record(t, Figure{name, text(got, unit), "≤ " + text(bar, unit), !(got <= bar)})
}

// AtLeast writes a figure down and fails the test if it is below the bar.
func AtLeast[N number](t testing.TB, name string, got, bar N, unit ...string) {
	t.Helper()
	record(t, Figure{name, text(got, unit), "≥ " + text(bar, unit), !(got >= bar)})
}

// Exactly writes a figure down and fails the test if it is another than wanted.
func Exactly[N number](t testing.TB, name string, got, want N, unit ...string) {
	t.Helper()
	record(t, Figure{name, text(got, unit), text(want, unit), got != want})
}

// Note writes down a figure that has no bar.
func Note[N number](t testing.TB, name string, got N, unit ...string) {
	t.Helper()
	record(t, Figure{Name: name, Got: text(got, unit)})
}

func record(t testing.TB, f Figure) {
	t.Helper()
	line, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Attr(Attribute, string(line))
	if f.Missed {
		t.Errorf("%s: %s, where the bar is %s", f.Name, f.Got, f.Bar)
	}
}

func text[N number](v N, unit []string) string {
	s := fmt.Sprint(v)
	if f, ok := any(v).(float64); ok {
		s = strconv.FormatFloat(f, 'f', 2, 64)
	}
	for _, u := range unit {
		s += " " + u
	}
	return s
}
