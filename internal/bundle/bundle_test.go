package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/home"
)

// installed is the home of these tests and its libtorch.
func installed(t *testing.T) (dir, torch string) {
	t.Helper()
	place, err := home.Find()
	require.NoError(t, err)
	torch, _ = home.Torch(place.Dir)
	return place.Dir, torch
}

// program compiles a program that uses libtorch.
func program(t *testing.T, env ...string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go to compile a program with: ", err)
	}
	if _, err := os.Stat("../../go.mod"); err != nil {
		t.Skip("the sources are not here: ", err)
	}
	path := filepath.Join(t.TempDir(), "sum")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "./testdata/sum")
	cmd.Env = append(cmd.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// What the dynamic linker maps is the same in a slim library, byte for byte.
func TestSlimLosesNothingThatIsMapped(t *testing.T) {
	_, torch := installed(t)
	for _, name := range []string{"libc10.so", "libtorch_cpu.so"} {
		path := filepath.Join(torch, "lib", name)
		parts, err := slim(path)
		require.NoError(t, err)
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		slimmer := filepath.Join(t.TempDir(), name)
		out, err := os.Create(slimmer)
		require.NoError(t, err)
		n, err := io.Copy(out, reader(file, parts))
		require.NoError(t, err)
		require.NoError(t, out.Close())
		size, err := File{from: path, part: parts}.Size()
		require.NoError(t, err)
		require.Equal(t, size, n)
		info, err := file.Stat()
		require.NoError(t, err)
		require.Less(t, n, info.Size()*9/10)

		was, err := elf.Open(path)
		require.NoError(t, err)
		defer was.Close()
		is, err := elf.Open(slimmer)
		require.NoError(t, err)
		defer is.Close()
		require.Len(t, is.Progs, len(was.Progs))
		for i, p := range was.Progs {
			q := is.Progs[i]
			p.ProgHeader.Off, q.ProgHeader.Off = q.ProgHeader.Off%max(p.Align, 1), q.ProgHeader.Off%max(p.Align, 1)
			require.Equal(t, p.ProgHeader, q.ProgHeader)
			if p.Type == elf.PT_LOAD {
				require.Equal(t, sum(t, p, i == 0), sum(t, q, i == 0), "segment %d of %s", i, name)
			}
		}
	}
}

// sum is the hash of a segment; of the first one behind the header and the table of segments.
func sum(t *testing.T, p *elf.Prog, first bool) string {
	r := p.Open()
	if first {
		_, err := r.Seek(0x1000, io.SeekStart)
		require.NoError(t, err)
	}
	hash := sha256.New()
	_, err := io.Copy(hash, r)
	require.NoError(t, err)
	return hex.EncodeToString(hash.Sum(nil))
}

func TestSlimRefusesWhatIsNoLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.so")
	for text, want := range map[string]string{"": "EOF", strings.Repeat("x", 100): "is no shared library"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err := slim(path)
		require.ErrorContains(t, err, want)
	}
}

// The program runs from its bundle, without an environment, and gives the same numbers.
func TestBundleRuns(t *testing.T) {
	dir, torch := installed(t)
	path := program(t)
	files, err := Collect(path, dir, torch, Options{})
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	for _, want := range []string{"sum", "lib/libtorchgo.so", "lib/version.txt", "libtorch/torch/lib/libc10.so",
		"libtorch/torch/lib/libtorch_cpu.so",
		"libtorch/torch/lib/libstdc++.so.6"} {
		require.Contains(t, names, want)
	}
	require.NotContains(t, names, "libtorch/torch/lib/libc.so.6")
	require.False(t, slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "torch_cuda") }))

	to := t.TempDir()
	require.NoError(t, WriteDir(context.Background(), to, files))
	cmd := exec.Command(filepath.Join(to, "sum"))
	cmd.Env = []string{}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "tensor(6.)\n", string(out))

	maps := exec.Command(filepath.Join(to, "sum"), "maps") // nothing but libtorch's own comes from elsewhere
	maps.Env = []string{}
	out, err = maps.Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		name := strings.TrimSpace(line)
		require.True(t, strings.HasPrefix(name, to) || ofC(filepath.Base(name)), name)
	}
}

