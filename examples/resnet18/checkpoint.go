package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// A checkpoint is one safetensors file. Its tensors are those of the network and of the
// optimizer and the states of the random generators; all else is JSON in its metadata.
const (
	modelPrefix     = "model."     // then PyTorch's name
	optimizerPrefix = "optimizer." // then the parameter's number, a dot and the kind of state
	rngPrefix       = "rng."       // then the device
	metadataKey     = "resnet18"
)

// progress is what a checkpoint holds apart from tensors.
type progress struct {
	Recipe   recipe           `json:"recipe"`
	Images   int              `json:"images"` // to train on
	Epoch    int              `json:"epoch"`  // where to go on
	Batch    int              `json:"batch"`
	Best     float64          `json:"best_acc1"` // in percent
	Groups   []map[string]any `json:"param_groups"`
	Schedule map[string]any   `json:"schedule"`
	Scaler   map[string]any   `json:"scaler"`
	Tensors  int              `json:"tensors"` // how many the file has
}

// store writes the checkpoint if one is wanted: whole or not at all.
func (t *trainer) store() (err error) {
	if t.save == "" {
		return nil
	}
	torch.Scope(func() {
		optimizer := t.opt.StateDict()
		tensors := t.tensors(optimizer)
		var text []byte
		text, err = json.Marshal(progress{
			t.recipe, t.sets.train.len(), t.epoch, t.batch, t.best,
			optimizer["param_groups"].([]map[string]any), t.sched.StateDict(), t.scaler.StateDict(), len(tensors),
		})
		if err == nil {
			err = safetensors.Save(t.save, sorted(tensors), safetensors.SaveOptions{Metadata: map[string]string{metadataKey: string(text)}})
		}
	})
	return err
}

// tensors are those of a checkpoint.
func (t *trainer) tensors(optimizer optim.StateDict) map[string]torch.Tensor {
	list := map[string]torch.Tensor{}
	for name, tensor := range nn.StateDict(t.model) {
		list[modelPrefix+name] = tensor
	}
	for i, kinds := range optimizer["state"].(map[int]map[string]any) {
		for kind, tensor := range kinds {
			list[fmt.Sprintf("%s%d.%s", optimizerPrefix, i, kind)] = tensor.(torch.Tensor)
		}
	}
	for device, generator := range t.generators() {
		list[rngPrefix+device] = generator.State()
		generator.Close()
	}
	return list
}

