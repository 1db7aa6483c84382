package cuda

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
)

// Properties describe a card.
type Properties struct {
	Name string // "NVIDIA H200"
	UUID string // as nvidia-smi -L has it, without its "GPU-"

	Major, Minor                int // compute capability
	TotalMemory                 int // bytes
	MultiProcessorCount         int
	WarpSize                    int
	MaxThreadsPerMultiProcessor int
	MaxThreadsPerBlock          int
	RegsPerMultiprocessor       int
	SharedMemoryPerBlock        int // bytes
	SharedMemoryPerBlockOptin   int // bytes, for kernels that ask for more
	SharedMemoryPerMultiproc    int // bytes
	L2CacheSize                 int // bytes
	MemoryBusWidth              int // bits
	ClockRate, MemoryClockRate  int // highest, kHz
	PCIDomain, PCIBus, PCISlot  int
	IsIntegrated, IsMultiGPU    bool
	ECC                         bool // memory errors are corrected
}

// DeviceProperties asks the driver about a device.
func DeviceProperties(device int) Properties {
	return readProperties(on(cgo.OpDeviceProperties, device).Words(0))
}

// readProperties takes the words in the order in which cgo/shim/cuda/device.cc writes them.
func readProperties(words []uint64) (p Properties) {
	const nameWords, uuidWords = 32, 2
	name, id, numbers := words[:nameWords], words[nameWords:nameWords+uuidWords], words[nameWords+uuidWords:]
	text, _, _ := bytes.Cut(bytesOf(name), []byte{0})
	p.Name = string(text)
	u := bytesOf(id)
	p.UUID = fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	for i, at := range []*int{
		&p.Major, &p.Minor, &p.TotalMemory, &p.MultiProcessorCount, &p.WarpSize, &p.MaxThreadsPerMultiProcessor, &p.MaxThreadsPerBlock,
		&p.RegsPerMultiprocessor, &p.SharedMemoryPerBlock, &p.SharedMemoryPerBlockOptin, &p.SharedMemoryPerMultiproc, &p.L2CacheSize,
		&p.MemoryBusWidth, &p.ClockRate, &p.MemoryClockRate, &p.PCIDomain, &p.PCIBus, &p.PCISlot,
	} {
		*at = int(numbers[i])
	}
	flags := numbers[len(numbers)-3:]
	p.IsIntegrated, p.IsMultiGPU, p.ECC = flags[0] != 0, flags[1] != 0, flags[2] != 0
	return p
}

func bytesOf(words []uint64) (list []byte) {
	for _, w := range words {
		list = binary.LittleEndian.AppendUint64(list, w)
	}
	return list
}

// DeviceName is the name of a device.
func DeviceName(device int) string { return DeviceProperties(device).Name }

// DeviceCapability is the compute capability of a device: 9, 0 for an H200.
func DeviceCapability(device int) (major, minor int) {
	p := DeviceProperties(device)
	return p.Major, p.Minor
}

// String is one line: name, capability, memory and multiprocessors.
func (p Properties) String() string {
	return fmt.Sprintf("%s (capability %d.%d, %d MB, %d multiprocessors)", p.Name, p.Major, p.Minor, p.TotalMemory>>20, p.MultiProcessorCount)
}

// slot is the card's place as the management library wants it.
func (p Properties) slot() string {
	return fmt.Sprintf("%08X:%02X:%02X.0", p.PCIDomain, p.PCIBus, p.PCISlot)
}

// Sensors are a card's readings at one moment: percent of the time in which kernels ran and
// in which memory was used, degrees Celsius, milliwatts, MHz.
type Sensors = cgo.Sensors

// ReadSensors asks NVIDIA's management library about a device. The library comes with the
// driver; if it is missing the error matches [ErrMissingLibrary], and if there is no
// device torch.ErrNoCUDA.
func ReadSensors(device int) (Sensors, error) {
	if err := cgo.NVMLError(); err != nil {
		return Sensors{}, fmt.Errorf("torch/cuda: %w", err)
	}
	var p Properties
	if err := torch.Try(func() { p = DeviceProperties(device) }); err != nil {
		return Sensors{}, err
	}
	s, err := cgo.ReadSensors(p.slot())
	if err != nil {
		return Sensors{}, fmt.Errorf("torch/cuda: device %d: %w", device, err)
	}
	return s, nil
}
