package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/pt"
)

// Parts are what a run consists of, under the names that they have in the file: modules, whatever has a state
// ([State]) and generators of random numbers (*torch.Generator). The default generators of the CPU and of
// all CUDA devices are always part of a run.
type Parts map[string]any

// State is what optimizers, schedules and scalers have.
type State interface {
	StateDict() map[string]any
	LoadStateDict(map[string]any) error
}

// Point is a point of a run.
type Point struct {
	Epoch  int     // of the loader
	Batch  int     // of the epoch, to go on with
	Step   int     // steps that were made
	Metric float64 // by which Options.Best chooses
	User   any     // whatever else: it is written as JSON
	Path   string  // where it was read; empty at the beginning of a run
}

// Names in a file that parts must not have.
const (
	progressKey   = "progress"
	userKey       = "user"
	generatorsKey = "generators"
	recipeKey     = "recipe"
)

func (p Parts) check() error {
	for name := range p {
		switch name {
		case "", progressKey, userKey, generatorsKey, recipeKey:
			return fmt.Errorf("checkpoint: a part must not have the name %q", name)
		}
	}
	return nil
}

// defaults are the default generators by the names of their devices.
func defaults() map[string]*torch.Generator {
	list := map[string]*torch.Generator{"cpu": torch.DefaultGenerator(torch.CPU)}
	for i := range torch.DeviceCount(torch.DeviceCUDA) {
		d := torch.CUDA(i)
		list[d.String()] = torch.DefaultGenerator(d)
	}
	return list
}

// collect is the value that is written. Its tensors are the parts' own, but for the generators' states, which
// belong to the scope around.
func (p Parts) collect(at Point, recipe string) (*pt.Dict, error) {
	user, err := json.Marshal(at.User)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: the user's value has no JSON: %w", err)
	}
	dict := &pt.Dict{}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		switch part := p[name].(type) {
		case *torch.Generator:
			dict.Set(name, part.State())
		case State:
			dict.Set(name, ordered(part.StateDict()))
		default:
			dict.Set(name, stateDict(part))
		}
	}
	states := &pt.Dict{}
	generators := defaults()
	for _, device := range slices.Sorted(maps.Keys(generators)) {
		states.Set(device, generators[device].State())
		generators[device].Close()
	}
	dict.Set(generatorsKey, states)
	dict.Set(progressKey, (&pt.Dict{}).Set("epoch", at.Epoch).Set("batch", at.Batch).Set("step", at.Step).Set("metric", at.Metric))
	if recipe != "" {
		dict.Set(recipeKey, recipe)
	}
	return dict.Set(userKey, string(user)), nil
}

// stateDict is a module's, as Python's state_dict: an OrderedDict of tensors without gradients.
func stateDict(m any) *pt.Dict {
	dict := &pt.Dict{Class: "collections.OrderedDict"}
	for name, t := range nn.StateDict(m) {
		dict.Set(name, t.Detach())
	}
	return dict
}

// ordered is a map of an optimizer's as a dict: the order is that of keys.
func ordered(m map[string]any) *pt.Dict {
	dict := &pt.Dict{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		switch v := m[key].(type) {
		case map[string]any:
			dict.Set(key, ordered(v))
		case map[int]map[string]any:
			states := &pt.Dict{}
			for _, i := range slices.Sorted(maps.Keys(v)) {
				states.Set(i, ordered(v[i]))
			}
			dict.Set(key, states)
		case []map[string]any:
			list := make([]any, len(v))
			for i, group := range v {
				list[i] = ordered(group)
			}
			dict.Set(key, list)
		case []torch.Tensor:
			list := make([]any, len(v))
			for i, t := range v {
				list[i] = t
			}
			dict.Set(key, list)
		case []any:
			list := make([]any, len(v))
			for i, item := range v {
				list[i] = item
				if inner, ok := item.(map[string]any); ok {
					list[i] = ordered(inner)
				}
			}
			dict.Set(key, list)
		default:
			dict.Set(key, v)
		}
	}
	return dict
}

// restore gives the parts what a file has of them.
func (p Parts) restore(dict *pt.Dict) error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		v, ok := dict.Lookup(name)
		if !ok {
			return fmt.Errorf("the file has no part %q", name)
		}
		if err := restorePart(p[name], v); err != nil {
			return fmt.Errorf("part %q: %w", name, err)
		}
	}
	generators := defaults()
	states := dict.Dict(generatorsKey)
	var errs []error
	for device, g := range generators {
		if state := states.Tensor(device); state.Defined() {
			errs = append(errs, torch.Try(func() { g.SetState(state) }))
		}
		g.Close()
	}
	return errors.Join(errs...)
}

func restorePart(part, v any) error {
	dict, _ := v.(*pt.Dict)
	switch part := part.(type) {
	case *torch.Generator:
		state, ok := v.(torch.Tensor)
		if !ok {
			return errors.New("the file has no state of a generator")
		}
		return torch.Try(func() { part.SetState(state) })
	case State:
		if dict == nil {
			return errors.New("the file has no state of it")
		}
		if dict.Len() == 0 {
			return nil // as of a scaler that did nothing
		}
		return part.LoadStateDict(dict.Map())
	}
	tensors, err := dict.Tensors()
	if err != nil {
		return err
	}
	return nn.LoadStateDict(part, tensors)
}

// point reads where a run was. Files of Python's may have epoch and step at the top.
func point(dict *pt.Dict, user any) (at Point, err error) {
	from := dict.Dict(progressKey)
	if from == nil {
		from = dict
	}
	at = Point{Epoch: from.Int("epoch"), Batch: from.Int("batch"), Step: from.Int("step"), Metric: from.Float("metric")}
	if at.Epoch < 0 || at.Batch < 0 || at.Step < 0 {
		return at, fmt.Errorf("it is at epoch %d, batch %d, step %d, expected no negative number", at.Epoch, at.Batch, at.Step)
	}
	text, ok := dict.Get(userKey).(string)
	if user != nil && ok {
		if err := json.Unmarshal([]byte(text), user); err != nil {
			return at, fmt.Errorf("the user's value does not fit: %w", err)
		}
		at.User = user
	}
	return at, nil
}

// memory is what tells tensors apart that are the same memory.
type memory struct {
	storage       uint64
	offset        int
	shape, stride string
	dtype         torch.DType
}

// snapshot replaces the tensors of a value by copies on the CPU, tied ones by one. They are kept outside of the
// scope around.
func snapshot(v any, copies map[memory]torch.Tensor) any {
	switch v := v.(type) {
	case torch.Tensor:
		key := memory{v.Storage().ID, v.StorageOffset(), fmt.Sprint(v.Shape()), fmt.Sprint(v.Stride()), v.DType()}
		c, ok := copies[key]
		if key.storage == 0 { // nothing that could be shared
			key = memory{offset: len(copies)}
			ok = false
		}
		if !ok {
			c = copied(v)
			copies[key] = c
		}
		return c
	case *pt.Dict:
		own := &pt.Dict{Class: v.Class, Attributes: v.Attributes}
		for key, value := range v.All() {
			own.Set(key, snapshot(value, copies))
		}
		return own
	case []any:
		own := make([]any, len(v))
		for i, value := range v {
			own[i] = snapshot(value, copies)
		}
		return own
	}
	return v
}

// copied is a copy on the CPU, whose strides are the tensor's.
func copied(t torch.Tensor) (c torch.Tensor) {
	torch.Unscoped(func() {
		if t.Device().IsCPU() {
			c = t.Detach().Clone()
		} else {
			c = t.Detach().To(torch.CPU)
		}
	})
	return c
}
