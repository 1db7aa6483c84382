package road

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A folder of wheels takes the place of the network: what it has is checked, what it lacks is told.
func TestWheelsFromAFolder(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python: ", err)
	}
	versions, err := os.ReadFile(filepath.Join(checkout, "third_party", "versions.env"))
	require.NoError(t, err)
	pin := regexp.MustCompile(`\bfilelock==([\d.]+)`).FindSubmatch(versions)
	require.NotNil(t, pin, "a small wheel of one file")
	name := "filelock-" + string(pin[1]) + "-py3-none-any.whl"
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	wheel, err := os.ReadFile(filepath.Join(cache, "libtorch-go", "wheels", name))
	if err != nil {
		t.Skip("the wheel has not been downloaded: ", err)
	}
	folder, dest := t.TempDir(), filepath.Join(t.TempDir(), "dest")
	fetch := func() (string, error) {
		cmd := exec.Command(python, filepath.Join(checkout, "third_party", "scripts", "wheels.py"), t.TempDir(), dest, "--from", folder,
			string(pin[0]))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := fetch()
	require.Error(t, err)
	require.Contains(t, out, folder+" lacks "+name)

	require.NoError(t, os.WriteFile(filepath.Join(folder, name), wheel[1:], 0o644))
	out, err = fetch()
	require.Error(t, err)
	require.Contains(t, out, "hash mismatch: ")
	require.NoDirExists(t, dest)

	require.NoError(t, os.WriteFile(filepath.Join(folder, name), wheel, 0o444))
	out, err = fetch()
	require.NoError(t, err, "%s", out)
	require.FileExists(t, filepath.Join(dest, "filelock", "__init__.py"))
}
