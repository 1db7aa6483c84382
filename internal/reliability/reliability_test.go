package reliability

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listener is a testing.TB that keeps what it is told.
type listener struct {
	testing.TB
	attributes, errors []string
}

func (l *listener) Helper()                {}
func (l *listener) Attr(key, value string) { l.attributes = append(l.attributes, key+" "+value) }
func (l *listener) Errorf(format string, args ...any) {
	l.errors = append(l.errors, fmt.Sprintf(format, args...))
}

func TestFigures(t *testing.T) {
	cases := []struct {
		record func(t testing.TB)
		want   Figure
	}{
		{func(t testing.TB) { AtMost(t, "a", 3, 3) }, Figure{"a", "3", "≤ 3", false}},
		{func(t testing.TB) { AtMost(t, "a", 4, 3, "MB") }, Figure{"a", "4 MB", "≤ 3 MB", true}},
		{func(t testing.TB) { AtMost(t, "a", math.NaN(), 3) }, Figure{"a", "NaN", "≤ 3.00", true}},
		{func(t testing.TB) { AtLeast(t, "b", 1.5, 1.25) }, Figure{"b", "1.50", "≥ 1.25", false}},
		{func(t testing.TB) { AtLeast(t, "b", 1.2, 1.25) }, Figure{"b", "1.20", "≥ 1.25", true}},
		{func(t testing.TB) { Exactly(t, "c", int64(0), 0) }, Figure{"c", "0", "0", false}},
		{func(t testing.TB) { Exactly(t, "c", 1, 0) }, Figure{"c", "1", "0", true}},
		{func(t testing.TB) { Note(t, "d", 7, "threads") }, Figure{"d", "7 threads", "", false}},
	}
	for _, c := range cases {
		l := listener{}
		c.record(&l)
		line, err := json.Marshal(c.want)
		require.NoError(t, err)
		assert.Equal(t, []string{Attribute + " " + string(line)}, l.attributes)
		assert.Equal(t, c.want.Missed, len(l.errors) == 1, "%v", l.errors)
	}
}

func TestSize(t *testing.T) {
	t.Setenv(Variable, "")
	assert.Equal(t, 2, Size(5, 2))
	t.Setenv(Variable, "full")
	assert.Equal(t, 5, Size(5, 2))
}
