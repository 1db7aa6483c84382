package aoti_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export/aoti"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// rewritten is a package with changed files: change returns the name and the content that a file is to have, or an empty name.
func rewritten(t *testing.T, change func(name string, content []byte) (string, []byte)) string {
	t.Helper()
	from, err := zip.OpenReader(filepath.Join(packages(t), "net.pt2"))
	require.NoError(t, err)
	defer from.Close()
	path := filepath.Join(t.TempDir(), "changed.pt2")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	to := zip.NewWriter(file)
	for _, f := range from.File {
		r, err := f.Open()
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		name, b := change(f.Name, b)
		if name == "" {
			continue
		}
		w, err := to.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		require.NoError(t, err)
		_, err = w.Write(b)
		require.NoError(t, err)
	}
	require.NoError(t, to.Close())
	return path
}

// ending changes the files with an ending.
func ending(end string, change func(name string, b []byte) (string, []byte)) func(string, []byte) (string, []byte) {
	return func(name string, b []byte) (string, []byte) {
		if !strings.HasSuffix(name, end) {
			return name, b
		}
		return change(name, b)
	}
}

func elsewhere(name string, b []byte) (string, []byte) {
	return strings.Replace(name, "aotinductor", "other", 1), b
}

func half(name string, b []byte) (string, []byte) { return name, b[:len(b)/2] }

func gone(string, []byte) (string, []byte) { return "", nil }

func content(b string) func(string, []byte) (string, []byte) {
	return func(name string, _ []byte) (string, []byte) { return name, []byte(b) }
}

func replaced(from, to string) func(string, []byte) (string, []byte) {
	return func(name string, b []byte) (string, []byte) {
		return name, bytes.ReplaceAll(b, []byte(from), []byte(to))
	}
}

func renamed(to string) func(string, []byte) (string, []byte) {
	return func(name string, b []byte) (string, []byte) { return filepath.Dir(name) + to, b }
}

// A package that is not sound is an error, of which machine code never runs.
func TestHostile(t *testing.T) {
	torchtest.NoLeaks(t)
	for name, c := range map[string]struct {
		change func(string, []byte) (string, []byte)
		want   string
	}{
		"no library":       {ending(".so", gone), "has no library"},
		"two libraries":    {ending("kernel.cpp", renamed("/a.so")), "two libraries"},
		"no metadata":      {ending("metadata.json", gone), "the metadata of model"},
		"no device":        {ending("metadata.json", content("{}")), "the device of model"},
		"another device":   {ending("metadata.json", replaced(`"cpu"`, `"xpu"`)), "no packages for the device xpu"},
		"apart":            {ending("kernel.cpp", renamed("/a_weights_config.json")), "weights of model"},
		"no ELF":           {ending(".so", content("#!/bin/sh\ntouch hostile\n")), "bad magic number"},
		"half a library":   {ending(".so", half), "the library"},
		"no model":         {elsewhere, "it holds no model"},
		"out of the file":  {ending("kernel.cpp", renamed("/../../../a.cpp")), "leads out of the file"},
		"out of the model": {ending("kernel.cpp", renamed("/../a.cpp")), "leads out of the file"},
		"no function": {ending(".so", replaced("AOTInductorModelContainerRun\x00", "AOTInductorModelContainerRum\x00")),
			"lacks the function AOTInductorModelContainerRun"},
		"other processor": {ending("metadata.json", replaced(`"AOTI_CPU_ISA": "`, `"AOTI_CPU_ISA": "AVX512","x":"`)), "AVX512"},
	} {
		t.Run(name, func(t *testing.T) {
			path := rewritten(t, c.change)
			m, err := aoti.LoadTrusted(path)
			if name == "other processor" && err == nil { // this one has it
				m.Close()
				return
			}
			require.ErrorContains(t, err, c.want)
			require.Nil(t, m)
		})
	}
	require.NoFileExists(t, "hostile")
}

