package cgo

import (
	"errors"
	"fmt"
	"sync"
)

// nvmlReadings is how many numbers are read from the management library.
const nvmlReadings = 7

// Sensors are a card's readings at one moment.
type Sensors struct {
	GPU, Memory       int // percent of the recent time in which kernels ran, and in which memory was read or written
	Temperature       int // degrees Celsius
	Power, PowerLimit int // milliwatts
	SMClock, MemClock int // MHz
}

// nvmlLibrary is a variable for the tests.
var nvmlLibrary = "libnvidia-ml.so.1"

var nvmlReady = sync.OnceValue(func() error { return openNVML(nvmlLibrary) })

// ReadSensors asks NVIDIA's management library about the card in a PCI slot,
// "00000000:3B:00.0". The library comes with the driver; it is opened on the first call.
func ReadSensors(bus string) (Sensors, error) {
	if err := NVMLError(); err != nil {
		return Sensors{}, err
	}
	var v [nvmlReadings]uint32
	if status := readNVML(bus, &v); status != 0 {
		return Sensors{}, errors.New("NVML: " + nvmlText(status))
	}
	return Sensors{int(v[0]), int(v[1]), int(v[2]), int(v[3]), int(v[4]), int(v[5]), int(v[6])}, nil
}

// NVMLError says why the management library cannot be used, or nil.
func NVMLError() error {
	if err := nvmlReady(); err != nil {
		return fmt.Errorf("NVML: %w", err)
	}
	return nil
}
