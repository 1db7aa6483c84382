package fuzz

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
)

// Finding is a call after which something was not as it has to be.
type Finding struct {
	Kind  string // crash, hang, panic, handles, bytes, modes, differs, varies
	Part  string
	Index uint64 // -1 where the call is of the corpus
	Case  string
	Text  string // what a reader wants to see of it
	Stage string
}

// reply is a line that a child writes.
type reply struct {
	Finding *Finding `json:",omitempty"`
	Outcome string   `json:",omitempty"`
	Text    string   `json:",omitempty"`
	Done    bool     `json:",omitempty"`
}

// child makes the calls, in a process of its own.
type child struct {
	seed    uint64
	parts   map[string]*part
	targets map[string]*target
	skip    map[string]bool
	only    *regexp.Regexp

	reported map[string]int // findings by target
	log      *log
	out      *json.Encoder
	modes    string
	alone    bool // guards are in vain: LIBTORCH_GO_GUARD is not set
}

// Limits of a child: what a call may take before it has to fail.
const (
	hostLimit    = 64 << 20
	addressLimit = 3 << 30 // on top of what the process has when it begins
)

// Serve is the life of a child: it obeys the lines of in until they end.
func Serve(in io.Reader, out io.Writer, logFile *os.File) error {
	l, err := newLog(logFile)
	if err != nil {
		return err
	}
	if err := torch.Load(); err != nil {
		return err
	}
	w := &child{log: l, out: json.NewEncoder(out), parts: map[string]*part{}, targets: map[string]*target{}, skip: map[string]bool{},
		reported: map[string]int{}}
	w.alone = cgo.PlaceBlocks(1) != nil
	torch.OnWarning(func(string) {})
	torch.SetNumThreads(1)
	torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{Hard: hostLimit, Soft: hostLimit})
	for _, p := range everything() {
		w.parts[p.name] = p
		for _, t := range p.targets {
			w.targets[t.name] = t
		}
	}
	if err := limitAddresses(); err != nil {
		return err
	}
	torch.Scope(func() { torch.Ones(2).SetRequiresGrad(true).Sum().Backward() }) // libtorch's own threads and caches
	w.modes = modes()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if err := w.obey(lines.Text()); err != nil {
			return err
		}
		if err := w.out.Encode(reply{Done: true}); err != nil {
			return err
		}
	}
	return lines.Err()
}

// limitAddresses has allocations fail that are legal and huge.
func limitAddresses() error {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	pages, err := strconv.ParseUint(strings.Fields(string(text))[0], 10, 64)
	if err != nil {
		return err
	}
	limit := pages*uint64(os.Getpagesize()) + addressLimit
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit})
}

// obey carries a line out:
//
//	seed N             of the numbered calls
//	skip TARGET        makes no more calls of it
//	only RE            makes calls of no other targets
//	run PART FROM TO   calls by their numbers
//	case INDEX CASE    one call, with the guard pages of that number
func (w *child) obey(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "seed":
		seed, err := strconv.ParseUint(rest, 10, 64)
		w.seed = seed
		return err
	case "skip":
		w.skip[rest] = true
		return nil
	case "only":
		only, err := regexp.Compile(rest)
		w.only = only
		return err
	case "run":
		var name string
		var from, to uint64
		if _, err := fmt.Sscan(rest, &name, &from, &to); err != nil {
			return err
		}
		p := w.parts[name]
		for i := from; i < to; i++ {
			if t := p.targetAt(i); w.skip[t.name] || w.only != nil && !w.only.MatchString(t.name) {
				continue
			}
			w.log.begin(i)
			t, c := p.caseAt(w.seed, i)
			w.check(t, c, Finding{Part: name, Index: i})
		}
		return nil
	case "case":
		index, text, _ := strings.Cut(rest, " ")
		number, _ := strconv.ParseUint(index, 10, 64)
		c, err := Parse(text)
		if err != nil {
			return fmt.Errorf("fuzz: %q is no case: %w", text, err)
		}
		t := w.targets[c.Target]
		if t == nil {
			return fmt.Errorf("fuzz: no function %q; testdata/corpus.txt has names of each kind", c.Target)
		}
		w.log.begin(0)
		o := w.check(t, c, Finding{Index: number})
		return w.out.Encode(reply{Outcome: o.kind, Text: o.text})
	}
	return fmt.Errorf("fuzz: a child does not know %q", line)
}

