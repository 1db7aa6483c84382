package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestExitCode(t *testing.T) {
	require.Equal(t, 0, ExitCode(nil))
	require.Equal(t, 0, ExitCode(flag.ErrHelp))
	require.Equal(t, 1, ExitCode(errors.New("disk full")))
	require.Equal(t, 2, ExitCode(fmt.Errorf("wrapped: %w", Usagef("-b is 0"))))
	require.Equal(t, 130, ExitCode(context.Canceled))
	require.Equal(t, 130, ExitCode(Interruptedf("after batch %d", 3)))
	require.EqualError(t, Interruptedf("after batch %d", 3), "after batch 3")
}

func TestParse(t *testing.T) {
	for _, scene := range []struct {
		args []string
		want string
	}{
		{[]string{"-b", "4"}, ""},
		{[]string{"-b", "many"}, `invalid value "many" for flag -b: parse error (-h lists the flags)`},
		{[]string{"-c"}, "flag provided but not defined: -c (-h lists the flags)"},
		{[]string{"now"}, `unexpected argument "now" (-h lists the flags)`},
	} {
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		b := fs.Int("b", 1, "images in a batch")
		out := new(bytes.Buffer)
		err := Parse(fs, scene.args, out, "x does nothing.")
		require.Empty(t, out.String())
		if scene.want == "" {
			require.NoError(t, err)
			require.Equal(t, 4, *b)
			continue
		}
		require.EqualError(t, err, scene.want)
		require.Equal(t, 2, ExitCode(err))
		require.ErrorIs(t, Parse(fs, []string{"-h"}, out, "x does nothing."), flag.ErrHelp)
		require.Contains(t, out.String(), "x does nothing.\n  -b int\n")
	}
}

func TestDevice(t *testing.T) {
	torchtest.NoLeaks(t)
	for text, want := range map[string]torch.Device{"": torch.Device{}, "cpu": torch.CPU,
		"cuda": torch.NewDevice(torch.DeviceCUDA, -1), "cuda:1": torch.CUDA(1)} {
		dev, err := Device(text)
		require.NoError(t, err)
		require.Equal(t, want, dev, text)
	}
	for _, text := range []string{"tpu", "meta", "cuda:x", "-1"} {
		_, err := Device(text)
		require.EqualError(t, err, fmt.Sprintf("-device is %q, expected cpu, cuda or cuda:N (-h lists the flags)", text))
	}
	dev, err := OpenDevice(torch.Device{})
	require.NoError(t, err)
	require.Equal(t, torch.DefaultDevice(), dev)
	_, err = OpenDevice(torch.CUDA(99))
	require.Error(t, err)
}

func TestNumbers(t *testing.T) {
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.ErrorContains(t, Positive("lr", bad), "-lr is ")
		require.ErrorContains(t, NotNegative("lr", bad), "expected 0 or more")
	}
	require.EqualError(t, Positive("b", 0), "-b is 0, expected more than 0 (-h lists the flags)")
	require.NoError(t, NotNegative("b", 0))
	require.NoError(t, Positive("b", 1))
}
