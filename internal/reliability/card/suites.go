package main

import (
	"regexp"
	"slices"
	"strings"
)

// suite is one row of the card.
type suite struct {
	name, title string
	what        string         // for the reader of the card
	env         []string       // beside that of all
	flags       []string       // of go test; -exec has what is for the test alone, not for the compiler
	packages    []string       // paths in the module
	tests       string         // go test's -run
	without     string         // go test's -skip
	reports     *regexp.Regexp // lines of the output that are counted, and have to be none
	command     []string       // in place of go test
}

const (
	service = "./internal/reliability/service"
	leaks   = "./internal/reliability/leaks"
	library = "./torch/...,./amp,./vision/..." // where exported functions are
	profile = "third_party/obj/leaks.cover"
)

var concurrent = []string{"./cgo", "./torch", "./torch/data", "./amp"}

// watched are tests that measure memory: they mean nothing where a tool keeps records of
// its own, and some cannot run there at all.
const watched = "ConstantMemory|OutOfMemory|DroppedTensors|ShareLanes|MultiplyThreads|FreedMemory|SpareMemory"

var crash = regexp.MustCompile(`(?m)^(fatal error: .*|SIG[A-Z]+: .*|panic: .*)$`)

var suites = []suite{
	{
		name: "leaks", title: "Every exported function again and again",
		what:  "In a scope, and without one; after it, open tensors and bytes of host memory have come back exactly.",
		flags: []string{"-covermode=atomic", "-coverpkg=" + library, "-coverprofile=" + profile}, packages: []string{leaks}, without: "Exported",
	},
	{
		name: "exported", title: "That every exported function is among them",
		what: "By the profile of the suite before. What it did not call, or not often enough, is listed in exceptions.txt with the reason.",
		env:  []string{"LEAKS_PROFILE=$PWD/" + profile}, packages: []string{leaks}, tests: "Exported",
	},
	{
		name: "memory", title: "Memory without Close, constant memory in training, memory that is refused",
		what: "20,000 tensors of 4 MB that are only forgotten; training with and without scopes; 1,000 allocations refused under " +
			"RLIMIT_AS, with training in between.",
		packages: []string{"./torch"}, tests: "ConstantMemory|OutOfMemory|DroppedTensors",
	},
	{
		name: "footprint", title: "Peak memory of ResNet-50, beside Python's",
		what:     "Each in a process of its own, on the same libtorch, with the same batch.",
		packages: []string{service}, tests: "ResNet50",
	},
	{
		name: "modes", title: "Modes of goroutines that change threads",
		what:     "64 goroutines enter gradient, inference, autocast and device modes and yield, 2,000 times each; panics and exits inside.",
		packages: []string{"./torch", service}, tests: "Mode|Autocast",
	},
	{
		name: "serving", title: "A thousand callers of one network",
		what:     "20 calls each on a network with batch normalization, a tenth of them given up by their context.",
		packages: []string{service, "./torch"}, tests: "Thousand|ShareLanes|MultiplyThreads",
	},
	{
		name: "ends", title: "Every way to end",
		what: "Return, os.Exit, a panic, SIGINT, SIGTERM, and SIGTERM with a checkpoint, each with live tensors and goroutines in " +
			"libtorch; programs started while training; a CPU profile at 500 Hz; the handlers of signals.",
		packages: []string{service}, tests: "Ends|Programs|Profile|Signal",
	},
	{
		name: "soak", title: "Training and serving at the same time",
		what:     "One process trains a network and four clients ask another one.",
		packages: []string{service}, tests: "Soak",
	},
	{
		name: "race", title: "The race detector",
		what:  "Packages where goroutines meet.",
		flags: []string{"-race", "-short"}, packages: slices.Concat(concurrent, []string{"./torch/nn"}),
		reports: regexp.MustCompile(`(?m)^WARNING: DATA RACE$`),
	},
	{
		name: "cgocheck", title: "cgo's checks of pointers",
		what: "GOEXPERIMENT=cgocheck2: every write of a Go pointer to memory of C's is seen.",
		env:  []string{"GOEXPERIMENT=cgocheck2"}, flags: []string{"-short"}, packages: concurrent,
		reports: crash,
	},
	{
		name: "finalizers", title: "The runtime's checks of finalizers",
		what:  "GODEBUG=checkfinalizers=1: a finalizer that keeps its own object alive ends the process.",
		flags: []string{"-short", "-exec=env GODEBUG=checkfinalizers=1"}, packages: concurrent,
		without: watched, reports: crash,
	},
	{
		name: "stress", title: "A garbage collector that never rests, and goroutines that stay behind",
		what:  "GOGC=1, and a goroutine that does nothing but collect garbage; at the end of each package goleak looks for goroutines.",
		flags: []string{"-short", "-tags=stress", "-exec=env GOGC=1"}, packages: concurrent,
		without: watched + "|SoftLimit", reports: crash, // which counts collections for want of memory: there may be nothing left for them
	},
	{
		name: "fuzz", title: "Calls that nobody would write",
		what: "Arguments of PyTorch's test database, changed by chance: every dtype, layout and shape, extreme numbers, closed and " +
			"undefined tensors, " +
			"with the backward pass. Each call is made between guard pages and again without, in a process that may die.",
		command: []string{"go", "run", "./internal/fuzz/cmd", "-figures"},
	},
	{
		name: "first", title: "Every exported function as the first call of a process",
		what:     "With zero values as arguments, where libtorch is there and where it is not.",
		packages: []string{"./internal/reliability/first"},
	},
	{
		name: "hostile", title: "Files and state dicts that lie",
		what:     "Each is taken as a whole or refused as a whole, and nothing is left of it.",
		packages: []string{"./torch/safetensors", "./torch/nn", "./torch/optim"}, tests: "Hostile",
	},
	{
		name: "layouts", title: "Every optimizer, whatever its tensors look like",
		what: "Strided, transposed, expanded, overlapping, complex, sparse, mixed and empty parameters and gradients, in other layouts from " +
			"one step to the next: the bits of Python's default after ten steps.",
		packages: []string{"./torch/optim"}, tests: "LayoutsEqualPython",
	},
	{
		name: "asan", title: "AddressSanitizer and LeakSanitizer, with the shim instrumented",
		what: "Go and the C++ of the shim are instrumented, libtorch is as it comes. UndefinedBehaviorSanitizer looks at the shim " +
			"as well. Nothing is suppressed.",
		env: []string{
			"LIBTORCH_GO_HOME=$PWD/third_party/asan", "CGO_LDFLAGS=-Wl,--no-as-needed -lstdc++",
			"ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1",
		},
		flags: []string{"-asan", "-short"}, packages: []string{"./cgo", "./torch", "./torch/nn"}, without: watched + "|Allocate",
		reports: regexp.MustCompile(`ERROR: (Address|Leak)Sanitizer|: runtime error: |^SIGILL: `),
	},
}

