package pt_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/pt"
)

// The weights of a model go into a file that Python's torch.load opens, and come back.
func ExampleSave() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.pt")

	model, other := nn.NewLinear(3, 2), nn.NewLinear(3, 2)
	if err := pt.Save(path, nn.StateDict(model)); err != nil {
		fmt.Println(err)
		return
	}
	state, err := pt.LoadStateDict(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(nn.LoadStateDict(other, state), other.Weight.Equal(model.Weight))
	// Output: <nil> true
}

// A checkpoint has several parts, whoever wrote it.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "checkpoint")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "checkpoint.pt")

	model := nn.NewLinear(3, 2)
	opt := optim.NewSGD(nn.Parameters(model), 0.1, optim.SGDOptions{Momentum: 0.9})
	if err := pt.Save(path, map[string]any{"model": nn.StateDict(model), "optimizer": opt.StateDict(), "epoch": 7}); err != nil {
		fmt.Println(err)
		return
	}
	value, err := pt.Load(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pt.Close(value)
	checkpoint := value.(*pt.Dict)
	state, err := checkpoint.Dict("model").Tensors()
	fmt.Println(err, nn.LoadStateDict(model, state))
	fmt.Println(opt.LoadStateDict(checkpoint.Dict("optimizer").Map()))
	fmt.Println(checkpoint.Int("epoch"))
	// Output:
	// <nil> <nil>
	// <nil>
	// 7
}

// Lists and dicts of Python's are Go values, in their order.
func ExampleDict() {
	var b buffer
	d := (&pt.Dict{}).Set("name", "lenet").Set("sizes", pt.Tuple{1, 28, 28}).Set("mean", torch.FromValue(0.5))
	if err := pt.Write(&b, d); err != nil {
		fmt.Println(err)
		return
	}
	value, err := pt.Read(&b, b.size())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pt.Close(value)
	for key, v := range value.(*pt.Dict).All() {
		fmt.Println(key, v)
	}
	// Output:
	// name lenet
	// sizes [1 28 28]
	// mean tensor(0.5000, dtype=torch.float64)
}

// A file that needs code is refused, and the error names it.
func ExampleGlobalError() {
	var b buffer
	if err := pt.Write(&b, &pt.Object{Class: "argparse.Namespace"}); err != nil {
		fmt.Println(err)
		return
	}
	_, err := pt.Read(&b, b.size())
	var missing *pt.GlobalError
	fmt.Println(errors.As(err, &missing), missing.Name)
	value, err := pt.Read(&b, b.size(), pt.LoadOptions{Globals: []string{missing.Name}})
	fmt.Println(value.(*pt.Object).Class, err)
	// Output:
	// true argparse.Namespace
	// argparse.Namespace <nil>
}

// buffer is a file in memory.
type buffer []byte

func (b *buffer) Write(p []byte) (int, error)            { *b = append(*b, p...); return len(p), nil }
func (b *buffer) ReadAt(p []byte, at int64) (int, error) { return copy(p, (*b)[at:]), nil }
func (b *buffer) size() int64                            { return int64(len(*b)) }
