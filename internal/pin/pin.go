package pin

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
)

// Sum is the SHA-256 of b, in hexadecimal.
func Sum(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// Check compares a sum with the one that is wanted, in hexadecimal of either case; an empty one fits all.
func Check(sum, want string) error {
	if want != "" && !strings.EqualFold(sum, want) {
		return fmt.Errorf("its SHA-256 is %s, expected %s", sum, strings.ToLower(want))
	}
	return nil
}

// Copy copies r to w and compares what it copied with a sum, as [Check] does.
func Copy(w io.Writer, r io.Reader, want string) (size int64, err error) {
	h := sha256.New()
	if size, err = io.Copy(io.MultiWriter(h, w), r); err != nil {
		return size, err
	}
	return size, Check(fmt.Sprintf("%x", h.Sum(nil)), want)
}
