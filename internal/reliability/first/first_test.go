package first

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
)

const module = "github.com/libtorch-go/libtorch"

// public are the patterns of the packages that programs import.
var public = []string{"./torch/...", "./amp/...", "./vision/..."}

//go:embed testdata/caller.go.tmpl
var callerText string

// entry is a function or method, as an expression of the generated program.
type entry struct{ Name, Expr string }

// TestEveryFunctionMayBeTheFirst calls them all where libtorch cannot be found, in one process:
// nothing is ever open there. In full size each is also the first call of a process that can.
func TestEveryFunctionMayBeTheFirst(t *testing.T) {
	list := exported(t)
	require.Greater(t, len(list), 2500)
	program := build(t, list)
	closed := func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "LIBTORCH_GO_HOME="+t.TempDir(), "LIBTORCH=") }
	called, crashed := 0, []string{}
	for from := 0; from < len(list); {
		made, ok := run(t, program, closed, fmt.Sprint(from), fmt.Sprint(len(list)))
		called += made
		if from += made; !ok {
			crashed = append(crashed, list[from].Name)
			from++
		}
	}
	assert.Empty(t, crashed, "these end the process where libtorch is not open")
	reliability.Exactly(t, "exported functions called where libtorch cannot be found", called, len(list))
	if reliability.Size(true, false) {
		each(t, program, list)
	}
}

// each starts a process for every function.
func each(t *testing.T, program string, list []entry) {
	home, err := filepath.Abs(filepath.Join("..", "..", "..", "third_party"))
	require.NoError(t, err)
	open := func(cmd *exec.Cmd) {
		if os.Getenv("LIBTORCH_GO_HOME") == "" {
			cmd.Env = append(cmd.Env, "LIBTORCH_GO_HOME="+home)
		}
	}
	var next atomic.Int64
	var mu sync.Mutex
	var crashed []string
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1) - 1); i < len(list); i = int(next.Add(1) - 1) {
				if _, ok := run(t, program, open, fmt.Sprint(i), fmt.Sprint(i+1)); !ok {
					mu.Lock()
					crashed = append(crashed, list[i].Name)
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	assert.Empty(t, crashed, "these end the process as its first call")
	reliability.Exactly(t, "exported functions that were the first call of a process and ended it", len(crashed), 0)
}

// run makes the calls from one number up to another and counts those that came back. It is not
// ok if the process ended before the last.
func run(t *testing.T, program string, prepare func(*exec.Cmd), from, to string) (made int, ok bool) {
	cmd := exec.Command(program, from, to)
	cmd.Dir = t.TempDir() // what is called may write files; it does not reach the network
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cmd.Dir, "https_proxy=http://127.0.0.1:1", "http_proxy=http://127.0.0.1:1")
	prepare(cmd)
	var last bytes.Buffer
	cmd.Stderr = &last
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "called ") {
			made++
		}
	}
	if err := cmd.Wait(); err != nil {
		text := last.String()
		t.Logf("call %s and %d on: %v\n%s", from, made, err, text[:min(len(text), 600)])
		return made, false
	}
	return made, true
}

// build compiles a program that knows the functions by number.
func build(t *testing.T, list []entry) string {
	dir := t.TempDir()
	imports := map[string]string{}
	for _, e := range list {
		for _, part := range strings.FieldsFunc(e.Expr, func(r rune) bool { return !isName(r) }) {
			if path, found := strings.CutPrefix(part, "p_"); found {
				path, _, _ = strings.Cut(path, ".")
				imports["p_"+path] = module + "/" + strings.ReplaceAll(path, "_", "/")
			}
		}
	}
	source, err := os.Create(filepath.Join(dir, "caller.go"))
	require.NoError(t, err)
	require.NoError(t, template.Must(template.New("").Parse(callerText)).Execute(source,
		map[string]any{"Imports": imports, "Entries": list, "Module": module}))
	require.NoError(t, source.Close())
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	place := filepath.Join(root, "internal", "reliability", "first", "caller")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(place, "caller.go"): source.Name()}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	program := filepath.Join(dir, "caller")
	cmd := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./internal/reliability/first/caller")
	cmd.Dir = root
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
	return program
}

func isName(r rune) bool {
	return r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// exported lists the functions and methods of the public packages, instances of generic ones.
func exported(t *testing.T) (list []entry) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export,DepOnly,Name"}, public...)...)
	cmd.Dir = filepath.Join("..", "..", "..")
	text, err := cmd.Output()
	require.NoError(t, err)
	exports, own := map[string]string{}, []string{}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var p struct {
			ImportPath, Export, Name string
			DepOnly                  bool
		}
		if err := decoder.Decode(&p); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly && p.Name != "main" && p.Name != "torchtest" && !strings.Contains(p.ImportPath, "/internal/") {
			own = append(own, p.ImportPath)
		}
	}
	load := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, path := range own {
		p, err := load.Import(path)
		require.NoError(t, err)
		for _, name := range p.Scope().Names() {
			if object := p.Scope().Lookup(name); object.Exported() {
				list = append(list, entriesOf(p, object)...)
			}
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	end := func(e entry) bool { return e.Name == "torch.Shutdown" } // after it every call is refused
	at := slices.IndexFunc(list, end)
	require.GreaterOrEqual(t, at, 0)
	list = append(slices.Delete(slices.Clone(list), at, at+1), list[at])
	return list
}

// entriesOf are a function, or the methods of a type.
func entriesOf(p *types.Package, object types.Object) (list []entry) {
	prefix := "p_" + strings.ReplaceAll(strings.TrimPrefix(p.Path(), module+"/"), "/", "_") + "."
	short := strings.TrimPrefix(p.Path(), module+"/") + "."
	switch o := object.(type) {
	case *types.Func:
		if args, ok := instance(o.Signature().TypeParams(), o.Type()); ok {
			list = append(list, entry{short + o.Name(), prefix + o.Name() + args})
		}
	case *types.TypeName:
		named, ok := o.Type().(*types.Named)
		if !ok || o.IsAlias() {
			return nil
		}
		args, ok := instance(named.TypeParams(), named)
		if _, abstract := named.Underlying().(*types.Interface); abstract || !ok {
			return nil
		}
		for i := range named.NumMethods() {
			if m := named.Method(i); m.Exported() {
				list = append(list, entry{short + o.Name() + "." + m.Name(), "(*" + prefix + o.Name() + args + ")." + m.Name()})
			}
		}
	}
	return list
}

// instance picks types that a generic function or type takes.
func instance(params *types.TypeParamList, generic types.Type) (string, bool) {
	if params.Len() == 0 {
		return "", true
	}
	for _, c := range []struct {
		name string
		typ  types.Type
	}{{"float32", types.Typ[types.Float32]}, {"int", types.Typ[types.Int]}, {"any", types.Universe.Lookup("any").Type()}} {
		args := make([]types.Type, params.Len())
		for i := range args {
			args[i] = c.typ
		}
		if _, err := types.Instantiate(nil, generic, args, true); err == nil {
			return "[" + strings.Repeat(c.name+", ", params.Len()-1) + c.name + "]", true
		}
	}
	return "", false
}
