package checkpoint

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/faults"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// faultsVariable has the form that the test, run by itself, saves again and again, and the folder.
const faultsVariable = "CHECKPOINT_FAULTS"

// kept is a weight that is saved: all of its elements are the step.
type kept struct{ Small, Large torch.Tensor }

func (k *kept) set(step int) {
	torch.NoGrad(func() { torch.Scope(func() { k.Small.FillInPlace(step); k.Large.FillInPlace(step) }) })
}

func (k *kept) tensors() map[string]torch.Tensor {
	return map[string]torch.Tensor{"small": k.Small, "large": k.Large}
}

// is says whether these are the tensors of a step.
func is(step int, tensors map[string]torch.Tensor) error {
	for name, t := range tensors {
		if low, high := t.Min().Item(), t.Max().Item(); low != high || fmt.Sprint(low) != fmt.Sprint(float64(step)) {
			return fmt.Errorf("%s is between %v and %v, expected %d", name, low, high, step)
		}
	}
	return nil
}

// form is a way to save, and to find out which step there is.
type form struct {
	save func(dir string, k *kept, step int) error
	load func(dir string, k *kept) (step int, err error)
	left string // how the names begin of all that may be in the folder
}

// forms are all of them.
var forms = map[string]form{
	"run":   {saveRun(false), loadRun, prefix},
	"async": {saveRun(true), loadRun, prefix},
	"pt": {func(dir string, k *kept, step int) error { return pt.Save(filepath.Join(dir, "x.pt"), k.tensors()) },
		func(dir string, k *kept) (int, error) {
			tensors, err := pt.LoadStateDict(filepath.Join(dir, "x.pt"), pt.LoadOptions{Verify: true})
			return stepOf(tensors, err)
		}, "x.pt"},
	"safetensors": {func(dir string, k *kept, step int) error {
		return safetensors.Save(filepath.Join(dir, "x.safetensors"), maps.All(k.tensors()))
	},
		func(dir string, k *kept) (int, error) {
			file, err := safetensors.Load(filepath.Join(dir, "x.safetensors"))
			if err != nil {
				return 0, err
			}
			return stepOf(file.Tensors, nil)
		}, "x.safetensors"},
}

// saveRun saves as a run does, that may have been resumed.
func saveRun(async bool) func(string, *kept, int) error {
	return func(dir string, k *kept, step int) error {
		run, err := Open(dir, Parts{"weights": k}, Options{Keep: 1, Async: async})
		if err != nil {
			return err
		}
		return errors.Join(run.Save(Point{Step: step}), run.Close())
	}
}

func loadRun(dir string, k *kept) (int, error) {
	run, err := Open(dir, Parts{"weights": k})
	if err != nil {
		return 0, err
	}
	if _, skipped, err := Latest(dir); err != nil || skipped != nil {
		return 0, errors.Join(append(skipped, err)...)
	}
	at, err := run.Resume(nil)
	return at.Step, errors.Join(err, is(at.Step, k.tensors()))
}

// stepOf is the step that tensors have, all the same.
func stepOf(tensors map[string]torch.Tensor, err error) (step int, _ error) {
	if err != nil {
		return 0, err
	}
	torch.Scope(func() {
		step = int(tensors["small"].Select(0, 0).Float64())
		err = is(step, tensors)
	})
	for _, t := range tensors {
		t.Close()
	}
	return step, err
}

// savesUnderFaults saves once for each call that can fail, and looks at what is left.
func savesUnderFaults(value string) error {
	name, dir, _ := strings.Cut(value, ":")
	f := forms[name]
	k := &kept{torch.Zeros(3), torch.Zeros(300_000)}
	for round := 1; ; round++ {
		folder := filepath.Join(dir, fmt.Sprint(round))
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
		k.set(1)
		if err := f.save(folder, k, 1); err != nil {
			return err
		}
		k.set(2)
		faults.Begin()
		err := f.save(folder, k, 2)
		failed := faults.End()
		if err := f.after(folder, k, err); err != nil {
			return fmt.Errorf("call %d: %w", round, err)
		}
		if !failed {
			return err
		}
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
}

// after is the next start: what was acknowledged is there, and after another save nothing else is.
func (f form) after(folder string, k *kept, saved error) error {
	step, err := f.load(folder, k)
	if err != nil {
		return fmt.Errorf("unreadable: %w", err)
	}
	if step < 1 || saved == nil && step != 2 {
		return fmt.Errorf("there is step %d, and the save said %v", step, saved)
	}
	k.set(3)
	if err := f.save(folder, k, 3); err != nil {
		return err
	}
	if step, err := f.load(folder, k); err != nil || step != 3 {
		return fmt.Errorf("there is step %d after another save: %w", step, err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	if len(entries) != 1 || !strings.HasPrefix(entries[0].Name(), f.left) {
		return fmt.Errorf("strays: %v", entries)
	}
	return nil
}

// Whichever system call fails that has to do with the folder, with whatever error: nothing is unreadable, what was
// acknowledged stays, and the next start leaves nothing else.
func TestEverySystemCallFails(t *testing.T) {
	kinds := []struct {
		name  string
		fault faults.Kind
		least int // calls of one save that can fail so
	}{{"short", faults.Short, 2}, {"ENOSPC", faults.Kind(syscall.ENOSPC), 10}, {"EIO", faults.Kind(syscall.EIO), 10}}
	for i, name := range slices.Sorted(maps.Keys(forms)) {
		for j := range reliability.Size(len(kinds), 1) {
			kind := kinds[(i+j)%len(kinds)]
			t.Run(name+"/"+kind.name, func(t *testing.T) {
				dir := t.TempDir()
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), faultsVariable+"="+name+":"+dir, "OMP_NUM_THREADS=1")
				var out strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &out
				rounds, err := faults.Run(cmd, dir, kind.fault)
				if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
					t.Skip("this machine lets nobody trace a process: ", err)
				}
				require.NoError(t, err, out.String())
				reliability.AtLeast(t, "saves ("+name+") of which one system call fails ("+kind.name+"), and nothing is lost", rounds, kind.least)
			})
		}
	}
}
