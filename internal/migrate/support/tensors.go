package support

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"reflect"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/pt"
)

// toInts are sizes and dimensions as ints.
func toInts(list []int64) []int {
	r := make([]int, len(list))
	for i, v := range list {
		r[i] = int(v)
	}
	return r
}

// shapeOf is the size of every dimension.
func shapeOf(x torch.Tensor) []int64 {
	var r []int64
	for _, n := range x.Shape() {
		r = append(r, int64(n))
	}
	return r
}

// itemOf is the value of a tensor with one element, of the Go type that belongs to its dtype.
func itemOf(x torch.Tensor) any {
	switch x.DType() {
	case torch.Bool:
		return x.Item()
	case torch.Uint8:
		return byte(x.Int())
	case torch.Int8:
		return int8(x.Int())
	case torch.Int16:
		return int16(x.Int())
	case torch.Int32:
		return int32(x.Int())
	case torch.Int64:
		return int64(x.Int())
	case torch.Float64:
		return x.Float64()
	}
	return float32(x.Float64())
}

// saveTensor writes a tensor to a file.
func saveTensor(x torch.Tensor, path string) {
	if err := pt.Save(path, x); err != nil {
		panic(err)
	}
}

// loadTensor reads a tensor from a file.
func loadTensor(path string) torch.Tensor {
	v, err := pt.Load(path)
	if err != nil {
		panic(err)
	}
	return v.(torch.Tensor)
}

// writeState writes tensors by name, as Python's torch.save does.
func writeState(w io.Writer, state map[string]torch.Tensor) error {
	return pt.Write(w, maps.All(state))
}

// readState reads what writeState wrote.
func readState(f *os.File, state *map[string]torch.Tensor) error {
	dict, err := pt.LoadStateDict(f.Name())
	if err == nil {
		*state = dict
	}
	return err
}

// nonBlocking is the option of To.
func nonBlocking(on bool) torch.ToOption {
	if on {
		return torch.NonBlocking
	}
	return nil
}

// pinnedCopy is x in page-locked memory where there is a card.
func pinnedCopy(x torch.Tensor) torch.Tensor {
	if cuda.IsAvailable() {
		return x.PinMemory()
	}
	return x
}

func hasCUDNN() bool {
	v, err := cuda.LibraryVersions()
	return err == nil && v.CUDNN > 0
}

// logSoftmaxOf takes a negative dim for 0 in tensors of 0, 1 and 3 dimensions, else for 1.
func logSoftmaxOf(x torch.Tensor, dim int) torch.Tensor {
	if dim < 0 {
		switch dim = 1; x.Dim() {
		case 0, 1, 3:
			dim = 0
		}
	}
	return x.LogSoftmax(dim)
}

func fanInAndOut(weight torch.Tensor) (int64, int64) {
	in, out := nninit.Fans(weight)
	return int64(in), int64(out)
}

// setLR sets the learning rate of all groups.
func setLR(opt optim.Optimizer, lr float64) {
	for _, g := range opt.ParamGroups() {
		g.LR = lr
	}
}

func closeOptimizer(opt optim.Optimizer) {
	if c, ok := opt.(interface{ Close() }); ok {
		c.Close()
	}
}

// setTraining sets whether a module and all within are in training.
func setTraining(m any, on bool) {
	if on {
		nn.Train(m)
	} else {
		nn.Eval(m)
	}
}

// namedTensors are tensors by their names.
func namedTensors(list iter.Seq2[string, torch.Tensor]) map[string]torch.Tensor {
	return maps.Collect(list)
}

// stateDict are a module's parameters and buffers by their names.
func stateDict(m any) map[string]torch.Tensor { return maps.Collect(nn.StateDict(m)) }

// moduleName is the type of a module, with its package.
func moduleName(m any) string { return strings.TrimPrefix(fmt.Sprintf("%T", m), "*") }

// moduleFields points to a struct with the fields of a module, those of embedded structs among them.
func moduleFields(m any) any {
	v := reflect.Indirect(reflect.ValueOf(m))
	if v.Kind() != reflect.Struct {
		return &struct{}{}
	}
	var fields []reflect.StructField
	var values []reflect.Value
	for _, f := range reflect.VisibleFields(v.Type()) {
		if !f.Anonymous && f.IsExported() {
			values = append(values, v.FieldByIndex(f.Index))
			f.Index, f.Offset = nil, 0
			fields = append(fields, f)
		}
	}
	flat := reflect.New(reflect.StructOf(fields))
	for i, value := range values {
		flat.Elem().Field(i).Set(value)
	}
	return flat.Interface()
}

// layerFunc is a function as a layer.
type layerFunc func(torch.Tensor) torch.Tensor

// Forward calls the function.
func (f layerFunc) Forward(x torch.Tensor) torch.Tensor { return f(x) }

// sequentialOf makes a row of layers.
func sequentialOf(layers ...any) nn.Sequential {
	s := make(nn.Sequential, len(layers))
	for i, l := range layers {
		s[i] = l.(nn.Layer)
	}
	return s
}

// hasOption tells whether an option is there.
func hasOption(opts []map[string]any, key string) bool {
	_, ok := lookupOption(opts, key)
	return ok
}

// getOption is what an option stands for, or nil, or what is given for its absence.
func getOption(opts []map[string]any, key string, absent ...any) any {
	v, ok := lookupOption(opts, key)
	if !ok && len(opts) > 0 && len(absent) > 0 {
		return absent[0]
	}
	return v
}

// lookupOption is what an option stands for, and whether it is there.
func lookupOption(opts []map[string]any, key string) (any, bool) {
	if len(opts) == 0 {
		return nil, false
	}
	v, ok := opts[0][key]
	return v, ok
}
