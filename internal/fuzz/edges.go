package fuzz

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// edges are where files, loaders and states come in: they return errors.
var edges = []any{
	entry{"safetensors.Read", readFile},
	entry{"safetensors.Header", func(header string, size int) ([]tensor, error) { return readBytes(fileOf(header, size), 0) }},
	entry{"safetensors.Write", func(list []tensor) error {
		return safetensors.Write(&bytes.Buffer{}, numbered(list))
	}},
	entry{"nn.LoadStateDict", loadModule},
	entry{"optim.LoadStateDict", loadOptimizer},
	entry{"data.NewTensorDataset", func(x, y tensor, at []int) ([]tensor, error) {
		b, err := data.NewTensorDataset(x, y).Batch(context.Background(), at, rand.New(rand.NewPCG(1, 2)))
		return []tensor{b.Input, b.Target}, err
	}},
	entry{"data.Batched", func(n, size int, last bool, rank, world int) (list []int) {
		s := data.Batched(data.Shard(data.Random(n%1000, 7), rank, world), size, last)
		for _, b := range s.Batches(0) {
			list = append(list, b...)
		}
		return append(list, s.Len())
	}},
}

func numbered(list []tensor) iter.Seq2[string, tensor] {
	return func(yield func(string, tensor) bool) {
		for i, t := range list {
			if !yield(fmt.Sprint("t", i), t) {
				return
			}
		}
	}
}

// readFile writes the tensors to a file, changes bytes of it, cuts it, and reads it.
func readFile(list []tensor, changes []int, cut int) ([]tensor, error) {
	var b bytes.Buffer
	if err := safetensors.Write(&b, numbered(list)); err != nil {
		return nil, err
	}
	file := b.Bytes()
	for i := 0; i+1 < len(changes) && len(file) > 0; i += 2 {
		file[uint(changes[i])%uint(len(file))] = byte(changes[i+1])
	}
	if cut > 0 {
		file = file[:len(file)-min(cut, len(file))]
	}
	return readBytes(file, cut)
}

// fileOf is a file with a header of the case's: a quote is written as '.
func fileOf(header string, size int) []byte {
	header = strings.ReplaceAll(header, "'", `"`)
	file := []byte{byte(len(header)), byte(len(header) >> 8), 0, 0, 0, 0, 0, 0}
	return append(append(file, header...), make([]byte, max(0, min(size, 1<<16)))...)
}

func readBytes(file []byte, cut int) ([]tensor, error) {
	f, err := safetensors.Read(bytes.NewReader(file), int64(len(file)-min(0, cut)%64))
	if err != nil {
		return nil, err
	}
	var list []tensor
	for _, name := range slices.Sorted(maps.Keys(f.Tensors)) {
		list = append(list, f.Tensors[name].Clone())
	}
	f.Close()
	return list, nil
}

// loadModule loads a state with these tensors into a network. Either all of it is
// taken over or nothing.
func loadModule(weight, bias, mean, count tensor, assign, partial bool) ([]tensor, error) {
	m := nn.Sequential{linear(), norm()}
	defer closeModule(m)
	before := snapshot(m)
	dict := map[string]tensor{"0.weight": weight, "0.bias": bias, "1.running_mean": mean, "1.num_batches_tracked": count}
	for name, t := range nn.StateDict(m) {
		if _, ok := dict[name]; !ok && !partial {
			dict[name] = t.Clone()
		}
	}
	err := nn.LoadStateDict(m, dict, nn.LoadOptions{Assign: assign})
	if err != nil && !slices.EqualFunc(before, snapshot(m), slices.Equal[[]byte]) {
		panic("the state is half written: " + err.Error())
	}
	var list []tensor
	for _, t := range nn.StateDict(m) {
		list = append(list, t.Clone())
	}
	return list, err
}

func linear() *nn.Linear    { return nn.NewLinear(3, 2) }
func norm() *nn.BatchNorm1d { return nn.NewBatchNorm1d(2) }

func snapshot(m any) (list [][]byte) {
	for _, t := range nn.StateDict(m) {
		list = append(list, t.Detach().Bytes())
	}
	return list
}

// loadOptimizer loads a state with a value of the case's in a place of the case's.
func loadOptimizer(kind int, key string, value any, state string, x tensor) ([]tensor, error) {
	p := torch.Ones(2, 3).SetRequiresGrad(true)
	made := constructors[uint(kind)%uint(len(constructors))]
	opt := ofFunc(made, "").with(&maker{log: nowhere}, []Arg{{"a1", 0.1}}, "a0", []any{p})[0].Interface()
	defer closeState(opt)
	return loaded(opt, p, key, value, state, x)
}

func loaded(made any, p tensor, key string, value any, state string, x tensor) ([]tensor, error) {
	opt, ok := made.(optim.Optimizer)
	if !ok {
		opt = closureless{made.(*optim.LBFGS), []tensor{p}}
	}
	p.SetGrad(torch.Ones(2, 3))
	opt.Step()
	d := opt.StateDict()
	if groups, ok := d["param_groups"].([]map[string]any); ok && len(groups) > 0 && key != "" {
		groups[0][key] = value
	}
	if states, ok := d["state"].(map[int]map[string]any); ok && state != "" && states[0] != nil {
		states[0][state] = x
	}
	err := opt.LoadStateDict(d)
	if err == nil {
		opt.Step()
	}
	return []tensor{p}, err
}

var nowhere = &log{words: make([]word, logWords)}

// loaders are a few batches of a loader: x and y are its dataset.
func loaders() *target {
	made := ofFunc(data.NewLoader[data.Batch], "")
	made.params = made.params[1:] // the source
	made = made.index()
	t := &target{name: "data.Loader", random: true, // a time limit is met or not
		params: append(made.hints(), hint{name: "x", typ: tensorType, needed: true}, hint{name: "y", typ: tensorType},
			hint{name: "first", typ: reflect.TypeFor[int]()})}
	t.samples = readSamples()[t.name]
	t.call = func(m *maker, args []Arg) []any {
		x, _ := argument(m, args, "x").(tensor)
		y, _ := argument(m, args, "y").(tensor)
		first, _ := argument(m, args, "first").(int)
		set := data.NewTensorDataset(x, y)
		bound := made
		bound.receiver = reflect.ValueOf(set)
		out := bound.values(m, args)
		if err, ok := out[1].Interface().(error); ok {
			return []any{err}
		}
		return batches(out[0].Interface().(*data.Loader[data.Batch]), first)
	}
	return t
}

func batches(l *data.Loader[data.Batch], first int) (list []any) {
	for batch, err := range l.EpochFrom(context.Background(), 0, first) {
		if err != nil {
			return append(list, err)
		}
		list = append(list, batch.Input.MoveOut(), batch.Target.MoveOut(), len(batch.Index))
		if len(list) > 9 {
			break
		}
	}
	return list
}
