package proc

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Usage is what the process takes at one moment.
type Usage struct {
	Resident, Peak int // bytes of memory: now, and at most since the start
	Address        int // bytes of address space
	Threads        int // of the operating system
	Files          int // open descriptors, without those by which the process is looked at (in its own folder of /proc)
}

// Self reads the usage of this process.
func Self() (Usage, error) {
	return Of(os.Getpid())
}

// Of reads the usage of a process.
func Of(pid int) (u Usage, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	for name, at := range map[string]*int{"VmRSS": &u.Resident, "VmHWM": &u.Peak, "VmSize": &u.Address} {
		if *at, err = number(text, name); err != nil {
			return u, err
		}
		*at <<= 10 // from kB
	}
	if u.Threads, err = number(text, "Threads"); err != nil {
		return u, err
	}
	u.Files, err = files(fmt.Sprintf("/proc/%d", pid))
	return u, err
}

// files counts the open descriptors of a process other than those that look at itself: the one that lists them, and that of a goroutine
// which happens to read how much memory the process has.
func files(process string) (n int, err error) {
	folder := process + "/fd"
	descriptors, err := os.ReadDir(folder)
	for _, d := range descriptors {
		target, gone := os.Readlink(folder + "/" + d.Name())
		if gone == nil && !strings.HasPrefix(target, process+"/") {
			n++
		}
	}
	return n, err
}

// tick is what Linux counts processor time in, on all its architectures.
const tick = time.Second / 100

// Busy is the processor time that a process has taken so far; 0 for one that is gone.
func Busy(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // a program's name may have blanks
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

// ResetPeak has the peak of a process begin anew at what it has now.
func ResetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// number is the value of one line of a status file.
func number(text []byte, name string) (n int, err error) {
	_, rest, found := bytes.Cut(text, []byte("\n"+name+":"))
	if !found {
		return 0, fmt.Errorf("the system does not tell %s", name)
	}
	_, err = fmt.Sscan(string(rest[:min(len(rest), 32)]), &n)
	return n, err
}

// Processor is the model of the CPU as the system names it.
func Processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	if found := regexp.MustCompile(`model name\s*: (.+)`).FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return runtime.GOARCH
}

// HasInstructions tells whether the CPU has instructions by their name in the system's list, "avx2"; true where there is no such list.
func HasInstructions(name string) bool {
	text, _ := os.ReadFile("/proc/cpuinfo")
	found := regexp.MustCompile(`(?m)^flags\s*: (.+)$`).FindSubmatch(text)
	return found == nil || slices.Contains(strings.Fields(string(found[1])), name)
}

// Kernel is the name and release of the operating system.
func Kernel() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(runtime.GOOS + " " + string(text))
}

// Machine is what the whole machine takes at one moment.
type Machine struct {
	Busy, Time time.Duration // of all processors since the start: at work, and in all
	Available  int           // bytes of memory that programs could still have
}

// ReadMachine reads what the machine takes.
func ReadMachine() (m Machine, err error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m, err
	}
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return m, err
	}
	return machine(stat, info)
}

// machine reads the first line of /proc/stat, which has the ticks of all processors: user, nice, system, idle, waiting for disks, two
// kinds of interrupts and what other machines took; and /proc/meminfo.
func machine(stat, info []byte) (m Machine, err error) {
	const kinds = 8 // what follows is part of user and nice
	const idle, waiting = 3, 4
	line, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(line)
	if len(fields) <= kinds || fields[0] != "cpu" {
		return m, fmt.Errorf("the system tells nothing of its processors: %q", line)
	}
	for i, field := range fields[1 : kinds+1] {
		n, err := strconv.Atoi(field)
		if err != nil {
			return m, fmt.Errorf("the system tells nothing of its processors: %w", err)
		}
		m.Time += time.Duration(n) * tick
		if i != idle && i != waiting {
			m.Busy += time.Duration(n) * tick
		}
	}
	m.Available, err = number(append([]byte("\n"), info...), "MemAvailable")
	m.Available <<= 10 // from kB
	return m, err
}
