package road

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/vision/models"
)

// service does what the README of examples/service says of a module of one's own and its Dockerfile, and has the program answer as the
// image would: its bundle is all of the file system.
func (u *trip) service(t *testing.T) {
	example := filepath.Join(checkout, "examples", "service")
	page, err := os.ReadFile(filepath.Join(example, "README.md"))
	require.NoError(t, err)
	blocks, err := section(strings.ReplaceAll(string(page), "8080", u.port), "Shipping it")
	require.NoError(t, err)
	var commands, entrypoint []string
	for _, b := range blocks {
		if b.language == "dockerfile" {
			list, program := b.image()
			commands = append(commands, list...)
			require.NoError(t, json.Unmarshal([]byte(`["`+program+`"]`), &entrypoint))
		}
	}
	require.Len(t, commands, 3)

	dir := filepath.Join(u.home, "service")
	require.NoError(t, os.Mkdir(dir, 0o755))
	source, err := os.ReadFile(filepath.Join(example, "main.go"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), source, 0o644))
	text := prelude
	for _, command := range append([]string{
		"go mod init example.com/service", "go get -tool " + module + "/cmd/libtorch@latest", "go mod tidy"}, commands...) {
		text += fmt.Sprintf("step '%s'\n", command)
	}
	run(t, dir, text, u.env)

	image := filepath.Join(dir, "dist")
	net := models.ResNet18(1000)
	defer nn.Close(net)
	require.NoError(t, safetensors.Save(filepath.Join(image, "resnet18.safetensors"), nn.StateDict(net)))
	u.classifies(t, image, entrypoint)
}

// classifies starts the service of an image, asks it for the classes of the picture and its health, and ends it.
func (u *trip) classifies(t *testing.T, image string, entrypoint []string) {
	cmd := isolated(t, image, entrypoint[0], entrypoint[1:]...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill()
	get := func(method, path string, body []byte) (status int, text []byte) {
		req, err := http.NewRequest(method, "http://localhost:"+u.port+path, bytes.NewReader(body))
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, nil // it does not listen yet
		}
		defer resp.Body.Close()
		text, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, text
	}
	require.Eventually(t, func() bool {
		status, _ := get("GET", "/healthz", nil)
		return status == http.StatusOK || len(ended) > 0
	}, time.Minute, 50*time.Millisecond)
	require.Empty(t, ended, "%s", &log)
	status, text := get("POST", "/classify", u.photo)
	require.Equal(t, http.StatusOK, status, "%s", text)
	var answer struct{ Classes []int }
	require.NoError(t, json.Unmarshal(text, &answer))
	require.Len(t, answer.Classes, 5)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, <-ended, "%s", &log)
}
