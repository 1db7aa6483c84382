package road

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
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
		"%.2f s to compile always the same (the bar's: %.1f s)",
		w.wall().Seconds(), ownSeconds()-w.own, runtime.NumCPU(), w.others(), w.pace.each(), barSeconds)
}

// A pace is how much of the processors' time the compiler takes for always the same, now and then while the trip goes on.
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
			if took := compiling(); took > 0 {
				p.total += took
				p.samples++
			}
			select {
			case <-p.stop:
				return
			case <-time.After(45 * time.Second):
			}
		}
	}()
	return p
}

// factor tells how many times as long it took as where the bar was set, or 1 where it took less.
func (p *pace) factor() float64 { return max(1, p.each()/barSeconds) }

func (p *pace) each() float64 {
	if p.samples == 0 {
		return 0
	}
	return p.total.Seconds() / float64(p.samples)
}

func (p *pace) end() {
	close(p.stop)
	<-p.stopped
}

// compiling is how long the compiler takes for some lines: it is what most of the road's time is spent with. 0 where it fails, of which
// the trip itself tells more.
func compiling() time.Duration {
	compiler := os.Getenv("CXX")
	if compiler == "" {
		compiler = "c++"
	}
	cmd := exec.Command(compiler, "-std=c++20", "-O2", "-x", "c++", "-c", "-o", os.DevNull, "-")
	cmd.Stdin = strings.NewReader(someLines)
	if cmd.Run() != nil {
		return 0
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

const someLines = `#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

int main() {
	std::map<std::string, std::vector<std::string>> found;
	for (std::string line; std::getline(std::cin, line);) {
		found[line.substr(0, line.find(' '))].push_back(line);
	}
	for (auto& [name, lines] : found) {
		std::stable_sort(lines.begin(), lines.end());
		std::cout << name << ' ' << lines.size() << '\n';
	}
}
`

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
