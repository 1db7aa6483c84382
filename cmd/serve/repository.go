package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/libtorch-go/libtorch/cmd/serve/internal/inference"
	"github.com/libtorch-go/libtorch/internal/pin"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/serve"
)

// config is what config.json beside a model says. All of it may be left out for a .pt2.
type config struct {
	Architecture string   `json:"architecture"` // of a .safetensors: a name of vision/models
	Compile      string   `json:"compile"`      // how a .pt2 is computed: see compilings
	Device       string   `json:"device"`       // "cuda" or "cuda:1": where a .pt2 or a .safetensors is computed; default: the CPU
	Samples      string   `json:"samples"`      // what "int8" is calibrated with
	MaxBatch     int      `json:"max_batch"`
	MaxDelay     duration `json:"max_delay"`
	Buckets      []int    `json:"buckets"`
	Lanes        int      `json:"lanes"`
	Queue        int      `json:"queue"`
	SHA256       string   `json:"sha256"` // of the file of the model
	Inputs       []port   `json:"inputs"` // of a .pt, which does not say their dtypes and shapes, and of a package that does not
	Outputs      []port   `json:"outputs"`
	Labels       []string `json:"labels"` // of the classes
	Image        *picture `json:"image"`  // how pictures become inputs; without it there is no classify

	// What Triton's config.pbtxt says besides.
	Preferred []int           `json:"-"` // batches that wait for no more
	card      torch.Device    // that Device names; none for the CPU
	maxRows   int             // of a request; 0 is no limit
	version   int             // that is to be served; 0 is the newest
	ignored   []string        // fields that were not taken over
	triton    *pb.ModelConfig // nil if there is none
}

// port is an input or an output in JSON, as clients see it.
type port struct {
	Name     string `json:"name"`
	Datatype string `json:"datatype"` // "FP32"
	Shape    []int  `json:"shape"`
}

// duration is "2ms" in JSON.
type duration time.Duration

// UnmarshalText reads a duration as Go writes it.
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err
}

// A repository is the models of a folder: NAME.pt2, NAME/model.pt2 or, as Triton has them, NAME/VERSION/model.pt2, of which the highest
// version is served.
type repository struct {
	dir   string // empty for the model that is built in
	lanes *torch.Lanes
	log   *slog.Logger

	trusted  trusted
	patience time.Duration // how long a model may compute before it is ready; 0: as long as it does

	loading sync.Mutex // held while models are loaded or unloaded
	mu      sync.RWMutex
	models  map[string]*model
}

// A model is one that was loaded once.
type model struct {
	name, version string
	config        config
	server        *serve.Server        // nil when it is not loaded
	reason        string               // why not
	said          atomic.Pointer[said] // what came last
	told          atomic.Pointer[told] // what went last
}

// trusted are the models that are programs, and may be loaded all the same.
type trusted struct {
	scripts  bool // of TorchScript
	confined bool // of TorchScript, in child processes
	packages bool // of AOTInductor
}

// place is where a model is.
type place struct {
	name     string
	versions []candidate // the newest first
	config   string      // the file of our config
	triton   string      // Triton's
}

// candidate is a version of a model; the file of the model that is built in has no name.
type candidate struct {
	version int
	file    string
}

// choose is the version with that number, or the newest.
func (p place) choose(version int) (candidate, error) {
	for _, c := range p.versions {
		if version == 0 || c.version == version {
			return c, nil
		}
	}
	return candidate{}, fmt.Errorf("there is no version %d, which config.pbtxt wants", version)
}

var (
	errNoModel  = errors.New("there is no such model")
	errUnloaded = errors.New("the model is not loaded")
	endings     = []string{".pt2", ".safetensors", ".pt"}
)

// index lists the models of the folder.
func (r *repository) index() (list []place, err error) {
	if r.dir == "" {
		return []place{{name: builtIn, versions: []candidate{{version: 1}}}}, nil
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(r.dir, e.Name())
		name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			if p, ok := inFolder(path, e.Name()); ok {
				list = append(list, p)
			}
		case slices.Contains(endings, filepath.Ext(e.Name())):
			list = append(list, place{name: name, versions: []candidate{{1, path}}, config: filepath.Join(r.dir, name+".json")})
		}
	}
	return list, nil
}

// inFolder finds the versions of a model with a folder of its own.
func inFolder(dir, name string) (found place, ok bool) {
	found = place{name: name, config: filepath.Join(dir, "config.json"), triton: filepath.Join(dir, "config.pbtxt")}
	for _, ending := range endings {
		files, _ := filepath.Glob(filepath.Join(globEscape(dir), "*", "model"+ending)) // the pattern is sound
		for _, file := range append(files, filepath.Join(dir, "model"+ending)) {
			version := filepath.Base(filepath.Dir(file))
			if filepath.Dir(file) == dir {
				version = "1"
			}
			n, err := strconv.Atoi(version)
			if _, missing := os.Stat(file); err == nil && n >= 1 && missing == nil {
				found.versions = append(found.versions, candidate{n, file})
			}
		}
	}
	slices.SortStableFunc(found.versions, func(a, b candidate) int { return b.version - a.version })
	return found, len(found.versions) > 0
}