// seedOfCalls is what random numbers start from before every call.
const seedOfCalls = 7

// check makes a call between guard pages and again without, and looks at all that has to
// be as before.
func (w *child) check(t *target, c Case, f Finding) outcome {
	before := torch.Stats()
	placement := 1 + int(f.Index>>3%8)/3 // mostly at the end or the beginning
	if c.compressed() {
		placement = 2 // at the beginning
	}
	guarded := w.once(t, c, placement)
	w.log.stage(stageCheck)
	if guarded.kind == unfit || guarded.kind == uncooked {
		w.log.add(logSkipped)
		w.leftovers(t, c, f, before)
		return guarded
	}
	w.log.add(logDone)
	if guarded.kind == returned {
		w.log.add(logOK)
	}
	plain := w.once(t, c, 0)
	w.log.stage(stageCheck)
	switch {
	case guarded.kind == panicked:
		w.report(f, c, "panic", guarded.text+"\n"+guarded.where)
	case placement == 3 || t.random || w.alone:
	case guarded.kind != plain.kind:
		w.report(f, c, "differs", fmt.Sprintf("with guard pages: %s %s; without: %s %s", guarded.kind, guarded.text, plain.kind, plain.text))
	case guarded.hash != plain.hash:
		kind, again := "differs", w.once(t, c, 0)
		if again.hash != plain.hash {
			kind = "varies"
		}
		w.report(f, c, kind, fmt.Sprintf("results and gradients with guard pages %s, without %s, once more %s", guarded.where,
			plain.where, again.where))
	}
	w.leftovers(t, c, f, before)
	return guarded
}

func (w *child) once(t *target, c Case, placement int) outcome {
	torch.ManualSeed(seedOfCalls)
	if !w.alone {
		_ = cgo.PlaceBlocks(placement)
		defer cgo.PlaceBlocks(0)
	}
	return t.run(c, w.log)
}

// leftovers reports handles, bytes and modes that are not as before. What is made once and
// kept is no leak: a call has to leave more each time.
func (w *child) leftovers(t *target, c Case, f Finding, before torch.MemoryStats) {
	if now := modes(); now != w.modes {
		w.report(f, c, "modes", fmt.Sprintf("before %s, after %s", w.modes, now))
		os.Exit(modesChanged)
	}
	if !more(before, torch.Stats()) {
		return
	}
	torch.GC()
	first := torch.Stats()
	if !more(before, first) {
		return
	}
	last, grew := first, 0
	for range 3 {
		w.once(t, c, 0)
		torch.GC()
		now := torch.Stats()
		if more(last, now) {
			grew++
		}
		last = now
	}
	if grew < 3 {
		return
	}
	kind := "bytes"
	if last.Live() > first.Live() || last.Callbacks > first.Callbacks {
		kind = "handles"
	}
	w.report(f, c, kind, fmt.Sprintf("three more calls left %d handles, %d callbacks, %d bytes", last.Live()-first.Live(),
		last.Callbacks-first.Callbacks, last.HostBytes-first.HostBytes))
}

func more(before, now torch.MemoryStats) bool {
	return now.Live() > before.Live() || now.Callbacks > before.Callbacks || now.HostBytes > before.HostBytes
}

// modesChanged is the exit status of a child whose modes cannot be trusted any more.
const modesChanged = 3

func modes() (text string) {
	torch.Scope(func() {
		text = fmt.Sprint(torch.IsGradEnabled(), torch.IsInference(), torch.Autocasting(torch.CPU), torch.NumThreads(), torch.Empty(0).DType())
	})
	return text
}

// enough findings of one target: the next would say no more, and take time.
const enough = 8

func (w *child) report(f Finding, c Case, kind, text string) {
	if w.reported[c.Target]++; w.reported[c.Target] == enough {
		w.skip[c.Target] = true
	}
	f.Kind, f.Case, f.Text = kind, c.String(), text
	_ = w.out.Encode(reply{Finding: &f})
}
