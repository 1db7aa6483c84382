package road

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A watch measures how long a trip takes, how much of the processors it uses, and how much others use meanwhile.
type watch struct {
	start     time.Time
	own, busy float64 // seconds of processors until then: of this process and its children, of all processes
}

func newWatch() watch { return watch{time.Now(), ownSeconds(), busySeconds()} }

func (w watch) wall() time.Duration { return time.Since(w.start) }

// alone tells whether others left this trip nearly all of the machine, so that its time says something.
func (w watch) alone() bool {
	const little = 0.1
	return w.others() < little*w.wall().Seconds()*float64(runtime.NumCPU())
}

func (w watch) others() float64 { return max(0, busySeconds()-w.busy-(ownSeconds()-w.own)) }

func (w watch) String() string {
	return fmt.Sprintf("all of it in %.0f s with %.0f s of processors, on %d cores of which other work took %.0f s",
		w.wall().Seconds(), ownSeconds()-w.own, runtime.NumCPU(), w.others())
}

// ownSeconds is what this process and its children that have ended have used.
func ownSeconds() (total float64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			total += time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
		}
	}
	return total
}

// busySeconds is what all processes have used since the machine started; 0 where nobody tells.
func busySeconds() (total float64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	const perSecond, user, system = 100, 1, 3
	for i, field := range strings.Fields(line) {
		if ticks, err := strconv.ParseFloat(field, 64); err == nil && i >= user && i <= system {
			total += ticks / perSecond
		}
	}
	return total
}
