package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/cli"
	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/internal/home"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	jit.InspectChild()
	clitest.Main(m, main)
}

func TestVerbs(t *testing.T) {
	help := clitest.Run(t, run, "help")
	for _, v := range verbs() {
		require.Contains(t, help, "libtorch "+v.name)
		out := new(bytes.Buffer)
		require.ErrorIs(t, run(t.Context(), []string{v.name, "-h"}, out), flag.ErrHelp)
		require.Contains(t, out.String(), "usage: libtorch "+v.name)
	}
	clitest.Fails(t, "libtorch", 2, `there is no verb "fly"`, "fly")
	clitest.Fails(t, "libtorch", 2, "bundle: expected DEST", "bundle", "x")
	clitest.Fails(t, "libtorch", 2, `bundle: unexpected argument "c"`, "bundle", "a", "b", "c")
	clitest.Fails(t, "libtorch", 2, "-cuda and -cpu exclude each other", "install", "-cuda", "-cpu")
	require.Equal(t, 2, cli.ExitCode(run(t.Context(), nil, new(bytes.Buffer))))
}

func TestFlagsStandAnywhere(t *testing.T) {
	for _, args := range [][]string{{"-n", "3", "a", "b"}, {"a", "-n", "3", "b"}, {"a", "b", "-n=3"}} {
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		n := fs.Int("n", 0, "a number")
		found, err := parse(fs, args, nil, "", "FIRST", "SECOND")
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, found)
		require.Equal(t, 3, *n)
	}
}

func TestEnv(t *testing.T) {
	place, err := home.Find()
	require.NoError(t, err)
	text := clitest.Run(t, run, "env")
	require.Contains(t, text, "LIBTORCH_GO_HOME='"+place.Dir+"'\n")
	out, err := exec.Command("sh", "-c", text+`echo "$LIBTORCH"`).Output()
	require.NoError(t, err)
	torch, _ := home.Torch(place.Dir)
	require.Equal(t, torch+"\n", string(out))
	require.Equal(t, `'it'\''s'`, quoted("it's"))
}

func TestDoctorWhereAllIsWell(t *testing.T) {
	torchtest.NoLeaks(t)
	text := clitest.Run(t, run, "doctor")
	require.Regexp(t, `(?m)^opens +yes, libtorch 2\.`, text)
	require.Regexp(t, `(?m)^home .*: used$`, text)
	var r report
	require.NoError(t, json.Unmarshal([]byte(clitest.Run(t, run, "doctor", "-json")), &r))
	require.Empty(t, r.Problem)
	require.NotEmpty(t, r.Version)
	require.Len(t, r.Tools, 5)
	require.True(t, len(r.Cards) > 0 || r.NoCUDA != "", "either there is a card, or a reason")
}

func TestDoctorWhereNothingIs(t *testing.T) {
	empty := t.TempDir()
	for _, args := range [][]string{{"doctor"}, {"doctor", "-json"}} {
		cmd, stdout, stderr := clitest.Program(t, args...)
		cmd.Env = append(cmd.Env, home.Env+"="+empty, "PATH="+empty, "CC=", "CXX=", "PYTHON=")
		require.Error(t, cmd.Run())
		require.Equal(t, 1, cmd.ProcessState.ExitCode())
		require.Equal(t, "libtorch: a program would fail here\n", stderr.String())
		require.Contains(t, stdout.String(), "libtorch is not installed")
		require.Contains(t, stdout.String(), "g++ 11 or later")
	}
}

// script is a build.sh in sources of its own, and the shell that it starts.
func script(t *testing.T, text string) (source string) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash: ", err)
	}
	source = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(source, "third_party"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(source, "third_party", "versions.env"), []byte("# all\nLIBTORCH_DEFAULT=2.99.0\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(source, "build.sh"), []byte(text), 0o444)) // not executable, as in a module cache
	return source
}

// copies makes a home of the one that is there.
func copies(t *testing.T) string {
	t.Helper()
	place, err := home.Find()
	require.NoError(t, err)
	torch, _ := home.Torch(place.Dir)
	return `set -e
echo "$@" >"$XDG_CACHE_HOME/arguments"
mkdir -p "$2/lib" "$2/obj"
cp ` + quoted(place.Dir) + `/lib/libtorchgo.so ` + quoted(place.Dir) + `/lib/version.txt "$2/lib"
echo ` + quoted(torch) + ` >"$2/lib/torch.path"
`
}

// asProgram makes this test binary the command itself when it is started, as install does to see whether what it built opens.
func asProgram(t *testing.T) {
	cmd, _, _ := clitest.Program(t)
	for _, setting := range cmd.Env {
		if name, value, _ := strings.Cut(setting, "="); !slices.Contains(os.Environ(), setting) {
			t.Setenv(name, value)
		}
	}
}

func TestInstall(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	asProgram(t)
	source := script(t, copies(t))
	out := new(bytes.Buffer)
	require.NoError(t, request{wheels: "w"}.run(t.Context(), out, source), "%s", out)
	dir := filepath.Join(cache, "libtorch-go", "devel")
	require.Contains(t, out.String(), "is in "+dir)
	wheels, err := filepath.Abs("w")
	require.NoError(t, err)
	arguments, err := os.ReadFile(filepath.Join(cache, "arguments"))
	require.NoError(t, err)
	require.Equal(t, "--home "+dir+".partial --lean --torch "+filepath.Join(cache, "libtorch-go", "libtorch-2.99.0")+" --wheels "+wheels+"\n",
		string(arguments))
	require.FileExists(t, filepath.Join(dir, "lib", "libtorchgo.so"))
	require.NoDirExists(t, filepath.Join(dir, "obj"))
	require.NoDirExists(t, dir+".partial")
	require.NoError(t, request{}.run(t.Context(), out, source), "once more, in the place of the first")
	require.NoDirExists(t, dir+".old")

	own := filepath.Join(t.TempDir(), "own")
	require.NoError(t, request{home: own, cpu: true}.run(t.Context(), out, source))
	require.Contains(t, out.String(), "programs find it with LIBTORCH_GO_HOME="+own)
	arguments, err = os.ReadFile(filepath.Join(cache, "arguments"))
	require.NoError(t, err)
	require.Equal(t, "--home "+own+".partial --lean --cpu\n", string(arguments))
}

// What cannot be built, or does not open, is not installed, and what was there before remains.
func TestInstallThatFails(t *testing.T) {
	asProgram(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for name, scene := range map[string]struct{ script, want string }{
		"the script fails":         {"exit 3", "nothing was installed: see above (exit status 3)"},
		"the shim does not open":   {copies(t) + `echo text >"$2/lib/libtorchgo.so"`, "does not open, nothing was installed"},
		"the shim is not there":    {`mkdir -p "$2"`, "does not open, nothing was installed"},
		"libtorch is not in place": {copies(t) + `echo /nowhere >"$2/lib/torch.path"`, "cannot open libtorch in /nowhere/lib"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "home")
			require.NoError(t, os.MkdirAll(dir, 0o755))
			mark := filepath.Join(dir, "mark")
			require.NoError(t, os.WriteFile(mark, nil, 0o644))
			err := request{home: dir}.run(t.Context(), new(bytes.Buffer), script(t, scene.script))
			require.ErrorContains(t, err, scene.want)
			require.FileExists(t, mark)
		})
	}
}