// globEscape makes a pattern of a path.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// loadAll loads every model of the folder, until ctx ends. A model that does not load is none to stop for: it is not ready.
func (r *repository) loadAll(ctx context.Context) error {
	list, err := r.index()
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := r.load(ctx, p.name); err != nil {
			r.log.Error("model not loaded", "model", p.name, "error", err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// load loads a model, or its newest version in the place of the one that is served; one that does not work changes nothing.
func (r *repository) load(ctx context.Context, name string) error {
	r.loading.Lock()
	defer r.loading.Unlock()
	list, err := r.index()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(p place) bool { return p.name == name })
	if i < 0 {
		return errNoModel
	}
	m := &model{name: name, version: strconv.Itoa(list[i].versions[0].version)}
	started := time.Now()
	err = r.open(ctx, m, list[i])
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if old := r.models[name]; old == nil || old.server == nil {
			m.reason = err.Error()
			r.models[name] = m
		}
		return err
	}
	r.models[name] = m
	r.log.Info("model loaded", "model", name, "version", m.version, "took", time.Since(started).Round(time.Millisecond))
	return nil
}

// open reads a model and has it served, unless ctx ends before it is ready.
func (r *repository) open(ctx context.Context, m *model, p place) (err error) {
	if r.patience > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeoutCause(ctx, r.patience, fmt.Errorf("it took longer than %v, which -warm-up permits", r.patience))
		defer cancel()
	}
	var own serve.Model
	r.lanes.Beside(func() { own, err = m.read(ctx, p, r.trusted) }) // weights are packed for as many threads as read them
	if err != nil {
		return err
	}
	if len(m.config.ignored) > 0 {
		r.log.Warn("config.pbtxt says more than was taken over", "model", m.name, "fields", m.config.ignored)
	}
	if old := r.find(m.name); old != nil && old.server != nil {
		if reflect.DeepEqual(m.config.options(), old.config.options()) {
			m.server = old.server
			return m.server.SwapContext(ctx, own)
		}
		defer func() {
			if err == nil {
				go old.server.Shutdown(context.Background()) //nolint:errcheck // nothing ends this context
			}
		}()
	}
	o := m.config.options()
	o.Share = r.lanes
	m.server, err = serve.NewContext(ctx, own, o)
	return err
}

func (c config) options() serve.Options {
	return serve.Options{Lanes: c.Lanes, MaxBatch: c.MaxBatch, MaxDelay: time.Duration(c.MaxDelay), Buckets: slices.Clone(c.Buckets),
		Preferred: c.Preferred, Queue: c.Queue, Device: c.card}
}

// unload ends a model when its requests have their answers.
func (r *repository) unload(ctx context.Context, name string) error {
	r.loading.Lock()
	defer r.loading.Unlock()
	r.mu.Lock()
	old := r.models[name]
	if old == nil || old.server == nil {
		r.mu.Unlock()
		return errNoModel
	}
	r.models[name] = &model{name: name, version: old.version, reason: "unloaded"}
	r.mu.Unlock()
	return old.server.Shutdown(ctx)
}

// close ends all models when their requests have their answers, or ctx ends.
func (r *repository) close(ctx context.Context) (err error) {
	for _, m := range r.all() {
		if m.server != nil {
			err = errors.Join(err, m.server.Shutdown(ctx))
		}
	}
	return err
}

// find is the model of that name, or nil.
func (r *repository) find(name string) *model {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.models[name]
}

// get is a model that can be asked.
func (r *repository) get(name, version string) (*model, error) {
	m := r.find(name)
	switch {
	case m == nil || version != "" && version != m.version:
		return nil, errNoModel
	case m.server == nil:
		return nil, fmt.Errorf("%w: %s", errUnloaded, m.reason)
	}
	return m, nil
}

// all lists the models by name.
func (r *repository) all() []*model {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var list []*model
	for _, m := range r.models {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *model) int { return strings.Compare(a.name, b.name) })
	return list
}

// readConfig reads what is said of a model. A name that it does not know is an error, since it is meant to do something.
func readConfig(path string, c *config) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	d := json.NewDecoder(file)
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// checkSum compares a file with what its config says of it.
func checkSum(f io.ReadSeeker, want string) error {
	if want == "" {
		return nil
	}
	if _, err := pin.Copy(io.Discard, f, want); err != nil {
		return err
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}
