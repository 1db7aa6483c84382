package fuzz_test

import (
	"fmt"
	"os"
	"strings"
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
	var cases []fuzz.Case
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c, err := fuzz.Parse(line)
		require.NoError(t, err)
		require.Equal(t, line, c.String(), "as the fuzzer writes it")
		cases = append(cases, c)
	}
	findings, outcomes, err := fuzz.Check([]string{os.Args[0]}, cases)
	require.NoError(t, err)
	for _, f := range findings {
		assert.Fail(t, f.Kind, "%s\n%s", f.Case, f.Text)
	}
	for i, o := range outcomes {
		assert.NotContains(t, []string{"unfit", "unmade"}, o, "%s is no call", cases[i])
	}
}
