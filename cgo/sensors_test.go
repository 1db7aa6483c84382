package cgo

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A management library that knows one card, in slot 00000000:3B:00.0.
const fakeNVML = `#include <string.h>
int nvmlInit_v2(void) { return 0; }
const char* nvmlErrorString(int e) { return e == 6 ? "Not Found" : "?"; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** d) { *d = (void*)1; return strcmp(bus, "00000000:3B:00.0") ? 6 : 0; }
int nvmlDeviceGetUtilizationRates(void* d, unsigned* r) { r[0] = 97; r[1] = 41; return 0; }
int nvmlDeviceGetTemperature(void* d, int sensor, unsigned* v) { *v = 55; return 0; }
int nvmlDeviceGetPowerUsage(void* d, unsigned* v) { *v = 312000; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(void* d, unsigned* v) { *v = 700000; return 0; }
int nvmlDeviceGetClockInfo(void* d, int which, unsigned* v) { *v = which == 1 ? 1980 : 3201; return 0; }
`

func TestSensors(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	old, ready := nvmlLibrary, nvmlReady
	defer func() { nvmlLibrary, nvmlReady = old, ready }()
	dir := t.TempDir()
	use := func(name, source string) {
		nvmlLibrary = filepath.Join(dir, name)
		nvmlReady = sync.OnceValue(func() error { return openNVML(nvmlLibrary) })
		if source == "" {
			return
		}
		cmd := exec.Command(compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", nvmlLibrary)
		cmd.Stdin = strings.NewReader(source)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	use("absent.so", "")
	_, err = ReadSensors("x")
	require.ErrorIs(t, err, ErrMissingLibrary)
	use("empty.so", "int nothing;")
	_, err = ReadSensors("x")
	require.ErrorContains(t, err, "nvmlInit_v2")
	use("ill.so", strings.Replace(fakeNVML, "Init_v2(void) { return 0;", "Init_v2(void) { return 6;", 1))
	_, err = ReadSensors("x")
	require.EqualError(t, err, "NVML: Not Found")
	use("well.so", fakeNVML)
	_, err = ReadSensors("x")
	require.EqualError(t, err, "NVML: Not Found")
	s, err := ReadSensors("00000000:3B:00.0")
	require.NoError(t, err)
	require.Equal(t, Sensors{97, 41, 55, 312000, 700000, 1980, 3201}, s)
}
