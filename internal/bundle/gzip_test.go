package bundle

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Both Go's reader and gzip itself read what was written, whatever the blocks are like.
func TestCompressor(t *testing.T) {
	program, err := exec.LookPath("gzip")
	require.NoError(t, err)
	r := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, blockSize - 1, blockSize, blockSize + 1, 9*blockSize + 77} {
		want := make([]byte, size)
		r.Read(want[:size/2]) // the other half is zeros
		var packed bytes.Buffer
		c := newCompressor(&packed)
		for rest, step := want, 1; len(rest) > 0; step = step*3 + 1 {
			some := min(step, len(rest))
			n, err := c.Write(rest[:some])
			require.NoError(t, err)
			require.Equal(t, some, n)
			rest = rest[some:]
		}
		require.NoError(t, c.Close())
		require.Less(t, packed.Len(), size/2+size/100+64)

		z, err := gzip.NewReader(bytes.NewReader(packed.Bytes()))
		require.NoError(t, err)
		z.Multistream(false)
		got, err := io.ReadAll(z)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%d bytes", size)

		cmd := exec.Command(program, "-dc")
		cmd.Stdin = &packed
		got, err = cmd.Output()
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%d bytes, by gzip", size)
	}
}

// full is a disk with room for some bytes.
type full struct{ room int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestCompressorWithoutRoom(t *testing.T) {
	for _, room := range []int{0, 100, 2 * blockSize} {
		c := newCompressor(&full{room})
		text := make([]byte, 8*blockSize)
		rand.NewChaCha8([32]byte{2}).Read(text)
		_, err := c.Write(text)
		require.NoError(t, err)
		require.ErrorIs(t, c.Close(), errFull)
	}
}
