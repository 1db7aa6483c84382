package refused_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/refused"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		`record "größe" is missing`:          `record "größe" is missing`,
		"\x1b[2J\nlevel=ERROR all is lost\r": `\x1b[2J\nlevel=ERROR all is lost\r`,
		"\xff\x80 �":                         `\xff\x80 �`,
		"left\u202eright\u0085":              `left\u202eright\u0085`,
		strings.Repeat("x", 1000):            strings.Repeat("x", 1000),
		strings.Repeat("x", 1<<20):           strings.Repeat("x", 600) + " … 1047676 bytes … " + strings.Repeat("x", 300),
		"a" + strings.Repeat("é", 1000):      "a" + strings.Repeat("é", 299) + " … 1101 bytes … " + strings.Repeat("é", 150),
		strings.Repeat("é", 1000) + "a":      strings.Repeat("é", 300) + " … 1101 bytes … " + strings.Repeat("é", 149) + "a",
	} {
		require.Equal(t, want, refused.Line(text))
	}
	require.Less(t, len(refused.Line(strings.Repeat("\x1b", 1<<20))), 4000)
	require.NotPanics(t, func() { refused.Line(strings.Repeat("\x80", 1<<20)) })
}

func TestLines(t *testing.T) {
	require.Equal(t, "def f():\n\treturn x", refused.Lines("def f():\n\treturn x"))
	require.Equal(t, `\x1b[2J`+"\n", refused.Lines("\x1b[2J\n"))
}

func TestBecause(t *testing.T) {
	kind := errors.New("not a sound file")
	err := fmt.Errorf("load: %w", refused.Because(kind, "record %s: %w", "a\nb", io.ErrUnexpectedEOF))
	require.EqualError(t, err, `load: not a sound file: record a\nb: unexpected EOF`)
	require.ErrorIs(t, err, kind)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
