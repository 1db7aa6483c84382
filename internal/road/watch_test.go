package road

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A watch measures how long a trip takes, how much of the processors it uses, how much others use meanwhile, and how fast the
// processors are: those of a virtual machine take twice as long for the same while a neighbour is at work, which nothing else tells.
type watch struct {
	start     time.Time
	own, busy float64 // seconds of processors until then: of this process and its children, of all processes
	pace      *pace
}

func newWatch() watch { return watch{time.Now(), ownSeconds(), busySeconds(), newPace()} }

func (w watch) wall() time.Duration { return time.Since(w.start) }

// alone tells whether others left this trip nearly all of the machine, so that its time says something.
func (w watch) alone() bool {
	const little = 0.1
	return w.others() < little*w.wall().Seconds()*float64(runtime.NumCPU())
}

func (w watch) others() float64 { return max(0, busySeconds()-w.busy-(ownSeconds()-w.own)) }

func (w watch) String() string {
	return fmt.Sprintf("all of it in %.0f s with %.0f s of processors, on %d cores of which other work took %.0f s, and which took "+
		"%.2f times as long for the same as those of the bar",
		w.wall().Seconds(), ownSeconds()-w.own, runtime.NumCPU(), w.others(), w.pace.factor())
}

// A pace is how long the processors take for always the same, every few seconds.
type pace struct {
	stop    chan struct{}
	stopped chan struct{}
	total   time.Duration
	samples int
}

func newPace() *pace {
	p := &pace{stop: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(p.stopped)
		for {
			p.total += sorting()
			p.samples++
			select {
			case <-p.stop:
				return
			case <-time.After(2 * time.Second):
			}
		}
	}()
	return p
}

// factor tells how many times as long it took as where the bar was set, or 1 where it took less.
func (p *pace) factor() float64 {
	if p.samples == 0 || p.total == 0 {
		return 1
	}
	return max(1, (p.total/time.Duration(p.samples)).Seconds()/barSeconds)
}

func (p *pace) end() {
	close(p.stop)
	<-p.stopped
}

// sorting is how much of a thread's time it takes to sort always the same numbers: like compilers it branches, and reads what lies near.
func sorting() time.Duration {
	random := rand.New(rand.NewPCG(1, 2))
	numbers := make([]uint64, 1<<18)
	for i := range numbers {
		numbers[i] = random.Uint64()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	slices.Sort(numbers)
	return threadTime() - before
}

// threadTime is how long the thread has run, of which Linux tells; 0 elsewhere.
func threadTime() time.Duration {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	ran, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseInt(ran, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n)
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
