package home

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func fill(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "lib"), 0o755))
	require.NoError(t, os.WriteFile(Place{Dir: dir}.Shim(), nil, 0o644))
}

func TestPlacesInOrder(t *testing.T) {
	t.Setenv(Env, "")
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	var why []string
	for _, p := range Places() {
		why = append(why, p.Why)
		require.NotEmpty(t, p.Dir)
	}
	require.Equal(t, []string{"beside the executable", "the module's own", "the user's cache", "the system's"}, why)

	user, err := User()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(cache, "libtorch-go", "devel"), user)
	require.False(t, Places()[2].Has)
	fill(t, user)
	require.True(t, Places()[2].Has)
}

// The variable may name a home, or a checkout that has one in its third_party.
func TestTheVariableDecidesAlone(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Env, dir)
	require.Equal(t, []Place{{Dir: dir, Why: "$LIBTORCH_GO_HOME"}}, Places())
	_, err := Find()
	require.ErrorContains(t, err, "\n  "+filepath.Join(dir, "lib", "libtorchgo.so")+" ($LIBTORCH_GO_HOME)\nrun ./build.sh in ")
	require.ErrorContains(t, err, ": unset $LIBTORCH_GO_HOME, or point it at a folder")

	own := filepath.Join(dir, "third_party")
	fill(t, own)
	place, err := Find()
	require.NoError(t, err)
	require.Equal(t, Place{Dir: own, Why: "$LIBTORCH_GO_HOME", Has: true}, place)

	fill(t, dir)
	place, err = Find()
	require.NoError(t, err)
	require.Equal(t, dir, place.Dir)
}

func TestOneErrorSaysWhatToFill(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv(Env, "")
	err := missing([]Place{{Dir: "a", Why: "first"}, {Dir: "b", Why: "second"}})
	require.ErrorContains(t, err, "libtorchgo.so was not found at\n  a/lib/libtorchgo.so (first)\n  b/lib/libtorchgo.so (second)\n")
	require.ErrorContains(t, err, "run ./build.sh in "+Sources()+", which fills the module's own")
}

func TestTorch(t *testing.T) {
	home := t.TempDir()
	t.Setenv(EnvTorch, "")
	dir, why := Torch(home)
	require.Equal(t, filepath.Join(home, "libtorch", "torch"), dir)
	require.Equal(t, "beside the shim", why)

	note := filepath.Join(home, "lib", "torch.path")
	fill(t, home)
	require.NoError(t, os.WriteFile(note, []byte("/other/torch\n"), 0o644))
	dir, why = Torch(home)
	require.Equal(t, "/other/torch", dir)
	require.Equal(t, note, why)

	t.Setenv(EnvTorch, "/third/torch")
	dir, why = Torch(home)
	require.Equal(t, "/third/torch", dir)
	require.Equal(t, "$LIBTORCH", why)
}

func TestVersions(t *testing.T) {
	ours := func(version string) debug.Module { return debug.Module{Path: Module, Version: version} }
	user := debug.Module{Path: "example.com/hello", Version: "v9.9.9"}
	replaced := ours("v1.2.3")
	replaced.Replace = &debug.Module{Path: "../libtorch"}
	forked := ours("v1.2.3")
	forked.Replace = &debug.Module{Path: "example.com/fork", Version: "v1.2.4"}
	released := ours("v1.2.3")
	for name, scene := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"go run …/cmd/libtorch@v1.2.3":       {debug.BuildInfo{Main: ours("v1.2.3")}, "v1.2.3"},
		"go tool with a folder in our place": {debug.BuildInfo{Main: replaced}, ""},
		"a test in a checkout":               {debug.BuildInfo{Main: ours("(devel)")}, ""},
		"go build in a checkout": {debug.BuildInfo{Main: ours("v0.0.0-2026+dirty"),
			Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}}}, ""},
		"a program of another module": {debug.BuildInfo{Main: user, Deps: []*debug.Module{{Path: "x", Version: "v7.0.0"}, &released}}, "v1.2.3"},
		"a folder in our place":       {debug.BuildInfo{Main: user, Deps: []*debug.Module{&replaced}}, ""},
		"a fork":                      {debug.BuildInfo{Main: user, Deps: []*debug.Module{&forked}}, "v1.2.4"},
		"nothing of ours":             {debug.BuildInfo{Main: user}, ""},
	} {
		require.Equal(t, scene.want, versionIn(&scene.info), name)
	}
}
