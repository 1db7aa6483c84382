package jit_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/jit"
)

// mutant is a module's file with changes by chance in its records, and with sums that fit: a file of somebody who means harm.
func mutant(t *testing.T, b []byte, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	records := 0
	repacked(t, b, func(_ string, content []byte) []byte { records++; return content })
	victim, i := r.IntN(records), -1
	return repacked(t, b, func(name string, content []byte) []byte {
		i++
		read := strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".pkl")
		if i != victim && !(read && r.IntN(3) == 0) {
			return content
		}
		for range 1 + r.IntN(3) {
			content = bent(r, content)
		}
		return content
	})
}

// bent is content with one change: a byte, a piece left out, a piece of another place, or a piece twice.
func bent(r *rand.Rand, content []byte) []byte {
	if len(content) == 0 {
		return []byte{0}
	}
	own := bytes.Clone(content)
	at := r.IntN(len(own))
	n := min(len(own)-at, 1+r.IntN(12))
	switch r.IntN(4) {
	case 0:
		own[at] ^= byte(1 + r.IntN(255))
	case 1:
		own = append(own[:at], content[at+n:]...)
	case 2:
		copy(own[at:at+n], content[r.IntN(len(content)):])
	default:
		own = append(own[:at+n], content[at:]...)
	}
	return own
}

// Mutants are loaded or refused in a child, which shall not die over them. JIT_MUTANTS says how many, from which seed on: "0:50000".
func TestMutants(t *testing.T) {
	first, last := uint64(0), uint64(500)
	if text := os.Getenv("JIT_MUTANTS"); text != "" {
		_, err := fmt.Sscanf(text, "%d:%d", &first, &last)
		require.NoError(t, err)
	}
	if dir := os.Getenv("JIT_CHILD"); dir != "" {
		loadMutants(t, dir, first, last)
		return
	}
	dir, died := modules(t), 0
	for first < last {
		until := min(first+500, last)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestMutants$")
		cmd.Env = append(os.Environ(), "JIT_CHILD="+dir, fmt.Sprintf("JIT_MUTANTS=%d:%d", first, until))
		out, err := cmd.CombinedOutput()
		cancel()
		first = until
		if err != nil {
			text := string(out)
			at := strings.LastIndex(text, "seed ")
			seed, _, _ := strings.Cut(text[at+len("seed "):], "\n")
			n, bad := strconv.ParseUint(seed, 10, 64)
			require.NoError(t, bad, text)
			first, died = n+1, died+1
			t.Logf("%v: %.2000s", err, text[at:])
		}
	}
	require.Zero(t, died)
}

func loadMutants(t *testing.T, dir string, first, last uint64) {
	for seed := first; seed < last; seed++ {
		fmt.Fprintln(os.Stderr, "seed", seed)
		b, err := os.ReadFile(filepath.Join(dir, hostileNames[seed%uint64(len(hostileNames))]+".pt"))
		require.NoError(t, err)
		m, err := jit.ReadTrusted(bytes.NewReader(mutant(t, b, seed)))
		if err != nil {
			continue
		}
		_ = m.String()
		for _, own := range m.Methods() {
			_, _ = m.Code(own.Name)
		}
		list, err := m.State()
		require.NoError(t, err)
		for _, own := range list {
			own.Tensor.Close()
		}
		m.Close()
	}
}
