package watch

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/meter"
)

// Sensors tell what the machine does. They may not be used from two goroutines at once.
type Sensors struct {
	devices []torch.Device
	before  moment

	now  func() (moment, error)
	card func(device int) (Card, error)
}

// A moment is what the counters of the machine and of the process stand at.
type moment struct {
	machine  proc.Machine
	process  time.Duration // of processors
	resident int
}

// NewSensors makes sensors of the host and of some cards; without devices, of all cards that CUDA shows. Other devices are left out.
func NewSensors(devices ...torch.Device) *Sensors {
	s := &Sensors{devices: devices, now: readHost, card: readCard}
	if len(devices) == 0 {
		for i := range cuda.DeviceCount() {
			s.devices = append(s.devices, torch.CUDA(i))
		}
	}
	s.before, _ = s.now() // a system that tells nothing has no host in its readings
	return s
}

// Reading is what the sensors say at one moment.
type Reading struct {
	Host  *Host // nil where the system does not tell: Linux does
	Cards []Card
}

// Host is the part of a reading that is the machine without its cards.
type Host struct {
	CPU       float64 // percent of the time of all processors since the last reading that was spent working
	Process   float64 // … and working for this process
	Resident  int     // bytes of memory that this process takes
	Available int     // bytes of memory that programs could still have
}

// Card is the part of a reading that is one card.
type Card struct {
	Device torch.Device
	cuda.Sensors
	Reserved int64 // bytes that libtorch's allocator holds
}

// Read reads all sensors. What cannot be read, such as a card without NVIDIA's management library, is not in the reading.
func (s *Sensors) Read() (r Reading) {
	if now, err := s.now(); err == nil {
		r.Host = &Host{Resident: now.resident, Available: now.machine.Available}
		if all := now.machine.Time - s.before.machine.Time; all > 0 {
			r.Host.CPU = 100 * float64(now.machine.Busy-s.before.machine.Busy) / float64(all)
			r.Host.Process = 100 * float64(now.process-s.before.process) / float64(all)
		}
		s.before = now
	}
	for _, d := range s.devices {
		if !d.IsCUDA() {
			continue
		}
		if card, err := s.card(max(0, d.Index())); err == nil {
			r.Cards = append(r.Cards, card)
		}
	}
	return r
}

// readHost reads the counters of the host.
func readHost() (m moment, err error) {
	if m.machine, err = proc.ReadMachine(); err != nil {
		return m, err
	}
	usage, err := proc.Self()
	m.process, m.resident = proc.Busy(os.Getpid()), usage.Resident
	return m, err
}

func readCard(device int) (c Card, err error) {
	c.Device = torch.CUDA(device)
	if c.Sensors, err = cuda.ReadSensors(device); err != nil {
		return c, err
	}
	return c, torch.Try(func() { c.Reserved = cuda.Memory(device).Reserved })
}

const mb = 1 << 20

// figure is one number of a reading: its tag, and how it reads in a line.
type figure struct {
	tag    string
	value  float64
	format string
}

func (h *Host) figures() []figure {
	return []figure{
		{"host/cpu_percent", h.CPU, "CPU %.0f %%"},
		{"host/process_percent", h.Process, "this process %.0f %%"},
		{"host/resident_mb", float64(h.Resident) / mb, "%.0f MB resident"},
		{"host/available_mb", float64(h.Available) / mb, "%.0f MB available"},
	}
}

func (c Card) figures() []figure {
	box := fmt.Sprintf("cuda%d/", c.Device.Index())
	return []figure{
		{box + "busy_percent", float64(c.GPU), "busy %.0f %%"},
		{box + "memory_percent", float64(c.Memory), "memory busy %.0f %%"},
		{box + "reserved_mb", float64(c.Reserved) / mb, "%.0f MB reserved"},
		{box + "celsius", float64(c.Temperature), "%.0f °C"},
		{box + "watts", float64(c.Power) / 1000, "%.0f W"},
		{box + "mhz", float64(c.SMClock), "%.0f MHz"},
	}
}

func (r Reading) figures() (list []figure) {
	if r.Host != nil {
		list = r.Host.figures()
	}
	for _, c := range r.Cards {
		list = append(list, c.figures()...)
	}
	return list
}

// Log hands all figures of a reading to a log, under tags such as "host/cpu_percent" and "cuda0/watts", until that fails.
func (r Reading) Log(to meter.Log, step int) error {
	for _, f := range r.figures() {
		if err := to.AddScalar(f.tag, f.value, step); err != nil {
			return err
		}
	}
	return nil
}

// String is a line: "host: CPU 97 %, this process 94 %, 1210 MB resident, 20480 MB available; cuda:0: busy 99 %, …".
func (r Reading) String() string {
	var parts []string
	part := func(name string, list []figure) {
		texts := make([]string, len(list))
		for i, f := range list {
			texts[i] = fmt.Sprintf(f.format, f.value)
		}
		parts = append(parts, name+": "+strings.Join(texts, ", "))
	}
	if r.Host != nil {
		part("host", r.Host.figures())
	}
	for _, c := range r.Cards {
		part(c.Device.String(), c.figures())
	}
	if len(parts) == 0 {
		return "no sensors on " + runtime.GOOS
	}
	return strings.Join(parts, "; ")
}
