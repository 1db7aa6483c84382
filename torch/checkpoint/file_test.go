package checkpoint

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Single files hold the same, and no bit that turned around goes into a run.
func TestFiles(t *testing.T) {
	torchtest.NoLeaks(t)
	part := newTraining(3)
	defer part.close()
	part.train()
	path := filepath.Join(t.TempDir(), "run.pt")
	require.NoError(t, SaveFile(path, part.parts(), Point{Step: 1, User: "x"}))
	want := part.weights()
	part.train()
	f, err := ReadFile(path)
	require.NoError(t, err)
	var user string
	at, err := f.Point(&user)
	require.NoError(t, err)
	require.Equal(t, 1, at.Step)
	require.Equal(t, "x", user)
	require.NoError(t, f.Restore(part.parts()))
	f.Close()
	require.Equal(t, want, part.weights())

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	refused, r := 0, rand.New(rand.NewPCG(5, 6))
	for range 500 {
		at, bit := r.IntN(len(text)), byte(1)<<r.IntN(8)
		text[at] ^= bit
		require.NoError(t, os.WriteFile(path, text, 0o600))
		if f, err := ReadFile(path); err == nil { // it was in what fills gaps
			require.NoError(t, f.Restore(part.parts()))
			require.Equal(t, want, part.weights(), "byte %d", at)
			f.Close()
		} else {
			require.ErrorIs(t, err, pt.ErrFormat)
			refused++
		}
		text[at] ^= bit
	}
	require.Greater(t, refused, 200)

	require.ErrorContains(t, SaveFile(path, Parts{"user": 1}, Point{}), "must not have the name")
	require.ErrorContains(t, SaveFile(filepath.Join(path, "x"), Parts{}, Point{}), "not a directory")
}
