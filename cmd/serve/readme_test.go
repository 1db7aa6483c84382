package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// README's commands for curl do what they say.
func TestREADME(t *testing.T) {
	torchtest.NoLeaks(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl: ", err)
	}
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(text)
	require.NotNil(t, block)
	r := begin(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "photo.jpg"), photo(t), 0o600))
	for line := range strings.Lines(string(block[1])) {
		line = strings.ReplaceAll(strings.TrimSpace(line), "localhost:8000", strings.TrimPrefix(r.url, "http://"))
		cmd := exec.Command("sh", "-c", strings.Replace(line, "curl ", "curl -sS -w %{http_code} ", 1))
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, out)
		want := "200"
		if strings.Contains(line, "/NAME/") {
			want = "404" // whose model would it be?
		}
		require.True(t, strings.HasSuffix(string(out), want), "%s\n%s", line, out)
	}
}

// The command line's mistakes are told, and nothing listens then.
func TestCommandLine(t *testing.T) {
	busy, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer busy.Close()
	for want, args := range map[string][]string{
		"-cert and -key belong together": {"-cert", "x"},
		"-max-body is 0":                 {"-max-body", "0"},
		"unexpected argument":            {"models"},
		"invalid origin":                 {"-cors", "example.org"},
		"no address of a collector":      {"-traces", "localhost:4318"},
		"-trace-ratio is -1":             {"-trace-ratio", "-1"},
		"address already in use":         {"-addr", busy.Addr().String()},
		"-log":                           {"-log", "loud", "-addr", "localhost:0"},
		"no such file":                   {"-models", filepath.Join(t.TempDir(), "nothing"), "-addr", "localhost:0"},
		"tokens":                         {"-tokens", filepath.Join(t.TempDir(), "tokens"), "-addr", "localhost:0"},
	} {
		require.ErrorContains(t, run(context.Background(), args, os.Stderr), want)
	}
}
