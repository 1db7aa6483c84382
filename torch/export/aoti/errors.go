package aoti

import (
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/internal/archive"
	"github.com/libtorch-go/libtorch/internal/refused"
)

// ErrFormat is matched by every error that means: this is not a sound package of AOTInductor's.
var ErrFormat = errors.New("not a sound package of AOTInductor's")

// ErrUnknownInputs is matched by the error for a package that does not say what its inputs are, or how sizes of theirs go together:
// LoadOptions.Inputs has to.
var ErrUnknownInputs = errors.New("the package does not say all of its inputs")

func malformed(format string, args ...any) error {
	return refused.Because(ErrFormat, format, args...)
}

// named makes an error of the zip file's one of the package's.
func named(err error) error {
	if errors.Is(err, archive.ErrFormat) {
		return malformed("%w", err)
	}
	return err
}

// InputError is the error for inputs that do not fit the model. None of them was looked at by machine code.
type InputError struct {
	Model  string
	Input  string // its name; empty where their number is wrong, or how they are nested
	Reason string
}

// Error names the model, the input and what is wrong with it.
func (e *InputError) Error() string {
	if e.Input == "" {
		return fmt.Sprintf("aoti: %s: %s", e.Model, e.Reason)
	}
	return fmt.Sprintf("aoti: %s: input %q %s", e.Model, e.Input, e.Reason)
}
