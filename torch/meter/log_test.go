package meter

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLogs(t *testing.T) {
	var lines, table strings.Builder
	logs := []Log{&jsonLines{&lines, func() time.Time { return time.Unix(0, 0) }}, NewCSV(&table)}
	loss, top1 := &Average{Name: "Loss"}, &Average{Name: "Acc,1"}
	p := NewProgress(io.Discard, "Epoch: [1]", 4, loss, top1)
	p.Every, p.Logs, p.Tag, p.First = 2, logs, "train/", 100
	for i := range 4 {
		loss.Update(float64(i), 1)
		top1.Update(math.Inf(1), 1)
		p.Step(1)
	}
	p.Summary()
	require.NoError(t, p.Err())
	require.Equal(t, `step,tag,value
102,train/Loss,1
102,"train/Acc,1",+Inf
104,train/Loss,3
104,"train/Acc,1",+Inf
104,train/Loss/mean,1.5
104,"train/Acc,1/mean",+Inf
`, table.String())
	require.Equal(t, `{"time":"1970-01-01T00:00:00Z","step":102,"tag":"train/Loss","value":1}
{"time":"1970-01-01T00:00:00Z","step":102,"tag":"train/Acc,1","value":"+Inf"}
`, strings.Join(strings.SplitAfter(lines.String(), "\n")[:2], ""))
}

type full struct{ writes int }

var errFull = errors.New("no space left")

func (f *full) Write([]byte) (int, error) { f.writes++; return 0, errFull }

// After an error nothing more is written, and the run goes on.
func TestLogsThatFail(t *testing.T) {
	for _, make := range []func(w io.Writer) Log{NewJSONLines, NewCSV} {
		disk := &full{}
		p := NewProgress(io.Discard, "", 3, &Average{Name: "a"}, &Average{Name: "b"})
		p.Every, p.Logs = 1, []Log{make(disk)}
		p.Step(1)
		p.Step(1)
		p.Summary()
		require.ErrorIs(t, p.Err(), errFull)
		require.Equal(t, 1, disk.writes)
	}
}
