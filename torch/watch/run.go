package watch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/libtorch-go/libtorch/internal/atomicfile"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/tensorboard"
)

// The files of a run's folder, beside those of TensorBoard.
const (
	scalarsFile = "scalars.jsonl"
	curvesFile  = "curves.svg"
)

const (
	senseEvery = 10 * time.Second
	drawEvery  = time.Minute
)

// Options are the rarer arguments of [Open].
type Options struct {
	Devices   []torch.Device // whose sensors are logged; default all cards that CUDA shows
	NoSensors bool
}

// Run is the folder of a training. It is a meter.Log, and may be used by several goroutines.
type Run struct {
	dir    string
	now    func() time.Time
	events *tensorboard.Writer

	mu      sync.Mutex
	file    *os.File // of the lines
	logs    []meter.Log
	curves  *Curves
	sensors *Sensors  // nil without
	sensed  time.Time // when they were last read
	drawn   time.Time
	failed  error
	closed  bool
}

// Open makes the folder of a run and begins its files. A folder of a run that goes on keeps its figures; those from the step on
// at which it goes on are replaced in the curves.
func Open(dir string, opts ...Options) (r *Run, err error) {
	o := option.One(opts)
	r = &Run{dir: dir, now: time.Now}
	if r.events, err = tensorboard.NewWriter(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, scalarsFile)
	if r.file, r.curves, err = continued(path); err != nil {
		return nil, errors.Join(fmt.Errorf("watch: cannot begin %s: %w", path, err), r.events.Close())
	}
	r.curves.Name = filepath.Base(filepath.Clean(dir))
	r.logs = []meter.Log{r.events, meter.NewJSONLines(r.file), r.curves}
	if !o.NoSensors {
		r.sensors = NewSensors(o.Devices...)
	}
	r.sensed, r.drawn = r.now(), r.now()
	return r, nil
}

// continued opens a file of lines to go on with it, and reads what it has. A last line without an end is taken away.
func continued(path string) (*os.File, *Curves, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	curves, err := ReadCurves(bytes.NewReader(text[:whole]))
	if err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, nil, err
	}
	if whole < len(text) {
		err = file.Truncate(int64(whole))
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, curves, nil
}

// TensorBoard writes what is no figure into the run: images, histograms, graphs, hyperparameters.
func (r *Run) TensorBoard() *tensorboard.Writer { return r.events }

// AddScalar adds a figure to all files of the run. Where ten seconds have gone since the sensors were read, it reads them, too; each
// minute it draws the curves. The first error is also that of all later calls and of [Run.Close]: a training may leave it to its end.
func (r *Run) AddScalar(tag string, value float64, step int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log(tag, value, step)
	now := r.now()
	if r.sensors != nil && now.Sub(r.sensed) >= senseEvery {
		r.sense(step)
	}
	if now.Sub(r.drawn) >= drawEvery {
		r.draw()
	}
	return r.failed
}

// Sense reads the sensors and logs them at a step of the run, whenever they were read before. Without sensors the reading is empty.
func (r *Run) Sense(step int) (Reading, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sensors == nil {
		return Reading{}, r.failed
	}
	return r.sense(step), r.failed
}

// Close draws the curves and ends the files. It returns the first error of the run's life, also when it is called again.
func (r *Run) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.failed
	}
	r.draw()
	r.closed = true
	r.fail(r.file.Close())
	r.fail(r.events.Close())
	return r.failed
}

func (r *Run) log(tag string, value float64, step int) {
	for _, to := range r.logs {
		if r.failed == nil {
			r.fail(to.AddScalar(tag, value, step))
		}
	}
}

func (r *Run) sense(step int) Reading {
	r.sensed = r.now()
	reading := r.sensors.Read()
	for _, f := range reading.figures() {
		r.log(f.tag, f.value, step)
	}
	return reading
}

func (r *Run) draw() {
	r.drawn = r.now()
	if r.failed == nil {
		r.fail(atomicfile.Write(filepath.Join(r.dir, curvesFile), func(w io.Writer) error { return WriteSVG(w, r.curves) }))
	}
}

// fail remembers the first error.
func (r *Run) fail(err error) {
	if err != nil && r.failed == nil {
		r.failed = fmt.Errorf("watch: cannot write to the run's folder: %w", err)
	}
}