func TestTheCLibraryIsThereIfAskedFor(t *testing.T) {
	dir, torch := installed(t)
	files, err := Collect(program(t), dir, torch, Options{System: true, Symbols: true})
	require.NoError(t, err)
	var system []string
	for _, f := range files {
		if f.Kind == System {
			system = append(system, filepath.Base(f.Name))
		}
		require.Nil(t, f.part, "the libraries are whole")
	}
	require.Contains(t, system, "libc.so.6")
	require.Contains(t, system, "libm.so.6")
	require.Contains(t, system, "ld-linux-x86-64.so.2")
}

// CUDA's libraries are those that libtorch's need, and those that are opened by name; here empty ones stand for them.
func TestBundleWithCUDA(t *testing.T) {
	dir, torch := installed(t)
	stubs, err := filepath.Glob(filepath.Join(dir, "peer", "stubs", "*.so*"))
	require.NoError(t, err)
	if len(stubs) == 0 {
		t.Skip("there are no stubs of CUDA's libraries")
	}
	path := program(t)
	fake := filepath.Join(t.TempDir(), "torch")
	nvidia := filepath.Join(filepath.Dir(fake), "nvidia", "cu13", "lib")
	require.NoError(t, os.MkdirAll(nvidia, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(fake, "lib"), 0o755))
	put := func(from, name string) {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(nvidia, name), text, 0o644))
	}
	for _, name := range []string{"libc10.so", "libtorch_cpu.so", "libc10_cuda.so", "libtorch_cuda.so", "libtorch_cuda_linalg.so",
		"libcaffe2_nvrtc.so",
		"libtorch_nvshmem.so", "libgomp.so.1"} {
		require.NoError(t, os.Symlink(filepath.Join(torch, "lib", name), filepath.Join(fake, "lib", name)))
	}
	_, err = Collect(path, dir, fake, Options{CUDA: true})
	require.ErrorContains(t, err, "which is not on this machine")
	own, err := filepath.Glob(filepath.Join(torch, "..", "nvidia", "cu13", "lib", "*.so*"))
	require.NoError(t, err)
	for _, from := range append(own, stubs...) {
		put(from, filepath.Base(from))
	}
	for _, name := range []string{"libcudnn_ops.so.9", "libnvrtc.so.13", "libnvJitLink.so.13"} {
		put(stubs[0], name)
	}
	files, err := Collect(path, dir, fake, Options{CUDA: true})
	require.NoError(t, err)
	var cuda []string
	for _, f := range files {
		if f.Kind == CUDA {
			cuda = append(cuda, filepath.Base(f.Name))
		}
		require.NotContains(t, f.Name, "libcuda.so", "the driver is the machine's")
		require.NotContains(t, f.Name, "libnvperf", "nothing needs it")
	}
	for _, want := range []string{"libtorch_cuda.so", "libc10_cuda.so", "libtorch_cuda_linalg.so", "libcudnn.so.9",
		"libcudnn_ops.so.9", "libnvrtc.so.13", "libnvJitLink.so.13", "libcublas.so.13", "libnccl.so.2"} {
		require.Contains(t, cuda, want)
	}
}

func TestProgramsThatWouldNotRunAreRefused(t *testing.T) {
	dir, torch := installed(t)
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("echo"), 0o755))
	_, err := Collect(text, dir, torch, Options{})
	require.ErrorContains(t, err, "is no Go program")
	goTool, err := exec.LookPath("gofmt")
	if err == nil {
		_, err = Collect(goTool, dir, torch, Options{})
		require.ErrorContains(t, err, "does not use github.com/libtorch-go/libtorch")
	}
	_, err = Collect(program(t, "CGO_ENABLED=0"), dir, torch, Options{})
	require.ErrorContains(t, err, "was built without cgo")
}

