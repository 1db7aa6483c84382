package road

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
)

var (
	road   = flag.Bool("road", false, "go the whole road, which builds the shim once more")
	update = flag.Bool("update", false, "write docs/trial.md")
)

// The bars: what a new user has to type until the first answer, and what all of the road may take.
const (
	maxCommands = 15
	maxLines    = 60
	maxTime     = 6 * time.Minute
)

const checkout = "../.."

var answer = regexp.MustCompile(`(?m)^class \d+ of 1000, \d+\.\d % sure$`)

// trip is one user on the road.
type trip struct {
	home, port string
	env        []string
	photo      []byte
	steps      []step
}

func TestREADME(t *testing.T) {
	if !*road {
		t.Skip("it builds the shim once more: -road, or ./build.sh test, does it")
	}
	page, err := os.ReadFile(filepath.Join(checkout, "README.md"))
	require.NoError(t, err)
	watch := newWatch()
	u := depart(t)
	text := strings.ReplaceAll(string(page), "8080", u.port)

	own, err := section(text, "In your own module")
	require.NoError(t, err)
	lines := 0
	for _, b := range own {
		if b.language == "go" {
			lines += strings.Count(b.text, "\n")
		}
	}
	out, steps := run(t, u.home, script(own), u.env)
	first := answer.FindString(out)
	require.NotEmpty(t, first, "no answer: %s", out)
	require.LessOrEqual(t, len(steps), maxCommands)
	require.LessOrEqual(t, lines, maxLines)
	u.steps = steps
	commands := len(steps)

	u.ship(t, text, first)
	u.service(t)
	u.stray(t)

	said := fmt.Sprintf("%d commands and %d lines of Go until the first answer; %s", commands, lines, watch)
	t.Log(said)
	if os.Getenv("CI") != "" && watch.alone() {
		require.Less(t, watch.wall(), maxTime)
	}
	u.pathless(t)
	if *update {
		u.writeTrial(t, said)
	}
}

// depart is a user with nothing but the tools that README asks for, a proxy that has this module, and libtorch's wheels,
// downloaded before.
func depart(t *testing.T) *trip {
	t.Helper()
	home := t.TempDir()
	t.Cleanup(func() { writable(home) }) // Go's module cache is read-only
	root, err := filepath.Abs(checkout)
	require.NoError(t, err)
	proxy := filepath.Join(t.TempDir(), "proxy")
	require.NoError(t, publish(root, proxy))
	download := exec.Command("go", "mod", "download") // also what only a build tag asks for: go mod tidy looks behind all of them
	download.Dir = root
	said, err := download.CombinedOutput()
	require.NoError(t, err, "%s", said)
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	require.NoError(t, err)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".cache", "libtorch-go"), 0o755))
	wheels := filepath.Join(cache, "libtorch-go", "wheels")
	require.NoError(t, os.MkdirAll(wheels, 0o755))
	require.NoError(t, os.Symlink(wheels, filepath.Join(home, ".cache", "libtorch-go", "wheels")))

	u := &trip{home: home, port: strconv.Itoa(clitest.FreePort(t)), photo: photo(t)}
	require.NoError(t, os.WriteFile(filepath.Join(home, "photo.jpg"), u.photo, 0o644))
	u.env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PYTHON=" + strings.TrimSpace(string(python)), "GOTOOLCHAIN=local",
		"GOSUMDB=off",
		"GOPROXY=file://" + proxy + ",file://" + goEnv(t, "GOMODCACHE") + "/cache/download,off"}
	for _, name := range []string{"CXX", "CC", "TMPDIR", "CMAKE_CXX_COMPILER_LAUNCHER"} {
		if value, set := os.LookupEnv(name); set {
			u.env = append(u.env, name+"="+value)
		}
	}
	if os.Getenv("CMAKE_CXX_COMPILER_LAUNCHER") != "" { // the compiler's cache, where the machine has one
		u.env = append(u.env, "CCACHE_DIR="+filepath.Join(cache, "ccache"), "CCACHE_BASEDIR="+home, "CCACHE_NOHASHDIR=1")
	}
	return u
}

