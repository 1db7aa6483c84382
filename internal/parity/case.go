package parity

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// Case is one recorded call of an operator.
type Case struct {
	Op          string            // name.overload
	Inner       bool              // made by another operator, not by the sample
	Args        map[string]*value // as given, by their names in the schema
	Rest        map[string]*value // defaults of the arguments that were not given
	Write       []string          // arguments that the operator writes to
	Tensors     []tensorDesc      // those that the arguments refer to
	Out         []*value          // what it returned
	Written     []*value          // the tensors written to, afterwards
	Grads       []*value          // of the tensors that need one, in order; nil for none
	GradError   *Failure          `json:"grad_error"`
	Error       *Failure          // in place of everything else
	Unsupported string            // why the results are not here
	List        string            // of autocast.py: PyTorch's name for a group of operators
	Autocast    string            // the mode's dtype
	Cast        string            // what the mode casts the arguments to; "" for nothing
}

// Failure is an exception of Python.
type Failure struct {
	Type string
	Text string

	// Of a sample that Python refused by itself: what it was, and how to ask for the same.
	Input   string
	Op      string // an operator without its overload
	Args    []*value
	KwArgs  map[string]*value
	Named   map[string]*value // all of them, where the function is Python's own
	Tensors []tensorDesc
}

// value is an argument or a result; one of its fields is set. A nil *value is None.
type value struct {
	T         *int        // index of an argument's tensor
	Tensor    *tensorDesc // a result
	I         *string
	F         *string
	C         []string
	B         *bool
	S         *string
	DType     *string
	Device    *string
	Layout    *string
	Format    *string
	Generator *string
	L         *[]*value
}

type tensorDesc struct {
	DType     string
	Shape     []int
	Stride    []int
	Storage   int
	Conj, Neg bool
	Grad      bool
	Layout    string // "" is strided, "meta" strided and without elements
	Parts     []tensorDesc
	Coalesced bool
	Device    string // "" is the CPU
	Shared    bool   // with others of the case that have the same Storage
	Offset    int
}

// chunk is what the recorder wrote for one entry of the database.
type chunk struct {
	cases    []Case
	storages [][]byte
	shared   map[int]torch.Tensor // of the case at hand
}

// readChunk reads a file of the recorder.
func readChunk(path string) (*chunk, error) {
	file, err := safetensors.Load(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c := &chunk{storages: make([][]byte, len(file.Tensors))}
	if err := json.Unmarshal([]byte(file.Metadata["cases"]), &c.cases); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for name, t := range file.Tensors {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(c.storages) {
			return nil, fmt.Errorf("%s: unexpected tensor %q", path, name)
		}
		c.storages[i] = t.Bytes()
	}
	return c, nil
}

// load builds the tensors of a case.
func (c *chunk) load(list []tensorDesc) []torch.Tensor {
	c.shared = map[int]torch.Tensor{}
	tensors := make([]torch.Tensor, len(list))
	for i, d := range list {
		tensors[i] = c.plain(d)
		if d.Grad {
			tensors[i].SetRequiresGrad(true)
		}
	}
	return tensors
}

// plain builds a tensor as record.py's load_tensor does.
func (c *chunk) plain(d tensorDesc) torch.Tensor {
	dtype, err := torch.ParseDType(d.DType)
	if err != nil {
		panic(err)
	}
	var parts []any
	for _, p := range d.Parts {
		parts = append(parts, c.plain(p))
	}
	switch d.Layout {
	case "":
		return c.strided(d, dtype)
	case "meta":
		return torch.TensorOptions{DType: dtype, Device: torch.Meta}.EmptyStrided(d.Shape, d.Stride)
	case "sparse_coo":
		var coalesced any
		if d.Coalesced {
			coalesced = true
		}
		return torch.Call("sparse_coo_tensor.indices_size",
			append(parts, d.Shape, torch.Arg("dtype", dtype), torch.Arg("is_coalesced", coalesced))...)[0].(torch.Tensor)
	}
	where := torch.Arg("device", d.Parts[0].device()) // Python has it from the parts
	parts = append(parts, d.Shape, torch.Arg("dtype", dtype), torch.Arg("layout", layouts[d.Layout]), where)
	return torch.Call("sparse_compressed_tensor.comp_plain_value_size", parts...)[0].(torch.Tensor)
}

func (c *chunk) strided(d tensorDesc, dtype torch.DType) torch.Tensor {
	raw, device := c.storages[d.Storage], d.device()
	if len(raw) == 0 {
		return torch.TensorOptions{DType: dtype, Device: device}.EmptyStrided(d.Shape, d.Stride)
	}
	flat := torch.FromBytes(raw, dtype, -1).To(device)
	if d.Shared {
		if first, ok := c.shared[d.Storage]; ok {
			flat = first
		}
		c.shared[d.Storage] = flat
	}
	t := flat.AsStrided(d.Shape, d.Stride, d.Offset)
	if d.Conj {
		t = torch.Call("_conj", t)[0].(torch.Tensor)
	}
	if d.Neg {
		t = torch.Call("_neg_view", t)[0].(torch.Tensor)
	}
	return t
}

func (d tensorDesc) device() torch.Device {
	if d.Device == "" {
		return torch.CPU
	}
	return must(torch.ParseDevice(d.Device))
}

var layouts = map[string]torch.Layout{
	"strided": torch.Strided, "sparse_coo": torch.Sparse, "sparse_csr": torch.SparseCSR, "sparse_csc": torch.SparseCSC,
	"sparse_bsr": torch.SparseBSR, "sparse_bsc": torch.SparseBSC, "_mkldnn": torch.MKLDNN,
}

var formats = map[string]torch.MemoryFormat{
	"contiguous_format": torch.ContiguousFormat, "preserve_format": torch.PreserveFormat,
	"channels_last": torch.ChannelsLast, "channels_last_3d": torch.ChannelsLast3d,
}

// argument is the Go value of an argument.
func (v *value) argument(tensors []torch.Tensor) any {
	switch {
	case v == nil:
		return nil
	case v.T != nil:
		return tensors[*v.T]
	case v.I != nil:
		return must(strconv.Atoi(*v.I))
	case v.F != nil:
		return must(strconv.ParseFloat(*v.F, 64))
	case v.C != nil:
		return complex(must(strconv.ParseFloat(v.C[0], 64)), must(strconv.ParseFloat(v.C[1], 64)))
	case v.B != nil:
		return *v.B
	case v.S != nil:
		return *v.S
	case v.DType != nil:
		return must(torch.ParseDType(*v.DType))
	case v.Device != nil:
		return must(torch.ParseDevice(*v.Device))
	case v.Layout != nil:
		return layouts[*v.Layout]
	case v.Format != nil:
		return formats[*v.Format]
	case v.Generator != nil:
		return torch.NewGenerator(torch.CPU).ManualSeed(must(strconv.ParseUint(*v.Generator, 10, 64)))
	case v.L != nil:
		list := make([]any, len(*v.L))
		for i, x := range *v.L {
			list[i] = x.argument(tensors)
		}
		return list
	}
	panic(fmt.Sprintf("parity: no value in %+v", *v))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
