package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/libtorch-go/libtorch/internal/atomicfile"
	"github.com/libtorch-go/libtorch/internal/cli"
	"github.com/libtorch-go/libtorch/torch/watch"
)

const curvesIntro = `usage: libtorch curves [-o FILE] RUN…

Draws the figures of runs as an SVG file, a chart for each figure with a line for each run. RUN is the folder of a run, as the
examples' -logdir makes it, or a file of lines of JSON or of CSV with step, tag and value.
`

func curves(_ context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("curves", flag.ContinueOnError)
	to := fs.String("o", "curves.svg", "the `file` to write")
	found, err := parseMany(fs, args, out, curvesIntro)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return cli.Usagef("curves: expected RUN")
	}
	runs := make([]*watch.Curves, len(found))
	for i, path := range found {
		if runs[i], err = watch.LoadCurves(path); err != nil {
			return err
		}
	}
	if err := atomicfile.Write(*to, func(w io.Writer) error { return watch.WriteSVG(w, runs...) }); err != nil {
		return fmt.Errorf("cannot draw to %s: %w", *to, err)
	}
	fmt.Fprintf(out, "%s: %d runs\n", *to, len(runs))
	return nil
}
