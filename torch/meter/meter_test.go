package meter

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestNumbersAreSpeltAsInPython(t *testing.T) {
	values := []float64{0.05, 2.30258509, -1.5, 1234567.891, math.NaN(), math.Inf(1), math.Inf(-1), 0}
	for format, want := range map[string][]string{
		"%6.3f": {" 0.050", " 2.303", "-1.500", "1234567.891", "   nan", "   inf", "  -inf", " 0.000"},
		"%.4e":  {"5.0000e-02", "2.3026e+00", "-1.5000e+00", "1.2346e+06", "nan", "inf", "-inf", "0.0000e+00"},
		"%6.2f": {"  0.05", "  2.30", " -1.50", "1234567.89", "   nan", "   inf", "  -inf", "  0.00"},
		"%.3f":  {"0.050", "2.303", "-1.500", "1234567.891", "nan", "inf", "-inf", "0.000"},
	} {
		for i, v := range values {
			require.Equal(t, want[i], number(format, v), "%s of %v", format, v)
		}
	}
}

func TestAverage(t *testing.T) {
	m := &Average{Name: "Acc@1", Format: "%6.2f"}
	require.Equal(t, "Acc@1   0.00 (  0.00)", m.String())
	m.Update(50, 32)
	m.Update(75, 32)
	m.Update(100, 16)
	require.Equal(t, 80, m.Count())
	require.Equal(t, 5600.0, m.Sum())
	require.Equal(t, 70.0, m.Avg())
	require.Equal(t, 100.0, m.Val())
	require.Equal(t, "Acc@1 100.00 ( 70.00)", m.String())
	m.Reset()
	require.Equal(t, "Acc@1   0.00 (  0.00)", m.String())
}

func TestAddTensors(t *testing.T) {
	torchtest.NoLeaks(t)
	torchtest.EachDevice(t, func(t *testing.T, d torch.Device) {
		m, want := &Average{Name: "Loss"}, &Average{Name: "Loss"}
		for i := range 2*patience + 10 {
			v := 1 / float64(i+1)
			torch.Scope(func() { m.Add(torch.FromSlice([]float64{v}, 1, 1).To(d).SetRequiresGrad(true), 1+i%3) })
			want.Update(v, 1+i%3)
		}
		require.Len(t, m.pending, 10)
		require.Equal(t, want.String(), m.String())
		require.Equal(t, want.Avg(), m.Avg())
		require.Empty(t, m.pending)

		one := torch.FromValue(float32(3))
		defer one.Close()
		m.Add(one, 1)
		m.Update(4, 1) // the order of the values is kept
		require.Equal(t, 4.0, m.Val())
		m.Add(one, 1)
		m.Reset()
		require.Zero(t, m.Count())

		// Closing keeps the figures, and frees what they came in.
		m.Add(one, 1)
		NewProgress(&bytes.Buffer{}, "", 1, m).Close()
		require.Empty(t, m.pending)
		require.Equal(t, 3.0, m.Val())
		torch.Scope(func() {
			loss := torch.Ones(1)
			m.Add(loss, 1)
			loss.FillInPlace(7) // as the next replay of a graph does
		})
		require.Equal(t, 1.0, m.Val())

		pair := torch.FromSlice([]float32{1, 2})
		defer pair.Close()
		require.ErrorContains(t, torch.Try(func() { m.Add(pair, 1) }), "Loss: a tensor of shape [2] where one element is expected")
	})
}

// run simulates an epoch of 196 batches of 32 images, 50 ms each, and prints each tenth
// of the first thirty.
func run(out *bytes.Buffer, live bool) {
	clock := time.Unix(1_700_000_000, 0)
	took := &Average{Name: "Time", Format: "%6.3f"}
	data := &Average{Name: "Data", Format: "%6.3f"}
	losses := &Average{Name: "Loss"}
	top1 := &Average{Name: "Acc@1", Format: "%6.2f", Summary: true}
	top5 := &Average{Name: "Acc@5", Format: "%6.2f", Summary: true}
	p := NewProgress(out, "Epoch: [0]", 196, took, data, losses, top1, top5)
	p.live, p.now, p.start = live, func() time.Time { return clock }, clock
	for i := 1; i <= 30; i++ {
		clock = clock.Add(50 * time.Millisecond)
		took.Update(.05+float64(i%2)*.01, 1)
		data.Update(.001*float64(i%3), 1)
		losses.Update(2.5-.01*float64(i), 32)
		top1.Update(float64(i), 32)
		top5.Update(50+float64(i), 32)
		p.Step(32)
	}
	p.Summary()
}

func TestProgressGolden(t *testing.T) {
	for name, live := range map[string]bool{"plain.golden": false, "terminal.golden": true} {
		var out bytes.Buffer
		run(&out, live)
		want, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		require.Equal(t, string(want), out.String(), name)
	}
}

func TestBarFitsTheScreen(t *testing.T) {
	for _, scene := range []struct {
		batches, batch int
		elapsed        time.Duration
		prefix, want   string
	}{
		{196, 98, time.Minute, "Epoch: [0]", "Epoch: [0]  50% |████████████············| 98/196 52 img/s ETA 1:00"},
		{196, 196, time.Minute, "Test: ", "Test:  100% |████████████████████████| 196/196 105 img/s ETA 0:00"},
		{100, 1, 75 * time.Second, "Test: ", "Test:    1% |························| 1/100 0 img/s ETA 2:03:45"},
		{0, 0, time.Second, "Test: ", "Test:    0% |························| 0/0"},
		{10, 20, time.Second, "Test: ", "Test:  100% |████████████████████████| 20/10 640 img/s ETA 0:00"},
	} {
		p := NewProgress(&bytes.Buffer{}, scene.prefix, scene.batches)
		p.Done, p.steps, p.samples = scene.batch, scene.batch, 32*scene.batch
		require.Equal(t, scene.want, p.barAfter(scene.elapsed))
	}
	p := NewProgress(&bytes.Buffer{}, strings.Repeat("long", 30), 10)
	require.Len(t, []rune(p.barAfter(time.Second)), 79)
}

func TestNoBarWithoutATerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer file.Close()
	p := NewProgress(file, "Test: ", 2)
	p.Step(32)
	p.Step(32)
	p.Close()
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	require.Equal(t, "Test: [2/2]\n", string(text))
}

// A run that goes on counts from where it stopped, and judges its speed by what it did itself.
func TestGoesOn(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out, "Epoch: [1]", 100)
	p.Done, p.Every, p.Unit = 49, 50, "char"
	p.Step(32)
	require.Equal(t, "Epoch: [1][ 50/100]\n", out.String())
	require.Equal(t, "Epoch: [1]  50% |████████████············| 50/100 32 char/s ETA 0:50", p.barAfter(time.Second))
	p.Every = -1
	for range 50 {
		p.Step(32)
	}
	require.Equal(t, "Epoch: [1][ 50/100]\n", out.String(), "no lines")
}
