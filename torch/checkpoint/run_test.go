package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/optim/swa"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// net is a small network with all that a checkpoint has to bring back: weights, statistics, tied weights.
type net struct {
	In    *nn.Linear
	Norm  *nn.BatchNorm1d
	Out   *nn.Linear
	Again *nn.Linear
}

func newNet() *net {
	n := &net{nn.NewLinear(4, 6), nn.NewBatchNorm1d(6), nn.NewLinear(6, 4), nn.NewLinear(4, 6)}
	n.Again.Weight = n.In.Weight
	return n
}

func (n *net) forward(x torch.Tensor) torch.Tensor {
	return n.Out.Forward(F.ReLU(n.Norm.Forward(F.Dropout(n.In.Forward(x).Add(n.Again.Forward(x)), 0.5, true))))
}

// training is a run in memory.
type training struct {
	model    *net
	opt      *optim.AdamW
	schedule *lr.Schedule
	average  *swa.AveragedModel[*net]
	step     int
}

func newTraining(seed uint64) *training {
	torch.ManualSeed(seed)
	t := &training{model: newNet()}
	t.opt = optim.NewAdamW(nn.Parameters(t.model), 0.01)
	t.schedule = lr.Step(t.opt, 5, 0.5)
	t.average = swa.NewAveragedModel(t.model)
	return t
}

func (t *training) parts() Parts {
	return Parts{"model": t.model, "optimizer": t.opt, "schedule": t.schedule, "average": t.average}
}

func (t *training) train() {
	torch.Scope(func() {
		t.opt.ZeroGrad()
		t.model.forward(torch.RandN(8, 4)).Square().Mean().Backward()
		t.opt.Step()
	})
	t.schedule.Step()
	t.average.UpdateParameters(t.model)
	t.step++
}

func (t *training) close() {
	t.opt.Close()
	nn.Close(t.average)
	nn.Close(t.model)
}

// weights are copies of all that the run has.
func (t *training) weights() map[string][]byte {
	list := map[string][]byte{}
	for name, w := range nn.StateDict(t.model) {
		list[name] = w.Bytes()
	}
	for name, w := range nn.StateDict(t.average) {
		list["average."+name] = w.Bytes()
	}
	return list
}

// A run that is thrown away and resumed again and again has the bits of one that is not.
func TestResumedRunsAreTheSame(t *testing.T) {
	torchtest.NoLeaks(t)
	const steps = 30
	whole := newTraining(1)
	for whole.step < steps {
		whole.train()
	}
	want := whole.weights()
	whole.close()
	for _, async := range []bool{false, true} {
		dir, r, pieces := t.TempDir(), rand.New(rand.NewPCG(1, 2)), 0
		for done := 0; done < steps; pieces++ {
			seed := uint64(1)
			if pieces > 0 {
				seed = 77 // what a new process would begin with
			}
			part := newTraining(seed)
			run, err := Open(dir, part.parts(), Options{Every: 3, Async: async})
			require.NoError(t, err)
			at, err := run.Resume(nil)
			require.NoError(t, err)
			part.step = at.Step
			require.Equal(t, done/3*3, at.Step)
			for range 1 + r.IntN(10) {
				if part.step < steps {
					part.train()
					stop, err := run.Step(context.Background(), Point{Step: part.step})
					require.NoError(t, err)
					require.False(t, stop)
				}
			}
			done = part.step
			require.NoError(t, run.Close())
			if done == steps {
				require.Equal(t, want, part.weights())
			}
			part.close()
		}
		require.Greater(t, pieces, 2)
	}
}

// What Save takes with Async is what there was when it was called.
func TestAsyncTakesASnapshot(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	part := newTraining(3)
	defer part.close()
	run, err := Open(dir, part.parts(), Options{Async: true})
	require.NoError(t, err)
	want := part.model.Out.Weight.Bytes()
	require.NoError(t, run.Save(Point{Step: 1}))
	torch.NoGrad(func() { part.model.Out.Weight.FillInPlace(7) })
	require.NoError(t, run.Wait())
	_, err = run.Resume(nil)
	require.NoError(t, err)
	require.Equal(t, want, part.model.Out.Weight.Bytes())
}

type user struct {
	Name  string
	Rates []float64
}

