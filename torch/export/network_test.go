package export_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Every network of torchvision that Python exports, of one image, of three and of any number, runs here with Python's bits, as it is and
// compiled, and what is saved here has the same bits there:
//
//	LIBTORCH_GO_EXPORT_MODELS=all go test -timeout 4h -run TestTorchvision -v ./torch/export
//	for k in 1 2 3 4 5 6 7; do LIBTORCH_GO_EXPORT_MODELS=$k/7 go test -count=1 -timeout 1h -run TestTorchvision -v ./torch/export; done
func TestTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	if os.Getenv(zooVariable) == "" {
		t.Skip(zooVariable, " names no networks; TestPythonToGoToPython has small ones of torchvision's")
	}
	torch.SetNumThreads(1)
	kinds, all := map[string]string{}, []string{}
	for answer := range python(t, "vision", "names").all(t) {
		var named [2]string
		require.NoError(t, json.Unmarshal(answer, &named))
		kinds[named[1]] = named[0]
		all = append(all, named[1])
	}
	for _, name := range chosen(t, all) {
		t.Run(name, func(t *testing.T) {
			if n := roundTrip(t, name); kinds[name] == "" {
				require.Equal(t, 3, n, "Python exports every classifier")
			}
		})
	}
}

// roundTrip takes the programs of a network from Python to Go and back, and says how many there were.
func roundTrip(t *testing.T, name string) (n int) {
	from, to := t.TempDir(), t.TempDir()
	for answer := range python(t, "vision", "write", from, name).all(t) {
		var program struct{ Name, Why string }
		require.NoError(t, json.Unmarshal(answer, &program))
		if program.Name == "" {
			t.Log("Python does not export", program.Why)
			continue
		}
		n++
		t.Run(program.Name, func(t *testing.T) {
			file := program.Name + ".pt2"
			path := filepath.Join(from, file)
			calls := path[:len(path)-1]
			p, err := export.Load(path)
			require.NoError(t, err)
			defer p.Close()
			require.NoError(t, p.Save(filepath.Join(to, file)))
			runLikePython(t, p.Call, calls, requireSame)
			exact := compiled(t, p, export.CompileOptions{Exact: true})
			torch.NoGrad(func() { runLikePython(t, exact.Call, calls, requireSame) })
		})
	}
	require.Equal(t, n, python(t, "vision", "check", from, to).count(t))
	return n
}