// comparison is the suite that takes another checkout.
func comparison(before string) []suite {
	if before == "" {
		return nil
	}
	return []suite{{
		name: "cost", title: "What an operator costs, before and after",
		what:    "Operators on tensors of a few elements, from two checkouts, by turns in one run: the ratio of their time to that before.",
		command: []string{"go", "run", "./internal/reliability/cost", "-figures", "-before", before},
	}}
}

// alone is the command that runs the suite by itself.
func (s suite) alone(o options) string {
	words := slices.Concat(s.env, o.environment()[1:])
	if s.command != nil {
		words = append(words, s.command...)
	} else {
		words = slices.Concat(words, []string{"go", "test"}, s.arguments())
	}
	for i, word := range words {
		words[i] = quoted(word)
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell wants it.
func quoted(word string) string {
	if !strings.ContainsAny(word, " |*") {
		return word
	}
	if name, value, ok := strings.Cut(word, "="); ok {
		return name + "='" + value + "'"
	}
	return "'" + word + "'"
}

// arguments are those of go test.
func (s suite) arguments() []string {
	args := slices.Clone(s.flags)
	if s.tests != "" {
		args = append(args, "-run", s.tests)
	}
	if s.without != "" {
		args = append(args, "-skip", s.without)
	}
	return append(args, s.packages...)
}