func TestPointsComeBack(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	part := newTraining(3)
	defer part.close()
	own := torch.NewGenerator(torch.CPU)
	defer own.Close()
	parts := part.parts()
	parts["augmentation"] = own
	run, err := Open(dir, parts)
	require.NoError(t, err)
	at, err := run.Resume(nil)
	require.NoError(t, err)
	require.Equal(t, Point{}, at)
	own.ManualSeed(5)
	require.NoError(t, run.Save(Point{Epoch: 2, Batch: 7, Step: 11, Metric: 0.5, User: user{"x", []float64{1, 2}}}))
	own.ManualSeed(6)
	var u user
	at, err = run.Resume(&u)
	require.NoError(t, err)
	require.Equal(t, user{"x", []float64{1, 2}}, u)
	require.Equal(t, filepath.Join(dir, "step-0000000011.1"), at.Path)
	at.Path, at.User = "", nil
	require.Equal(t, Point{Epoch: 2, Batch: 7, Step: 11, Metric: 0.5}, at)
	state := own.State()
	defer state.Close()
	other := torch.NewGenerator(torch.CPU)
	defer other.Close()
	wanted := other.ManualSeed(5).State()
	defer wanted.Close()
	require.Equal(t, wanted.Bytes(), state.Bytes())
}

func TestKeepAndBest(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, c := range []struct {
		lower bool
		want  []string
	}{
		{false, []string{"step-0000000002.2", "step-0000000005.5", "step-0000000006.6"}},
		{true, []string{"step-0000000003.3", "step-0000000005.5", "step-0000000006.6"}},
	} {
		dir := t.TempDir()
		x := &struct{ X torch.Tensor }{torch.Ones(2)}
		run, err := Open(dir, Parts{"x": x}, Options{Keep: 2, Best: 1, Lower: c.lower})
		require.NoError(t, err)
		for i, metric := range []float64{3, 9, 1, math.NaN(), 5, math.Inf(0) * 0} {
			require.NoError(t, run.Save(Point{Step: i + 1, Metric: metric}))
		}
		require.Equal(t, c.want, names(t, dir))
		x.X.Close()
	}
}