// goEnv is one of Go's settings on this machine.
func goEnv(t *testing.T, name string) string {
	text, err := exec.Command("go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}

// ship does what README says of other machines, and what its Dockerfile does, and has the program answer where there is
// nothing but the bundle.
func (u *trip) ship(t *testing.T, page, first string) {
	blocks, err := section(page, "Shipping it")
	require.NoError(t, err)
	var commands []string
	var program string
	for _, b := range blocks {
		if b.language == "dockerfile" {
			require.LessOrEqual(t, strings.Count(b.text, "\n"), 12)
			var more []string
			more, program = b.image()
			commands = append(commands, more...)
		} else if b.language == "sh" {
			commands = append(commands, b.commands()...)
		}
	}
	require.NotEmpty(t, program)
	text := prelude
	for _, command := range commands {
		if !strings.Contains(command, "docker ") {
			text += fmt.Sprintf("step '%s'\n", command)
		}
	}
	dir := filepath.Join(u.home, "hello")
	out, steps := run(t, dir, text, u.env)
	u.steps = append(u.steps, steps...)
	sizesAreTrue(t, page, out)
	require.Equal(t, first, u.ask(t, isolated(t, filepath.Join(dir, "dist"), program)))
	require.Equal(t, first, u.ask(t, isolated(t, unpack(t, filepath.Join(dir, "image.tar")), program)))
}

// unpack lays out an image as a container has it: its layers, one over the other.
func unpack(t *testing.T, image string) (root string) {
	blobs, root := t.TempDir(), t.TempDir()
	tar := func(args ...string) {
		out, err := exec.Command("tar", args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	tar("-xf", image, "-C", blobs)
	text, err := os.ReadFile(filepath.Join(blobs, "manifest.json"))
	require.NoError(t, err)
	var images []struct{ Layers []string }
	require.NoError(t, json.Unmarshal(text, &images))
	for _, layer := range images[0].Layers {
		tar("-xzf", filepath.Join(blobs, layer), "-C", root)
	}
	return root
}

// pathless has the tool work without the paths of its sources. It is not on the way of anybody who follows README, and all of Go's own
// packages would be compiled once more for it, where the machine's cache has not got them. Nothing was written into the module cache by
// all that came before.
func (u *trip) pathless(t *testing.T) {
	out, _ := run(t, filepath.Join(u.home, "hello"), prelude+`
step 'go build -trimpath -o ../tool `+module+`/cmd/libtorch'
step '../tool install'
step '../tool doctor'
step 'go mod verify'
`, append(u.env, "GOCACHE="+goEnv(t, "GOCACHE")))
	require.Contains(t, out, "has it already")
	require.Contains(t, out, "all modules verified")
}

// stray does what README does not say: a program whose home is gone, and one that is told of it as a folder.
func (u *trip) stray(t *testing.T) {
	dir := filepath.Join(u.home, "hello")
	lost := exec.Command(filepath.Join(dir, "hello"))
	lost.Env = []string{"HOME=" + t.TempDir()}
	text, err := lost.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(text), "libtorch is not installed")
	require.Contains(t, string(text), "run `go run "+module+"/cmd/libtorch@"+version+" install`")
	lost.Env = append(lost.Env, "LIBTORCH_GO_HOME="+filepath.Join(dir, "dist"))
	found := exec.Command(lost.Path)
	found.Env = lost.Env
	require.Regexp(t, answer, u.ask(t, found))
}

// sizesAreTrue compares what README says of the size of an archive, in the comment behind its command, with what the
// command said when it had written it.
func sizesAreTrue(t *testing.T, page, out string) {
	claims := regexp.MustCompile(`bundle .*?(\S+)   # (\d+) MB`).FindAllStringSubmatch(page, -1)
	require.Len(t, claims, 2)
	for _, claim := range claims {
		found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(claim[1]) + ` +([\d.]+) MB$`).FindStringSubmatch(out)
		require.NotNil(t, found, claim[0])
		said, err := strconv.ParseFloat(claim[2], 64)
		require.NoError(t, err)
		is, err := strconv.ParseFloat(found[1], 64)
		require.NoError(t, err)
		require.InEpsilon(t, said, is, 0.05, claim[0])
	}
}

// isolated is the program alone, with its arguments: its bundle is all of the file system, but for /dev and /proc, which every
// container has; PATH and environment are empty.
func isolated(t *testing.T, dir, program string, args ...string) *exec.Cmd {
	t.Helper()
	const enter = `mkdir -p "$0/dev" "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /proc "$0/proc" && exec env -i "$@"`
	for _, flags := range [][]string{{"--mount"}, {"--mount", "--map-root-user"}} {
		if exec.Command("unshare", append(flags, "true")...).Run() != nil {
			continue
		}
		chroot, err := exec.LookPath("chroot")
		require.NoError(t, err)
		return exec.Command("unshare", slices.Concat(flags, []string{"sh", "-c", enter, dir, chroot, dir, program}, args)...)
	}
	t.Log("the bundle was not run as a file system of its own: unshare is not permitted here")
	for i, arg := range args {
		if filepath.IsAbs(arg) {
			args[i] = filepath.Join(dir, arg)
		}
	}
	cmd := exec.Command(filepath.Join(dir, program), args...)
	cmd.Env = []string{}
	return cmd
}

// ask starts a program, sends it the picture, and returns its answer.
func (u *trip) ask(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for range 100 {
		response, err := http.Post("http://localhost:"+u.port, "image/jpeg", bytes.NewReader(u.photo))
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		require.NoError(t, err)
		require.Empty(t, log.String(), "a program that finds all it needs says nothing")
		return strings.TrimSpace(string(text))
	}
	require.Fail(t, "the program does not answer", "%s", log.String())
	return ""
}

// photo is a picture of nothing.
func photo(t *testing.T) []byte {
	img := image.NewGray(image.Rect(0, 0, 320, 240))
	for i := range img.Pix {
		img.SetGray(i%320, i/320, color.Gray{Y: uint8(i * i >> 8)})
	}
	var out bytes.Buffer
	require.NoError(t, jpeg.Encode(&out, img, nil))
	return out.Bytes()
}

func writable(dir string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return nil
	})
}

// writeTrial writes down what was typed and how long it took.
func (u *trip) writeTrial(t *testing.T, said string) {
	var b strings.Builder
	fmt.Fprintf(&b, "# A new user's trial\n\nWritten by `go test ./internal/road -road -update`, which `./build.sh test` runs "+
		"without `-update`: the commands of README on a\n"+
		"machine with Go, g++ and Python, an empty home and an empty module cache; libtorch's wheels had been downloaded before (545 MB).\n\n"+
		"%s.\n\n| command | seconds |\n|---|---|\n", said)
	for _, s := range u.steps {
		fmt.Fprintf(&b, "| `%s` | %.1f |\n", strings.ReplaceAll(s.command, u.port, "8080"), s.seconds)
	}
	require.NoError(t, os.WriteFile(filepath.Join(checkout, "docs", "trial.md"), []byte(b.String()), 0o644))
}
