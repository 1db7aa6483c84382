package fuzz

import (
	"io"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
)

// Faulty has children, and this process, know functions with one fault each, and nothing
// else.
func Faulty() {
	everything = func() []*part {
		targets := functions([]any{
			entry{"fine", func(x tensor) tensor { return x }},
			entry{"refuses", func(x tensor) { torch.Throw("refuses", torch.KindValue, "no") }},
			entry{"crash", func(x tensor) { _ = syscall.Kill(os.Getpid(), syscall.SIGSEGV); time.Sleep(time.Second) }},
			entry{"panic", func(x tensor, on bool) {
				if on {
					panic("no error of ours")
				}
			}},
			entry{"handles", func(x tensor) { kept = append(kept, torch.Ones(1).Keep()) }},
			entry{"varies", func(x tensor) int { count++; return count }},
		})
		return []*part{{name: "faulty", share: 1, targets: targets}}
	}
}

// FaultyVariable is set where children are to be faulty.
const FaultyVariable = "LIBTORCH_GO_FUZZ_FAULTY"

var (
	kept  []tensor
	count int
)

func TestEveryFaultIsFound(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	before := everything
	t.Cleanup(func() { everything = before })
	Faulty()
	t.Setenv(FaultyVariable, "1")
	run := func(only string) Result {
		r, err := Run(Options{Seed: 1, Calls: 30, Workers: 1, Each: 1, Command: []string{self}, Out: io.Discard, Only: regexp.MustCompile(only)})
		require.NoError(t, err)
		return r
	}
	require.Empty(t, run("^(fine|refuses)$").Findings)
	for target, kind := range map[string]string{"crash": "crash", "panic": "panic", "handles": "handles", "varies": "varies"} {
		r := run("^" + target + "$")
		require.NotEmpty(t, r.Findings, target)
		require.Equal(t, kind, r.Findings[0].Kind, "%+v", r.Findings[0])
		require.Contains(t, r.String(), "1 "+report(kind))
		c, repeats, err := Minimise([]string{self}, r.Findings[0], time.Minute)
		require.NoError(t, err)
		require.True(t, repeats)
		require.LessOrEqual(t, len(c.Args), 1, c.String())
	}
}

func report(kind string) string {
	for _, k := range kindsOf {
		if k.kind == kind {
			return k.text
		}
	}
	return ""
}
