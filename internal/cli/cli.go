package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a command and ends the program with its exit code. A signal (SIGINT, SIGTERM)
// ends the command's context, a second one the program at once.
func Main(name string, command func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := command(ctx, os.Args[1:], os.Stdout)
	code := ExitCode(err)
	if code != 0 {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	}
	os.Exit(code)
}

// ExitCode is 2 for mistakes in the command line, 130 after an interrupt, as shells have it,
// and 1 for all other errors.
func ExitCode(err error) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(usageError)):
		return 2
	case errors.Is(err, context.Canceled):
		return 130
	}
	return 1
}

// A usageError is a mistake in the command line.
type usageError struct{ error }

// Usagef is the error for a mistake in the command line.
func Usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format+" (-h lists the flags)", args...)}
}

// An interrupt is a run's end by a signal.
type interrupt struct{ text string }

func (i interrupt) Error() string { return i.text }
func (i interrupt) Unwrap() error { return context.Canceled }

// Interruptedf is the error for a run that a signal ended.
func Interruptedf(format string, args ...any) error { return interrupt{fmt.Sprintf(format, args...)} }

// Parse reads the command line. For -h it prints the introduction and the flags to out and
// returns flag.ErrHelp. The flag set is one that continues on errors.
func Parse(fs *flag.FlagSet, args []string, out io.Writer, intro string) error {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(out, intro)
		fs.SetOutput(out)
		fs.PrintDefaults()
		return err
	case err != nil:
		return Usagef("%w", err)
	case fs.NArg() > 0:
		return Usagef("unexpected argument %q", fs.Arg(0))
	}
	return nil
}

// Positive wants the number of a flag to be more than 0, and finite.
func Positive(name string, value float64) error {
	if !(value > 0 && value <= math.MaxFloat32) {
		return Usagef("-%s is %v, expected more than 0", name, value)
	}
	return nil
}

// NotNegative wants the number of a flag to be 0 or more, and finite.
func NotNegative(name string, value float64) error {
	if !(value >= 0 && value <= math.MaxFloat32) {
		return Usagef("-%s is %v, expected 0 or more", name, value)
	}
	return nil
}
