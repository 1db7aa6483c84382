package pin_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/pin"
)

func TestCheck(t *testing.T) {
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of "abc", from FIPS 180-2
	require.Equal(t, sum, pin.Sum([]byte("abc")))
	for _, c := range []struct{ text, want, failed string }{
		{"abc", "", ""},
		{"abc", sum, ""},
		{"abc", strings.ToUpper(sum), ""},
		{"abd", strings.ToUpper(sum), "expected " + sum},
		{"abc", sum[1:], "its SHA-256 is " + sum},
	} {
		var to bytes.Buffer
		size, err := pin.Copy(&to, strings.NewReader(c.text), c.want)
		require.Equal(t, c.text, to.String())
		require.Equal(t, int64(3), size)
		if c.failed == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.failed)
		require.ErrorContains(t, pin.Check(pin.Sum([]byte(c.text)), c.want), c.failed)
	}
}
