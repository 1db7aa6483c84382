package watch

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
)

// all are the texts of a run's files, by the names of those that have fixed ones.
func all(t *testing.T, dir string) (events []string, lines, svg string) {
	events, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, scalarsFile))
	require.NoError(t, err)
	drawn, err := os.ReadFile(filepath.Join(dir, curvesFile))
	require.NoError(t, err)
	return events, string(text), string(drawn)
}

func TestRunGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "first")
	r, err := Open(dir, Options{NoSensors: true})
	require.NoError(t, err)
	for step := range 4 {
		require.NoError(t, r.AddScalar("train/loss", float64(step), step))
	}
	reading, err := r.Sense(4)
	require.NoError(t, err)
	require.Equal(t, Reading{}, reading)
	require.NoError(t, r.TensorBoard().AddText("note", "words", 0))
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	_, lines, _ := all(t, dir)
	require.Equal(t, 4, strings.Count(lines, "\n"))

	// It was killed while it wrote a line, and goes on at the step of its checkpoint.
	require.NoError(t, os.WriteFile(filepath.Join(dir, scalarsFile), []byte(lines+`{"time":"20`), 0o644))
	r, err = Open(dir, Options{NoSensors: true})
	require.NoError(t, err)
	require.NoError(t, r.AddScalar("train/loss", 20, 2))
	require.NoError(t, r.Close())
	events, lines, svg := all(t, dir)
	require.Len(t, events, 2)
	require.Equal(t, 5, strings.Count(lines, "\n"))
	require.NotContains(t, lines, `{"time":"20{`)
	var d drawing
	require.NoError(t, xml.Unmarshal([]byte(svg), &d))
	require.Equal(t, []string{"first"}, d.Legend)
	require.Len(t, places(t, d.Charts[0].Paths[0].D)[0], 3)
	c, err := LoadCurves(dir)
	require.NoError(t, err)
	require.Equal(t, []Point{{0, 0}, {1, 1}, {2, 20}}, c.Points("train/loss"))
}

// Sensors are read every ten seconds beside the figures, and curves drawn once a minute.
func TestRunWatchesTheMachine(t *testing.T) {
	dir := t.TempDir()
	r, err := Open(dir, Options{Devices: []torch.Device{torch.CPU}})
	require.NoError(t, err)
	clock := r.now()
	r.now = func() time.Time { return clock }
	for step := range 26 { // 3 s each
		clock = clock.Add(3 * time.Second)
		require.NoError(t, r.AddScalar("loss", 1, step))
		_, err := os.Stat(filepath.Join(dir, curvesFile))
		require.Equal(t, step >= 19, err == nil, step)
	}
	steps := func() (list []int) {
		for _, point := range r.curves.Points("host/resident_mb") {
			list = append(list, point.Step)
		}
		return list
	}
	require.Equal(t, []int{3, 7, 11, 15, 19, 23}, steps())
	reading, err := r.Sense(26)
	require.NoError(t, err)
	require.NotNil(t, reading.Host)
	require.Equal(t, []int{3, 7, 11, 15, 19, 23, 26}, steps())
	require.NoError(t, r.Close())
	events, lines, svg := all(t, dir)
	require.Equal(t, 7, strings.Count(lines, `"tag":"host/cpu_percent"`))
	require.Contains(t, svg, ">host/available_mb</text>")
	text, err := os.ReadFile(events[0])
	require.NoError(t, err)
	require.Equal(t, 7, strings.Count(string(text), "host/cpu_percent"))
}

func TestRunFails(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(filepath.Join(os.Args[0], "under a file"))
	require.ErrorContains(t, err, "cannot make the folder of a run")
	require.NoError(t, os.WriteFile(filepath.Join(dir, scalarsFile), []byte("something else\n"), 0o644))
	_, err = Open(dir)
	require.ErrorContains(t, err, "watch: cannot begin "+filepath.Join(dir, scalarsFile)+": watch: row 1")
	blocked := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(blocked, scalarsFile), 0o755))
	_, err = Open(blocked)
	require.ErrorContains(t, err, "is a directory")

	r, err := Open(t.TempDir(), Options{NoSensors: true})
	require.NoError(t, err)
	require.NoError(t, r.Close())
	failed := r.AddScalar("x", 1, 0)
	require.ErrorContains(t, failed, "watch: cannot write to the run's folder: ")
	require.ErrorIs(t, failed, os.ErrClosed)
	_, err = r.Sense(0)
	require.Equal(t, failed, err, "the first error stays")
	require.Equal(t, failed, r.Close())
	r, err = Open(t.TempDir(), Options{NoSensors: true})
	require.NoError(t, err)
	require.ErrorContains(t, r.AddScalar("", 1, 0), "the tag is empty")
	require.ErrorContains(t, r.Close(), "the tag is empty")
}

func TestRunIsShared(t *testing.T) {
	dir := t.TempDir()
	r, err := Open(dir)
	require.NoError(t, err)
	var group sync.WaitGroup
	for _, tag := range []string{"a", "b", "c"} {
		group.Go(func() {
			for step := range 50 {
				if err := r.AddScalar(tag, 1, step); err != nil {
					panic(err)
				}
			}
		})
	}
	group.Wait()
	require.NoError(t, r.Close())
	c, err := LoadCurves(dir)
	require.NoError(t, err)
	require.Len(t, c.Points("b"), 50)
}
