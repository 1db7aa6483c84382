// Command libtorch installs libtorch for Go programs, says what is wrong where one does not run, and
// packs programs for machines that have nothing:
//
//	libtorch install            fetch libtorch and build the shim, into the user's cache
//	libtorch doctor             what a program would find here, and what is missing
//	libtorch bundle PROGRAM DIR a program with all that it needs, as a folder, an archive or an image
//	libtorch inspect FILE       what is in a .pt, .pth, .safetensors or checkpoint
//	libtorch convert FROM TO    weights from one of these formats into another
//	libtorch migrate DIR        a program for gotorch, rewritten to libtorch for Go
//	libtorch show FILE          a program of torch.export, .pt2
//	libtorch run -input IN FILE such a program run
//	libtorch bench -input IN FILE how long that takes, node by node and compiled
//	libtorch curves RUN…       the figures of trainings, drawn as an SVG file
//	libtorch load URL           a server asked again and again: how long its answers take
//	libtorch env                the variables that name what is in use
//
// In a module that uses libtorch, `go get -tool github.com/libtorch-go/libtorch/cmd/libtorch` makes
// it `go tool libtorch`; without a module it is `go run github.com/libtorch-go/libtorch/cmd/libtorch@latest`.
// docs/deployment.md says where programs look, and what is in a bundle.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/libtorch-go/libtorch/internal/cli"
	"github.com/libtorch-go/libtorch/torch/jit"
)

func main() {
	jit.InspectChild()
	cli.Main("libtorch", run)
}

// A verb is one of the things this command does. Its run gets the arguments behind the verb.
type verb struct {
	name, summary string
	run           func(ctx context.Context, args []string, out io.Writer) error
}

// verbs lists what this command does, as its help does.
func verbs() []verb {
	return []verb{
		{"install", "fetch libtorch and build the shim, into the user's cache", install},
		{"doctor", "say what a program would find here, and what is missing", doctor},
		{"bundle", "pack a program with all that it needs: a folder, an archive or an image", pack},
		{"inspect", "list what is in a .pt, .pth, .safetensors or checkpoint", inspect},
		{"convert", "convert weights between .pt, .pth and .safetensors", convert},
		{"migrate", "rewrite a program for gotorch to libtorch for Go", migrateVerb},
		{"show", "print a program of torch.export, .pt2", show},
		{"run", "run a program of torch.export, .pt2", runProgram},
		{"bench", "measure such a program, node by node and compiled", benchProgram},
		{"curves", "draw the figures of trainings as an SVG file", curves},
		{"load", "ask a server again and again, and say how long its answers take", load},
		{"env", "print the variables that name what is in use", env},
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		usage(out)
		return cli.Usagef("expected a verb")
	}
	for _, v := range verbs() {
		if v.name == args[0] {
			return v.run(ctx, args[1:], out)
		}
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(out)
		return nil
	}
	return cli.Usagef("there is no verb %q", args[0])
}

func usage(out io.Writer) {
	fmt.Fprintln(out, "libtorch installs libtorch for Go programs and packs them for other machines.")
	fmt.Fprintln(out)
	for _, v := range verbs() {
		fmt.Fprintf(out, "  libtorch %-10s %s\n", v.name, v.summary)
	}
	fmt.Fprintln(out)
	fmt.Fprintln(out, "libtorch VERB -h lists the flags of a verb.")
}

// parse reads a verb's flags and its arguments, which stand before, between or behind them. There must
// be one argument for each name.
func parse(fs *flag.FlagSet, args []string, out io.Writer, intro string, names ...string) ([]string, error) {
	found, err := parseMany(fs, args, out, intro)
	switch {
	case err != nil:
		return nil, err
	case len(found) < len(names):
		return nil, cli.Usagef("%s: expected %s", fs.Name(), names[len(found)])
	case len(found) > len(names):
		return nil, cli.Usagef("%s: unexpected argument %q", fs.Name(), found[len(names)])
	}
	return found, nil
}

// parseMany is parse for any number of arguments.
func parseMany(fs *flag.FlagSet, args []string, out io.Writer, intro string) ([]string, error) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	var found []string
	for {
		err := fs.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			fmt.Fprintln(out, intro)
			fs.SetOutput(out)
			fs.PrintDefaults()
			return nil, err
		case err != nil:
			return nil, cli.Usagef("%w", err)
		}
		if fs.NArg() == 0 {
			return found, nil
		}
		found, args = append(found, fs.Arg(0)), fs.Args()[1:]
	}
}