// A cut or changed file is an error that matches ErrFormat, wherever it is cut.
func TestCut(t *testing.T) {
	torchtest.NoLeaks(t)
	b, err := os.ReadFile(filepath.Join(packages(t), "net.pt2"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "cut.pt2")
	for i := range 40 {
		require.NoError(t, os.WriteFile(path, b[:len(b)*i/40], 0o600))
		_, err := aoti.LoadTrusted(path)
		require.ErrorIs(t, err, aoti.ErrFormat)
	}
	library := bytes.Index(b, []byte("\x7fELF"))
	for _, at := range []int{library + 100, library + 50_000, bytes.Index(b, []byte("AOTInductorModelBase")) + 3} {
		changed := slices.Clone(b)
		changed[at] ^= 1
		require.NoError(t, os.WriteFile(path, changed, 0o600))
		_, err := aoti.LoadTrusted(path)
		require.ErrorIs(t, err, aoti.ErrFormat, at)
	}
	_, err = aoti.LoadTrusted(filepath.Join(t.TempDir(), "none.pt2"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Another file than the one that was pinned is refused; nothing is left of what was unpacked.
func TestPin(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(packages(t), "net.pt2")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	t.Setenv("TMPDIR", t.TempDir())
	_, err = aoti.LoadTrusted(path, aoti.LoadOptions{SHA256: fmt.Sprintf("%064d", 0)})
	require.ErrorContains(t, err, "its SHA-256 is ")
	load(t, "net.pt2", aoti.LoadOptions{SHA256: fmt.Sprintf("%X", sha256.Sum256(b))})
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A package without its source says nothing of its inputs, and one with two sizes of the same bounds does not say which of them a third
// one equals: LoadOptions does.
func TestUnknownInputs(t *testing.T) {
	torchtest.NoLeaks(t)
	for name, c := range map[string]func(string, []byte) (string, []byte){
		"no source": gone,
		"two symbols": func(name string, b []byte) (string, []byte) {
			return name, bytes.Replace(b, []byte("inputs.clear();"), []byte("int64_t s99 = arg7_1_size[0];\ninputs.clear();"), 1)
		},
		"another bound": func(name string, b []byte) (string, []byte) {
			return name, bytes.ReplaceAll(b, []byte("arg8_1_size[0] > 64"), []byte("arg8_1_size[0] > 65"))
		},
		"no dtype": replaced("_expected_dtype = ", "_dtype_expected = "),
	} {
		t.Run(name, func(t *testing.T) {
			path := rewritten(t, ending(".wrapper.cpp", c))
			_, err := aoti.LoadTrusted(path)
			require.ErrorIs(t, err, aoti.ErrUnknownInputs)
			rows := aoti.Varying("rows")
			inputs := []aoti.Input{
				{Name: "x", DType: torch.Float32, Sizes: []aoti.Size{rows, aoti.Fixed(8)}},
				{Name: "p", DType: torch.Float32, Sizes: []aoti.Size{rows, aoti.Fixed(4)}},
				{Name: "q", DType: torch.Int64, Sizes: []aoti.Size{rows}},
			}
			m, err := aoti.LoadTrusted(path, aoti.LoadOptions{Inputs: inputs})
			require.NoError(t, err)
			defer m.Close()
			torch.Scope(func() {
				got, err := m.RunTensors(t.Context(), []torch.Tensor{torch.Ones(3, 8), torch.Ones(3, 4), torch.Arange(3)})
				require.NoError(t, err)
				require.Equal(t, []int{1, 2, 3}, torch.Values[int](got[2]))
				_, err = m.RunTensors(t.Context(), []torch.Tensor{torch.Ones(3, 8), torch.Ones(4, 4), torch.Arange(3)})
				require.ErrorContains(t, err, `input "p" has the shape [4 4], but size 0 was 3`)
			})
			for _, bad := range [][]aoti.Input{{{}}, {{Name: "x", DType: torch.Float32, Sizes: []aoti.Size{{Min: 3, Max: 2}}}},
				{{Name: "x", DType: torch.Float32, Strides: []int{1}}}} {
				_, err := aoti.LoadTrusted(path, aoti.LoadOptions{Inputs: bad})
				require.ErrorContains(t, err, "LoadOptions.Inputs")
			}
		})
	}
	_, err := aoti.LoadTrusted(filepath.Join(packages(t), "net.pt2"), aoti.LoadOptions{Inputs: []aoti.Input{}})
	require.ErrorContains(t, err, "has 0 inputs, the package 3")
	_, err = aoti.LoadTrusted(filepath.Join(packages(t), "net.pt2"), aoti.LoadOptions{Device: torch.CUDA(0)})
	require.ErrorContains(t, err, "compiled for cpu")
	_, err = aoti.LoadTrusted(filepath.Join(packages(t), "net.pt2"), aoti.LoadOptions{Runners: -1})
	require.ErrorContains(t, err, "Runners is -1")
}
