package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/libtorch-go/libtorch/internal/migrate"
)

const migrateIntro = `usage: libtorch migrate [-out DIR2] DIR

Rewrites the program in DIR, and the packages below it, from github.com/wangkuiyi/gotorch to libtorch for Go, and lists what it
leaves to you. The program must compile as it is, against gotorch or against compat/gotorch; neither is needed afterwards.
docs/gotorch.md has the names on both sides.
`

func migrateVerb(_ context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("migrate", flag.ContinueOnError)
	to := fs.String("out", "", "the `folder` to write to; without it files are overwritten")
	found, err := parse(fs, args, out, migrateIntro, "DIR")
	if err != nil {
		return err
	}
	dir := found[0]
	if *to == "" {
		*to = dir
	}
	result, err := migrate.Program(dir)
	if err != nil {
		return err
	}
	written, err := result.Write(dir, *to)
	if err != nil {
		return err
	}
	for _, name := range written {
		fmt.Fprintln(out, "wrote", name)
	}
	for _, l := range result.Left {
		fmt.Fprintln(out, "left ", l)
	}
	return nil
}
