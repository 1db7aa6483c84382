package watch

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

// figuresOf are all figures of a reading by their tags.
func figuresOf(t *testing.T, r Reading, step int) map[string]float64 {
	c := &Curves{}
	require.NoError(t, r.Log(c, step))
	all := map[string]float64{}
	for _, tag := range c.Tags() {
		points := c.Points(tag)
		require.Len(t, points, 1)
		require.Equal(t, step, points[0].Step)
		all[tag] = points[0].Value
	}
	return all
}

// What is read are the differences of the system's counters, and what NVIDIA's library says of each card.
func TestReadings(t *testing.T) {
	const second = time.Second
	moments := []moment{
		{proc.Machine{Busy: 100 * second, Time: 1000 * second, Available: 900 * mb}, 10 * second, 80 * mb},
		{proc.Machine{Busy: 116 * second, Time: 1020 * second, Available: 800 * mb}, 25 * second, 120 * mb},
		{proc.Machine{Busy: 116 * second, Time: 1020 * second, Available: 700 * mb}, 25 * second, 100 * mb}, // no tick since
	}
	next := 0
	s := &Sensors{
		devices: []torch.Device{torch.CPU, torch.CUDA(0), torch.CUDA(1)},
		before:  moments[0],
		now:     func() (moment, error) { next++; return moments[next], nil },
		card: func(device int) (Card, error) {
			if device == 1 {
				return Card{}, errors.New("NVML: GPU is lost")
			}
			return Card{torch.CUDA(device), cuda.Sensors{GPU: 97, Memory: 41, Temperature: 55, Power: 312_400, PowerLimit: 700_000, SMClock: 1980,
				MemClock: 3201}, 640 * mb}, nil
		},
	}
	r := s.Read()
	require.Equal(t, map[string]float64{
		"host/cpu_percent": 80, "host/process_percent": 75, "host/resident_mb": 120, "host/available_mb": 800,
		"cuda0/busy_percent": 97, "cuda0/memory_percent": 41, "cuda0/reserved_mb": 640,
		"cuda0/celsius": 55, "cuda0/watts": 312.4, "cuda0/mhz": 1980,
	}, figuresOf(t, r, 7))
	require.Equal(t, "host: CPU 80 %, this process 75 %, 120 MB resident, 800 MB available; "+
		"cuda:0: busy 97 %, memory busy 41 %, 640 MB reserved, 55 °C, 312 W, 1980 MHz", r.String())
	r = s.Read()
	require.Equal(t, Host{0, 0, 100 * mb, 700 * mb}, *r.Host)

	s.now = func() (moment, error) { return moment{}, errors.New("there is no /proc") }
	s.devices = nil
	require.Equal(t, Reading{}, s.Read())
	require.Contains(t, s.Read().String(), "no sensors on ")
	require.ErrorIs(t, r.Log(refusing{}, 0), errRefused)
}

func (refusing) AddScalar(string, float64, int) error { return errRefused }

// This machine has a host, and no more cards than CUDA shows.
func TestThisMachine(t *testing.T) {
	s := NewSensors()
	for began := time.Now(); time.Since(began) < 60*time.Millisecond; { // work for a few ticks
	}
	r := s.Read()
	require.NotNil(t, r.Host)
	require.Greater(t, r.Host.Resident, mb)
	require.Greater(t, r.Host.Available, mb)
	for _, percent := range []float64{r.Host.CPU, r.Host.Process} {
		require.GreaterOrEqual(t, percent, 0.0)
		require.LessOrEqual(t, percent, 101.0)
	}
	if cuda.IsAvailable() {
		require.Len(t, r.Cards, cuda.DeviceCount())
		require.Positive(t, r.Cards[0].Power)
		return
	}
	require.Empty(t, r.Cards)
	require.Empty(t, NewSensors(torch.CUDA(0), torch.CPU).Read().Cards, "a card that is not there has no figures, and is no error")
}
