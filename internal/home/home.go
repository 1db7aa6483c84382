package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Environment variables that control loading.
const (
	Env      = "LIBTORCH_GO_HOME" // a home, or a checkout that ./build.sh has run in
	EnvTorch = "LIBTORCH"         // another libtorch: Python's torch folder or an unpacked zip
)

// Shim is the library that a home must have in lib/.
const Shim = "libtorchgo.so"

// Heap is the library in lib/ that is opened before libtorch; a home that is instrumented has none.
const Heap = "libtorchgo_heap.so"

// A Place is a folder that may be a home.
type Place struct {
	Dir string `json:"dir"`
	Why string `json:"why"` // why it is looked at
	Has bool   `json:"has"` // whether the shim is in it
}

// Shim is the path of the shim in the place.
func (p Place) Shim() string { return filepath.Join(p.Dir, "lib", Shim) }

// Places lists where this program looks for its home, in order; the first that has one is used. A
// folder that the environment names is used or refused, never replaced by another.
func Places() []Place {
	list := candidates()
	for i, p := range list {
		_, err := os.Stat(p.Shim())
		list[i].Has = err == nil
	}
	return list
}

func candidates() (list []Place) {
	if dir := FromEnv(); dir != "" {
		return []Place{{Dir: dir, Why: "$" + Env}}
	}
	if exe, err := executable(); err == nil {
		list = append(list, Place{Dir: filepath.Dir(exe), Why: "beside the executable"})
	}
	if root := Sources(); root != "" && Version() == "" {
		list = append(list, Place{Dir: filepath.Join(root, "third_party"), Why: "the module's own"})
	}
	if dir, err := User(); err == nil {
		list = append(list, Place{Dir: dir, Why: "the user's cache"})
	}
	return append(list, Place{Dir: "/usr/local/lib/libtorch-go", Why: "the system's"})
}

// FromEnv is the home that the environment names, itself or, where that is a checkout, its third_party. It is "" where
// none is named.
func FromEnv() string {
	dir := os.Getenv(Env)
	if dir == "" {
		return ""
	}
	inside := Place{Dir: filepath.Join(dir, "third_party")}
	if _, err := os.Stat(inside.Shim()); err != nil {
		return dir
	}
	if _, err := os.Stat(Place{Dir: dir}.Shim()); err == nil {
		return dir
	}
	return inside.Dir
}

// executable is os.Executable also where there is no /proc to ask: under a bare chroot.
func executable() (string, error) {
	exe, err := os.Executable()
	if err != nil && strings.Contains(os.Args[0], "/") {
		return filepath.Abs(os.Args[0])
	}
	return exe, err
}

// Sources is the folder of this module that the program was compiled from: a checkout or one in the
// module cache. It is "" where that is gone, or where -trimpath has removed its path.
func Sources() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	root := filepath.Join(filepath.Dir(file), "..", "..")
	if _, err := os.Stat(filepath.Join(root, "build.sh")); err != nil {
		return ""
	}
	return root
}

// Cache is the folder of all that this module keeps for a user.
func Cache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no cache folder: %w", err)
	}
	return filepath.Join(dir, "libtorch-go"), nil
}

// User is the home in the user's cache: one for each version of this module, because shim and program have to fit.
func User() (string, error) {
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	version := Version()
	if version == "" {
		version = "devel"
	}
	return filepath.Join(cache, version), nil
}

// Find is the home of this program. Without one the error says what to do.
func Find() (Place, error) {
	places := Places()
	for _, p := range places {
		if p.Has {
			return p, nil
		}
	}
	return Place{}, missing(places)
}

// missing is the one error that says which of the places to fill, and how.
func missing(tried []Place) error {
	var b strings.Builder
	b.WriteString("libtorch is not installed: " + Shim + " was not found at")
	for _, p := range tried {
		fmt.Fprintf(&b, "\n  %s (%s)", p.Shim(), p.Why)
	}
	switch dir, err := User(); {
	case os.Getenv(Env) != "":
		fmt.Fprintf(&b, "\n%s: unset $%s, or point it at a folder that %s has filled", Advice(), Env, "./build.sh or `libtorch install`")
	case err != nil:
		fmt.Fprintf(&b, "\n%s, which fills the user's cache, for which $HOME must be set; or point $%s at a filled folder", Advice(), Env)
	case Version() == "" && Sources() != "":
		fmt.Fprintf(&b, "\n%s, which fills the module's own, or point $%s at a filled folder", Advice(), Env)
	default:
		fmt.Fprintf(&b, "\n%s, which fills %s; for another machine `libtorch bundle` fills the folder beside the executable; or "+
			"point $%s at a filled folder",
			Advice(), dir, Env)
	}
	return errors.New(b.String())
}

// Advice is the command that installs what this program needs, with flags such as --cuda.
func Advice(flags ...string) string {
	text := strings.Join(append([]string{""}, flags...), " ")
	version := Version()
	if root := Sources(); root != "" && version == "" {
		return fmt.Sprintf("run ./build.sh%s in %s", text, root)
	}
	if version != "" {
		version = "@" + version
	}
	return "run `go run " + Module + "/cmd/libtorch" + version + " install" + text + "`"
}

// Torch is the folder of the libtorch that belongs to a home: it has lib/ and, as a rule, include/.
func Torch(dir string) (torch, why string) {
	if torch := os.Getenv(EnvTorch); torch != "" {
		return torch, "$" + EnvTorch
	}
	note := filepath.Join(dir, "lib", "torch.path")
	if text, err := os.ReadFile(note); err == nil {
		return strings.TrimSpace(string(text)), note
	}
	return filepath.Join(dir, "libtorch", "torch"), "beside the shim"
}
