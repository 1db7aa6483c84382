package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// safetensorsVariable has the folder of a training that keeps itself in a safetensors file and texts in it, without
// this package.
const safetensorsVariable = "CHECKPOINT_SAFETENSORS_CHILD"

func inSafetensors(dir string) string { return filepath.Join(dir, "run.safetensors") }

// safetensorsChild trains until it is killed, or done, as child does.
func safetensorsChild(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	part := newTraining(1)
	if err := part.loadSafetensors(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fmt.Println("resumed", part.step)
	for part.step < killedSteps {
		part.train()
		if err := part.saveSafetensors(dir); err != nil {
			return err
		}
		fmt.Println("saved", part.step)
	}
	return nil
}

// saveSafetensors writes all tensors of the training, and the rest as JSON.
func (t *training) saveSafetensors(dir string) error {
	tensors := map[string]torch.Tensor{}
	for name, w := range nn.StateDict(t.model) {
		tensors["model."+name] = w
	}
	for name, w := range nn.StateDict(t.average) {
		tensors["average."+name] = w
	}
	dict := t.opt.StateDict()
	for i, state := range dict["state"].(map[int]map[string]any) {
		for name, v := range state {
			tensors[fmt.Sprintf("optimizer.%d.%s", i, name)] = v.(torch.Tensor)
		}
	}
	g := torch.DefaultGenerator(torch.CPU)
	defer g.Close()
	tensors["generator"] = g.State()
	defer tensors["generator"].Close()
	groups, err := json.Marshal(dict["param_groups"])
	if err != nil {
		return err
	}
	schedule, err := json.Marshal(t.schedule.StateDict())
	if err != nil {
		return err
	}
	return safetensors.Save(inSafetensors(dir), maps.All(tensors), safetensors.SaveOptions{Metadata: map[string]string{
		"step": strconv.Itoa(t.step), "groups": string(groups), "schedule": string(schedule),
	}})
}

// loadSafetensors brings the training to where the file was.
func (t *training) loadSafetensors(dir string) error {
	file, err := safetensors.Load(inSafetensors(dir))
	if err != nil {
		return err
	}
	defer file.Close()
	parts := map[string]map[string]torch.Tensor{"model": {}, "average": {}}
	states := map[int]map[string]any{}
	for name, tensor := range file.Tensors {
		part, rest, _ := strings.Cut(name, ".")
		switch part {
		case "model", "average":
			parts[part][rest] = tensor
		case "optimizer":
			number, key, _ := strings.Cut(rest, ".")
			i, err := strconv.Atoi(number)
			if err != nil {
				return err
			}
			if states[i] == nil {
				states[i] = map[string]any{}
			}
			states[i][key] = tensor
		}
	}
	groups, errGroups := numbers(file.Metadata["groups"])
	schedule, errSchedule := numbers(file.Metadata["schedule"])
	if err := errors.Join(errGroups, errSchedule, nn.LoadStateDict(t.model, parts["model"]),
		nn.LoadStateDict(t.average, parts["average"])); err != nil {
		return err
	}
	g := torch.DefaultGenerator(torch.CPU)
	defer g.Close()
	g.SetState(file.Tensors["generator"])
	t.step, err = strconv.Atoi(file.Metadata["step"])
	return errors.Join(err, t.opt.LoadStateDict(map[string]any{"state": states, "param_groups": groups}),
		t.schedule.LoadStateDict(schedule.(map[string]any)))
}

// numbers reads JSON whose whole numbers are ints, as those of a state dict are.
func numbers(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return numbered(v), err
}

func numbered(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.Atoi(v.String()); err == nil {
			return i
		}
		f, _ := v.Float64() // it is a number
		return f
	case []any:
		for i := range v {
			v[i] = numbered(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = numbered(v[key])
		}
	}
	return v
}

// safetensorsStep is the step of the file, 0 if there is none; killed saves leave what the next one removes.
func safetensorsStep(t *testing.T, dir string) int {
	r, err := safetensors.Open(inSafetensors(dir))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	defer r.Close()
	step, err := strconv.Atoi(r.Metadata["step"])
	require.NoError(t, err)
	if step == killedSteps {
		require.Equal(t, []string{filepath.Base(inSafetensors(dir))}, names(t, dir))
	}
	return step
}
