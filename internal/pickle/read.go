package pickle

import (
	"errors"
	"io"

	"github.com/libtorch-go/libtorch/internal/refused"
)

// ErrFormat is matched by every error that means: this is not a sound pickle.
var ErrFormat = errors.New("not a sound pickle")

// ErrBudget is matched by the error for a pickle that takes more memory than it may.
var ErrBudget = errors.New("the pickle takes too much memory")

// Limits are what [Read] keeps to.
type Limits struct {
	Budget int64              // bytes of memory
	Allow  func(Global) error // what it returns is the error for a global; nil allows all
	Refs   *[]*Ref            // receives what the pickle refers to, where it is not nil
}

// Read reads the pickle that begins at a place of a file and ends before end. It returns its
// value, of the types of this package, nil, bool, int, *big.Int, float64, string and []byte,
// and where the next one begins.
func Read(r io.ReaderAt, at, end int64, l Limits) (v any, next int64, err error) {
	m := machine{source: source{r: r, at: at, end: end}, limits: l, left: l.Budget}
	v, err = m.run()
	return v, m.at - int64(len(m.ahead)), err
}

// source hands out a part of a file piece by piece.
type source struct {
	r       io.ReaderAt
	at, end int64  // what was not fetched yet
	ahead   []byte // what was fetched and not handed out
	buffer  []byte
}

// malformed is an error that matches [ErrFormat].
func malformed(format string, args ...any) error {
	return refused.Because(ErrFormat, format, args...)
}

// remaining is how many bytes are left.
func (s *source) remaining() int64 { return s.end - s.at + int64(len(s.ahead)) }

// next returns the next n bytes, which are valid until the next call.
func (s *source) next(n int) ([]byte, error) {
	if int64(n) > s.remaining() {
		return nil, malformed("it ends too soon: %w", io.ErrUnexpectedEOF)
	}
	if n > len(s.ahead) {
		if err := s.fetch(n); err != nil {
			return nil, err
		}
	}
	piece := s.ahead[:n:n]
	s.ahead = s.ahead[n:]
	return piece, nil
}

// fetch reads ahead until at least n bytes are there, which are known to be in the file.
func (s *source) fetch(n int) error {
	const piece = 1 << 16
	want := int(min(int64(max(n, piece)), s.remaining()))
	if want > len(s.buffer) {
		grown := make([]byte, max(want, int(min(piece, s.remaining()))))
		copy(grown, s.ahead)
		s.buffer = grown
	} else {
		copy(s.buffer, s.ahead)
	}
	have := len(s.ahead)
	got, err := s.r.ReadAt(s.buffer[have:want], s.at)
	s.at += int64(got)
	s.ahead = s.buffer[:have+got]
	if have+got >= n {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return malformed("it ends too soon: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// line returns the text before the next line feed.
func (s *source) line() (string, error) {
	const longest = 1 << 12
	var text []byte
	for len(text) < longest {
		b, err := s.next(1)
		if err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(text), nil
		}
		text = append(text, b[0])
	}
	return "", malformed("a name has more than %d letters", longest)
}
