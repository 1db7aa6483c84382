package fuzz_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/fuzz"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(fuzz.EnvChild) != "" {
		if os.Getenv(fuzz.FaultyVariable) != "" {
			fuzz.Faulty()
		}
		if err := fuzz.Serve(os.Stdin, os.Stdout, os.NewFile(3, "log")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	torchtest.Main(m)
}

// The calls that once ended a process, hung, left something or gave other results.
func TestCorpus(t *testing.T) {
	text, err := os.ReadFile("testdata/corpus.txt")
	require.NoError(t, err)
	cases, err := fuzz.ParseAll(string(text))
	require.NoError(t, err)
	for _, c := range cases {
		require.Contains(t, string(text), c.String()+"\n", "as the fuzzer writes it")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, fuzz.Check([]string{self}, cases, func(c fuzz.Case, kind, text string) {
		assert.Falsef(t, fuzz.IsFault(kind), "%s: %s\n%s", kind, c, text)
		assert.NotContainsf(t, []string{"unfit", "unmade"}, kind, "%s is no call", c)
	}))
}