// An interrupt ends all that the script has started, that what bash runs beside itself ignores it notwithstanding, and
// leaves nothing that a program would find.
func TestInstallIsInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	source := script(t, `mkdir -p "$2/lib"; sleep 600 & echo $! >"$2/pid"; echo started; wait`)
	ctx, cancel := context.WithCancel(t.Context())
	out := &clitest.Trigger{Text: "started", Fire: cancel}
	start := time.Now()
	err := request{home: dir}.run(ctx, out, source)
	require.Equal(t, 130, cli.ExitCode(err))
	require.EqualError(t, err, "interrupted; nothing was installed, run it again to go on")
	require.Less(t, time.Since(start), 10*time.Second)
	require.NoDirExists(t, dir)
	text, err := os.ReadFile(filepath.Join(dir+".partial", "pid"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return exec.Command("kill", "-0", strings.TrimSpace(string(text))).Run() != nil
	}, 5*time.Second, 10*time.Millisecond)
}

func TestInstallationsWaitForEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	locked, err := lock(t.Context(), path, new(bytes.Buffer))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	out := &clitest.Trigger{Text: "another installation is under way", Fire: cancel}
	_, err = lock(ctx, path, out)
	require.Equal(t, 130, cli.ExitCode(err))
	require.NoError(t, locked.Close())
	again, err := lock(t.Context(), path, new(bytes.Buffer))
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

func TestBundle(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go to compile a program with: ", err)
	}
	if _, err := os.Stat("../../go.mod"); err != nil {
		t.Skip("the sources are not here: ", err)
	}
	program := filepath.Join(t.TempDir(), "sum")
	text, err := exec.Command("go", "build", "-o", program, "../../internal/bundle/testdata/sum").CombinedOutput()
	require.NoError(t, err, "%s", text)
	dir := t.TempDir()
	folder, archive := filepath.Join(dir, "folder"), filepath.Join(dir, "all.tar")
	out := clitest.Run(t, run, "bundle", program, folder)
	require.Regexp(t, `(?m)^libtorch +\d+\.\d MB  .*libtorch_cpu\.so`, out)
	require.FileExists(t, filepath.Join(folder, "lib", "libtorchgo.so"))
	require.NoDirExists(t, folder+".partial")
	require.NoError(t, parcel{dest: folder}.vacant(), "an earlier bundle may be replaced")
	clitest.Run(t, run, "bundle", "-scratch", program, archive)
	text, err = exec.Command("tar", "-tf", archive).CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.Contains(t, string(text), "/libc.so.6\n")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late := filepath.Join(dir, "late.tar")
	require.Equal(t, 130, cli.ExitCode(run(ctx, []string{"bundle", program, late}, new(bytes.Buffer))))
	left, err := filepath.Glob(late + "*")
	require.NoError(t, err)
	require.Empty(t, left)

	other := filepath.Join(dir, "other")
	require.NoError(t, os.MkdirAll(filepath.Join(other, "mine"), 0o755))
	clitest.Fails(t, "libtorch", 1, "is not empty and no earlier bundle", "bundle", program, other)
	clitest.Fails(t, "libtorch", 1, "is there and is something else", "bundle", program, program)
	clitest.Fails(t, "libtorch", 2, "an image is compressed already", "bundle", "-oci", program, filepath.Join(dir, "x.tar.gz"))
	clitest.Fails(t, "libtorch", 1, "is no Go program", "bundle", filepath.Join(folder, "lib", "version.txt"), filepath.Join(dir, "x"))
}