func names(t *testing.T, dir string) (list []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// Every single bit of a checkpoint counts: 2,000 of them, turned around one after the other, are all found.
func TestFlippedBits(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	part := newTraining(3)
	defer part.close()
	run, err := Open(dir, part.parts())
	require.NoError(t, err)
	part.train()
	require.NoError(t, run.Save(Point{Step: 1}))
	path, skipped, err := Latest(dir)
	require.NoError(t, err)
	require.Empty(t, skipped)
	r := rand.New(rand.NewPCG(3, 4))
	blamed := 0
	for i := range 2000 {
		file := filepath.Join(path, []string{dataFile, manifestFile}[i%2])
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		at, bit := r.IntN(len(text)), byte(1)<<r.IntN(8)
		text[at] ^= bit
		require.NoError(t, os.WriteFile(file, text, 0o600))
		err = Verify(path)
		var damage *DamageError
		require.ErrorAs(t, err, &damage, "byte %d of %s", at, file)
		if strings.Contains(err.Error(), "differs") {
			blamed++
		}
		text[at] ^= bit
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	require.NoError(t, Verify(path))
	require.Greater(t, blamed, 100, "tensors are named")
}

// A damaged checkpoint is passed over, and the one before it is resumed.
func TestDamagedOnesArePassedOver(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	part := newTraining(3)
	defer part.close()
	run, err := Open(dir, part.parts())
	require.NoError(t, err)
	for step := range 2 {
		part.train()
		require.NoError(t, run.Save(Point{Step: step + 1}))
	}
	require.NoError(t, os.Truncate(filepath.Join(dir, "step-0000000002.2", dataFile), 100))
	require.NoError(t, os.Mkdir(filepath.Join(dir, hidden+"half"), 0o700))
	run, err = Open(dir, part.parts(), Options{Keep: 1})
	require.NoError(t, err)
	at, err := run.Resume(nil)
	require.NoError(t, err)
	require.Equal(t, 1, at.Step)
	_, skipped, err := Latest(dir)
	require.NoError(t, err)
	require.Len(t, skipped, 1)
	require.ErrorContains(t, skipped[0], "step-0000000002.2 is damaged")
	require.NoError(t, run.Save(Point{Step: 2}))
	require.Equal(t, []string{"step-0000000002.3"}, names(t, dir))
}

func TestMistakes(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	x := &struct{ X torch.Tensor }{torch.Ones(2)}
	defer x.X.Close()
	_, err := Open(dir, Parts{"user": x})
	require.ErrorContains(t, err, `must not have the name "user"`)
	_, err = Open(dir, Parts{"x": x}, Options{Keep: -1})
	require.ErrorContains(t, err, "no negative number")
	_, err = Open(filepath.Join(dir, "file", "x"), nil)
	require.NoError(t, err)
	run, err := Open(dir, Parts{"x": x})
	require.NoError(t, err)
	require.ErrorContains(t, run.Save(Point{User: func() {}}), "no JSON")
	require.NoError(t, run.Save(Point{Step: 1, User: 7}))
	text := ""
	_, err = run.Resume(&text)
	require.ErrorContains(t, err, "the user's value does not fit")
	run, err = Open(dir, Parts{"x": x, "y": x})
	require.NoError(t, err)
	_, err = run.Resume(nil)
	require.ErrorContains(t, err, `no part "y"`)
	closed := &struct{ X torch.Tensor }{torch.Ones(2)}
	closed.X.Close()
	run, err = Open(dir, Parts{"x": closed})
	require.NoError(t, err)
	require.ErrorIs(t, run.Save(Point{Step: 2}), torch.ErrClosed)
	require.NoError(t, pt.Save(filepath.Join(dir, "list.pt"), []int{1}))
	_, err = run.Load(filepath.Join(dir, "list.pt"), nil)
	require.ErrorContains(t, err, "expected a dict of parts")
}

// What a check refuses is not written, and the checkpoint before stays the last.
func TestCheck(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, async := range []bool{false, true} {
		dir, x := t.TempDir(), &struct{ X torch.Tensor }{torch.Ones(2)}
		defer x.X.Close()
		var late error
		run, err := Open(dir, Parts{"x": x}, Options{Async: async, Check: func() error { return late }})
		require.NoError(t, err)
		require.NoError(t, run.Save(Point{Step: 1}))
		late = errors.New("an exchange has failed")
		require.ErrorIs(t, run.Save(Point{Step: 2}), late)
		require.NoError(t, run.Close())
		at, err := run.Resume(nil)
		require.NoError(t, err)
		require.Equal(t, 1, at.Step)
	}
}

// At the end of its context a run saves and stops.
func TestStepStopsAtTerm(t *testing.T) {
	torchtest.NoLeaks(t)
	part := newTraining(3)
	defer part.close()
	run, err := Open(t.TempDir(), part.parts(), Options{Async: true})
	require.NoError(t, err)
	ctx, cancel := OnTerm(context.Background())
	defer cancel()
	stop, err := run.Step(ctx, Point{Step: 1})
	require.NoError(t, err)
	require.False(t, stop)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	<-ctx.Done()
	stop, err = run.Step(ctx, Point{Step: 2})
	require.NoError(t, err)
	require.True(t, stop)
	at, err := run.Resume(nil)
	require.NoError(t, err)
	require.Equal(t, 2, at.Step)
}

// failing lets the n-th call to the disk fail; files accept a half of what is written then.
type failing struct {
	disk
	left *int
	err  error
}

func (f failing) fails() bool { *f.left--; return *f.left == 0 }

func (f failing) MkdirTemp(dir, pattern string) (string, error) {
	if f.fails() {
		return "", f.err
	}
	return f.disk.MkdirTemp(dir, pattern)
}

func (f failing) Create(path string) (file, error) {
	if f.fails() {
		return nil, f.err
	}
	own, err := f.disk.Create(path)
	return failingFile{own, f}, err
}

func (f failing) Rename(from, to string) error {
	if f.fails() {
		return f.err
	}
	return f.disk.Rename(from, to)
}

func (f failing) Sync(dir string) error {
	if f.fails() {
		return f.err
	}
	return f.disk.Sync(dir)
}

type failingFile struct {
	file
	f failing
}

func (f failingFile) Write(b []byte) (int, error) {
	if f.f.fails() {
		n, _ := f.file.Write(b[:len(b)/2])
		return n, f.f.err
	}
	return f.file.Write(b)
}

func (f failingFile) Sync() error {
	if f.f.fails() {
		return f.f.err
	}
	return f.file.Sync()
}

func (f failingFile) Close() error {
	err := f.file.Close()
	if f.f.fails() {
		return f.f.err
	}
	return err
}

// Whichever call to the disk fails, what was acknowledged stays and nothing else is left.
func TestEveryCallFails(t *testing.T) {
	torchtest.NoLeaks(t)
	part := newTraining(3)
	defer part.close()
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		failed := 0
		for n := 1; ; n++ {
			dir := t.TempDir()
			run, err := Open(dir, part.parts(), Options{Keep: 1})
			require.NoError(t, err)
			require.NoError(t, run.Save(Point{Step: 1}))
			left := n
			run.disk = failing{system{}, &left, &fs.PathError{Op: "write", Path: "x", Err: cause}}
			err = run.Save(Point{Step: 2})
			run, reopened := Open(dir, part.parts())
			require.NoError(t, reopened)
			at, resumed := run.Resume(nil)
			require.NoError(t, resumed)
			for _, name := range names(t, dir) {
				require.False(t, strings.HasPrefix(name, hidden), "call %d left %s", n, name)
			}
			if err == nil {
				require.Equal(t, 2, at.Step)
				require.Positive(t, left)
				break
			}
			require.True(t, errors.Is(err, cause), "call %d: %v", n, err)
			require.GreaterOrEqual(t, at.Step, 1)
			failed++
		}
		require.Greater(t, failed, 20)
	}
}
