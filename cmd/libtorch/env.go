package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/internal/home"
)

const envIntro = `usage: libtorch env

Prints the variables that name the libtorch which a program finds here, as a unit of systemd takes them (EnvironmentFile), and
a shell: set -a; eval "$(libtorch env)"
`

func env(_ context.Context, args []string, out io.Writer) error {
	if _, err := parse(flag.NewFlagSet("env", flag.ContinueOnError), args, out, envIntro); err != nil {
		return err
	}
	place, err := home.Find()
	if err != nil {
		return err
	}
	torch, _ := home.Torch(place.Dir)
	fmt.Fprintf(out, "%s=%s\n", home.Env, quoted(place.Dir))
	fmt.Fprintf(out, "%s=%s\n", home.EnvTorch, quoted(torch))
	if version := builtFor(place.Dir); version != "" {
		fmt.Fprintf(out, "LIBTORCH_VERSION=%s\n", quoted(version))
	}
	return nil
}

// builtFor is the version of libtorch that a home's shim was built for.
func builtFor(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "lib", "version.txt"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// quoted is a word for the shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