// checkSave finds out before the training whether a checkpoint can be written.
func checkSave(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".resnet18-*")
	if err != nil {
		return fmt.Errorf("no checkpoint can be written to %s: %w", path, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// checkResume finds out before the images are obtained whether there is a checkpoint.
func checkResume(path string) error {
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("there is no checkpoint to resume: %w", err)
	}
	return nil
}

// load reads a checkpoint and restores the run; for -e it restores the network only.
func (t *trainer) load(path string) error {
	file, err := safetensors.Load(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if broken := torch.Try(func() { err = t.restore(file) }); broken != nil {
		err = broken
	}
	if err != nil {
		return fmt.Errorf("%s cannot be resumed: %w", path, err)
	}
	return nil
}

func (t *trainer) restore(file *safetensors.File) error {
	text, ok := file.Metadata[metadataKey]
	if !ok {
		return errors.New("it was not written by this program: use a file that -save wrote")
	}
	var p progress
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("its metadata are damaged: %w", err)
	}
	if err := nn.LoadStateDict(t.model, under(modelPrefix, file.Tensors)); err != nil {
		return brief(err)
	}
	t.best = p.Best
	if t.evaluate {
		return nil
	}
	if err := t.sameRun(p); err != nil {
		return err
	}
	if len(file.Tensors) != p.Tensors {
		return fmt.Errorf("it has %d tensors where %d were stored", len(file.Tensors), p.Tensors)
	}
	t.epoch, t.batch = p.Epoch, p.Batch
	optimizer := map[string]any{
		"state": byParameter(under(optimizerPrefix, file.Tensors)), "param_groups": p.Groups,
	}
	if err := errors.Join(t.opt.LoadStateDict(optimizer), t.sched.LoadStateDict(p.Schedule)); err != nil {
		return err
	}
	for device, generator := range t.generators() {
		if state, ok := file.Tensors[rngPrefix+device]; ok {
			generator.SetState(state)
		}
		generator.Close()
	}
	if len(p.Scaler) == 0 {
		return nil // the run that was stored did not use it
	}
	return t.scaler.LoadStateDict(p.Scaler)
}

// sameRun checks that this run can continue the one that was stored.
func (t *trainer) sameRun(p progress) error {
	if p.Recipe != t.recipe {
		return fmt.Errorf("it was written by a run with %v, but this run has %v; give the same flags, or -e to validate only", p.Recipe, t.recipe)
	}
	if n := t.sets.train.len(); p.Images != n {
		return fmt.Errorf("it was written by a run on %d images, but this run has %d; give the same -limit and -data, or -e to "+
			"validate only", p.Images, n)
	}
	if p.Epoch < 0 || p.Epoch > t.Epochs || p.Batch < 0 || p.Batch > t.train.Len() {
		return fmt.Errorf("it would continue at epoch %d, batch %d, but this run has no such batch", p.Epoch, p.Batch)
	}
	return nil
}

// String is the recipe as flags.
func (r recipe) String() string {
	text := fmt.Sprintf("-epochs %d -b %d -lr %v -momentum %v -wd %v -seed %d", r.Epochs, r.Batch, r.LR, r.Momentum, r.WeightDecay, r.Seed)
	if r.Graph {
		text += " -graph"
	}
	return text
}

// generators are the sources of random numbers that a run may use.
func (t *trainer) generators() map[string]*torch.Generator {
	list := map[string]*torch.Generator{torch.CPU.String(): torch.DefaultGenerator(torch.CPU)}
	if !t.device.IsCPU() {
		list[t.device.String()] = torch.DefaultGenerator(t.device)
	}
	return list
}

// under returns the tensors whose names begin with prefix, under names without it.
func under(prefix string, tensors map[string]torch.Tensor) map[string]torch.Tensor {
	list := map[string]torch.Tensor{}
	for name, tensor := range tensors {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			list[rest] = tensor
		}
	}
	return list
}

// byParameter undoes the names of optimizer tensors.
func byParameter(tensors map[string]torch.Tensor) map[int]map[string]any {
	state := map[int]map[string]any{}
	for name, tensor := range tensors {
		number, kind, _ := strings.Cut(name, ".")
		i, err := strconv.Atoi(number)
		if err != nil {
			continue // not an optimizer's tensor
		}
		if state[i] == nil {
			state[i] = map[string]any{}
		}
		state[i][kind] = tensor
	}
	return state
}

// sorted visits the tensors in the order of their names, so that equal runs write equal
// files.
func sorted(tensors map[string]torch.Tensor) iter.Seq2[string, torch.Tensor] {
	return func(yield func(string, torch.Tensor) bool) {
		for _, name := range slices.Sorted(maps.Keys(tensors)) {
			if !yield(name, tensors[name]) {
				return
			}
		}
	}
}

// brief shortens the error of a state dict that does not fit: it counts the names instead
// of listing them.
func brief(err error) error {
	var wrong *nn.StateDictError
	if !errors.As(err, &wrong) {
		return err
	}
	var parts []string
	if n := len(wrong.Missing); n > 0 {
		parts = append(parts, fmt.Sprintf("%d tensors are missing, %s among them", n, wrong.Missing[0]))
	}
	if n := len(wrong.Unexpected); n > 0 {
		parts = append(parts, fmt.Sprintf("%d are not of this network, %s among them", n, wrong.Unexpected[0]))
	}
	for _, m := range wrong.Mismatched {
		parts = append(parts, fmt.Sprintf("%s has shape %v where %v is expected", m.Name, m.Got, m.Want))
		break
	}
	return fmt.Errorf("its network is another one: %s", strings.Join(parts, "; "))
}
