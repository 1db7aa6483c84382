package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"

	"github.com/libtorch-go/libtorch/torch"
)

// A usageError is a mistake in the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format+" (-h lists the flags)", args...)}
}

// An interrupt is a run's end by a signal.
type interrupt struct{ text string }

func (i interrupt) Error() string { return i.text }
func (i interrupt) Unwrap() error { return context.Canceled }

// exitCode is 2 for mistakes in the command line, 130 after an interrupt, as shells have it,
// and 1 for all other errors.
func exitCode(err error) int {
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

// parse reads the command line. For -h it prints the introduction and the flags to out and
// returns flag.ErrHelp.
func parse(fs *flag.FlagSet, args []string, out io.Writer, intro string) error {
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
		return usagef("%w", err)
	case fs.NArg() > 0:
		return usagef("unexpected argument %q", fs.Arg(0))
	}
	return nil
}

// inRange wants the number of a flag to be finite, and at least 0, or more where it has to be
// positive.
func inRange(name string, value float64, positive bool) error {
	switch {
	case positive && !(value > 0 && value <= math.MaxFloat32):
		return usagef("-%s is %v, expected more than 0", name, value)
	case !positive && !(value >= 0 && value <= math.MaxFloat32):
		return usagef("-%s is %v, expected 0 or more", name, value)
	}
	return nil
}

// parseDevice is the value of -device: cpu, cuda or cuda:N. It is the zero device for "", which
// leaves the choice to openDevice.
func parseDevice(text string) (torch.Device, error) {
	if text == "" {
		return torch.Device{}, nil
	}
	dev, err := torch.ParseDevice(text)
	if err != nil || !dev.IsCPU() && !dev.IsCUDA() {
		return torch.Device{}, usagef("-device is %q, expected cpu, cuda or cuda:N", text)
	}
	return dev, nil
}

// openDevice opens libtorch and returns the device to run on: the one asked for or, if that is
// zero, a card where there is one. A device that cannot be used is an error.
func openDevice(asked torch.Device) (torch.Device, error) {
	if err := torch.Load(); err != nil {
		return torch.Device{}, err
	}
	if asked.IsZero() {
		asked = torch.DefaultDevice()
	}
	return asked, torch.CheckDevice(asked)
}
