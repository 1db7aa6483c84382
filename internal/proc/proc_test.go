package proc

import (
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSelf(t *testing.T) {
	before, err := Self()
	require.NoError(t, err)
	assert.Greater(t, before.Resident, 1<<20)
	assert.GreaterOrEqual(t, before.Peak, before.Resident)
	assert.GreaterOrEqual(t, before.Address, before.Resident)
	assert.Positive(t, before.Threads)

	const more = 64 << 20
	block := make([]byte, more)
	for i := range block {
		block[i] = 1
	}
	file, err := os.Open(os.DevNull)
	require.NoError(t, err)
	self, err := os.Open("/proc/self/statm")
	require.NoError(t, err)
	after, err := Self()
	require.NoError(t, err)
	require.NoError(t, self.Close())
	assert.GreaterOrEqual(t, after.Resident, before.Resident+more/2)
	assert.Equal(t, before.Files+1, after.Files)
	require.NoError(t, file.Close())
	assert.EqualValues(t, 1, block[more-1])
	debug.FreeOSMemory()
	require.NoError(t, ResetPeak(os.Getpid()))
	again, err := Self()
	require.NoError(t, err)
	assert.Less(t, again.Peak, after.Peak)
}

func TestNumber(t *testing.T) {
	text := []byte("Name:\tx\nVmRSS:\t  12 kB\n")
	n, err := number(text, "VmRSS")
	require.NoError(t, err)
	assert.Equal(t, 12, n)
	_, err = number(text, "Rss")
	assert.ErrorContains(t, err, "does not tell Rss")
}

func TestMachine(t *testing.T) {
	assert.NotEmpty(t, Processor())
	assert.Contains(t, Kernel(), "linux ")
	now, err := ReadMachine()
	require.NoError(t, err)
	assert.Positive(t, now.Busy)
	assert.Less(t, now.Busy, now.Time)
	assert.Greater(t, now.Available, 1<<20)
}

func TestMachineOfFiles(t *testing.T) {
	const stat, info = "cpu  100 20 30 400 50 6 7 8 90 0\ncpu0 1 2 3\n", "MemTotal: 9 kB\nMemAvailable:    5 kB\n"
	got, err := machine([]byte(stat), []byte(info))
	require.NoError(t, err)
	assert.Equal(t, Machine{Busy: 171 * tick, Time: 621 * tick, Available: 5 << 10}, got)
	for want, files := range map[string][2]string{
		`its processors: "intr 5"`:   {"intr 5\n", info},
		"its processors: strconv":    {"cpu 1 2 3 4 5 6 7 x\n", info},
		"does not tell MemAvailable": {stat, "MemTotal: 9 kB\n"},
	} {
		_, err := machine([]byte(files[0]), []byte(files[1]))
		assert.ErrorContains(t, err, want)
	}
}

func TestBusy(t *testing.T) {
	before := Busy(os.Getpid())
	for began := time.Now(); Busy(os.Getpid()) == before; {
		require.Less(t, time.Since(began), time.Minute)
	}
	assert.Zero(t, Busy(-1))
}