// small is a bundle of three short files.
func small(t *testing.T) []File {
	t.Helper()
	dir := t.TempDir()
	var files []File
	for name, kind := range map[string]string{"app": Program, "lib/libtorchgo.so": Ours, "libtorch/torch/lib/libc10.so": Library} {
		from := filepath.Join(dir, filepath.Base(name))
		require.NoError(t, os.WriteFile(from, []byte("the text of "+name), 0o644))
		files = append(files, File{Name: name, Kind: kind, from: from})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files
}

func TestArchivesDependOnTheFilesAlone(t *testing.T) {
	files := small(t)
	var first, second, packed bytes.Buffer
	require.NoError(t, WriteTar(context.Background(), &first, files))
	require.NoError(t, WriteTar(context.Background(), &second, files))
	require.Equal(t, first.Bytes(), second.Bytes())
	require.NoError(t, WriteGzip(context.Background(), &packed, files))
	z, err := gzip.NewReader(&packed)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, first.Bytes(), text)
	require.Equal(t, []string{"app", "lib/", "lib/libtorchgo.so", "libtorch/", "libtorch/torch/", "libtorch/torch/lib/",
		"libtorch/torch/lib/libc10.so"},
		members(t, &first))
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, WriteTar(stopped, io.Discard, files), context.Canceled)
	require.ErrorIs(t, WriteDir(stopped, t.TempDir(), files), context.Canceled)
}

func members(t *testing.T, r io.Reader) (names []string) {
	for tr := tar.NewReader(r); ; {
		header, err := tr.Next()
		if err == io.EOF {
			return names
		}
		require.NoError(t, err)
		names = append(names, header.Name)
	}
}

// An image is what its descriptors say: each blob has the digest that it is named by, each layer the content that the
// configuration names. Program and libtorch are in layers of their own.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, WriteImage(context.Background(), dir, "App", small(t)))
	read := func(path string, v any) {
		text, err := os.ReadFile(filepath.Join(dir, path))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, v))
	}
	blob := func(digest string) string {
		return filepath.Join("blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
	}
	var index struct{ Manifests []descriptor }
	read("index.json", &index)
	require.Len(t, index.Manifests, 1)
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	read(blob(index.Manifests[0].Digest), &manifest)
	require.Len(t, manifest.Layers, 2)
	var config struct {
		Config struct{ Entrypoint, Env []string }
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	read(blob(manifest.Config.Digest), &config)
	require.Equal(t, []string{"/App"}, config.Config.Entrypoint)
	require.Empty(t, config.Config.Env)
	for i, layer := range append(manifest.Layers, manifest.Config, index.Manifests[0]) {
		text, err := os.ReadFile(filepath.Join(dir, blob(layer.Digest)))
		require.NoError(t, err)
		require.Equal(t, layer.Size, int64(len(text)))
		require.Equal(t, layer.Digest, digest(text))
		if i >= len(manifest.Layers) {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(text))
		require.NoError(t, err)
		content, err := io.ReadAll(z)
		require.NoError(t, err)
		require.Equal(t, config.Rootfs.DiffIDs[i], digest(content))
		names := members(t, bytes.NewReader(content))
		require.Contains(t, names, [][]string{{"libtorch/torch/lib/libc10.so"}, {"app", "lib/libtorchgo.so"}}[i][0])
	}
	var docker []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	read("manifest.json", &docker)
	require.Equal(t, []string{"app:latest"}, docker[0].RepoTags)
	require.FileExists(t, filepath.Join(dir, docker[0].Config))
	files, err := FilesIn(dir)
	require.NoError(t, err)
	require.Len(t, files, 7) // two layers, configuration, manifest, and three that name them
}

func digest(text []byte) string {
	hash := sha256.Sum256(text)
	return digestOf(hash[:])
}
