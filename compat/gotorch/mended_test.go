package gotorch_test

import (
	"encoding/gob"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	core "github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	torch "github.com/wangkuiyi/gotorch"
	"github.com/wangkuiyi/gotorch/nn"
	F "github.com/wangkuiyi/gotorch/nn/functional"
	"github.com/wangkuiyi/gotorch/nn/initializer"
)

// What ended the process, or read memory that was not there, is an error now, with a word on what was wrong.
func TestMistakesPanic(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Ones([]int64{2, 3}, false)
	for name, c := range map[string]struct {
		says string
		fn   func()
	}{
		"backward without gradients": {"does not require grad", func() { x.Backward() }},
		"grad of nothing":            {"undefined", func() { torch.Tensor{}.Grad() }},
		"rows of different lengths":  {"have 2 and 1 elements", func() { torch.NewTensor([][]float32{{1, 2}, {3}}) }},
		"another width":              {"not as wide", func() { torch.NewTensor([]float32{1}, map[string]interface{}{"dtype": torch.Long}) }},
		"no slice":                   {"expected a slice", func() { torch.NewTensor(1) }},
		"no dtype":                   {"is no dtype", func() { x.CastTo(99) }},
		"no device":                  {"zero Device", func() { x.CopyTo(torch.Device{}) }},
		"no optimizer":               {"zero Optimizer", func() { torch.Optimizer{}.Step() }},
		"no stream":                  {"zero CUDAStream", func() { torch.CUDAStream{}.Query() }},
		"no reduction":               {"is no reduction", func() { F.NllLoss(x, x, torch.Tensor{}, -100, "most") }},
		"no fan":                     {"is no mode", func() { initializer.KaimingUniform(&x, 0, "fan_up", "relu") }},
		"no nonlinearity":            {"is no nonlinearity", func() { initializer.KaimingUniform(&x, 0, "fan_in", "selu?") }},
		"no folder":                  {"no such file", func() { x.Save(filepath.Join(t.TempDir(), "a", "b")) }},
		"no file":                    {"no such file", func() { torch.Load(filepath.Join(t.TempDir(), "a")) }},
	} {
		err := func() (err error) {
			defer func() {
				switch v := recover().(type) {
				case error:
					err = v
				case string:
					err = errors.New(v)
				}
			}()
			c.fn()
			return nil
		}()
		assert.ErrorContains(t, err, c.says, name)
	}
}

// What failed over nothing works.
func TestNothingIsATensorToo(t *testing.T) {
	torchtest.NoLeaks(t)
	assert.Equal(t, []int64{0}, torch.NewTensor([]float32{}).Shape())
	assert.Equal(t, []int64{2, 0}, torch.NewTensor([][]int64{{}, {}}).Shape())
	assert.Equal(t, []int64{}, torch.RandN([]int64{}, false).Shape())
	x := torch.NewTensor([]int64{1, 2})
	sum := x.Add(x, 3)
	assert.Equal(t, " 4\n 8\n[ CPULongType{2} ]", sum.String())
	assert.Equal(t, "[ Tensor (undefined) ]", x.Grad().String())
	half := torch.NewTensor([]uint16{0x3f80}, map[string]interface{}{"dtype": torch.BFloat16})
	assert.Equal(t, " 1\n[ CPUBFloat16Type{1} ]", half.String())
}

// Optimizers may be closed twice, and take further groups.
func TestOptimizersClose(t *testing.T) {
	torchtest.NoLeaks(t)
	opt := torch.Adam(0.1, 0.9, 0.999, 0)
	opt.Step() // nothing to do
	opt.AddParameters(nil)
	for range 2 {
		w := torch.Ones([]int64{3}, true)
		opt.AddParameters([]torch.Tensor{w})
		loss := w.Sum()
		loss.Backward()
		opt.SetLR(0.5)
		opt.Step()
		opt.ZeroGrad()
		assert.InDelta(t, 0.5, w.Index(0).Item(), 1e-5)
	}
	opt.Close()
	opt.Close()
}

// A state dict is copied into the tensors that an optimizer knows, and all or nothing of it.
func TestStateDictsKeepTheTensors(t *testing.T) {
	torchtest.NoLeaks(t)
	from, to := nn.Linear(3, 2, true), nn.Linear(3, 2, true)
	opt := torch.SGD(1, 0, 0, 0, false)
	opt.AddParameters(to.Parameters())
	defer opt.Close()
	require.NoError(t, to.SetStateDict(from.StateDict()))
	assert.True(t, torch.Equal(from.Weight, to.Weight))
	loss := to.Forward(torch.Ones([]int64{1, 3}, false)).Sum()
	loss.Backward()
	opt.Step()
	assert.False(t, torch.Equal(from.Weight, to.Weight))
	before := to.Weight.String()
	sd := from.StateDict()
	delete(sd, "LinearModule.Bias")
	assert.EqualError(t, to.SetStateDict(sd), "the state dict has no LinearModule.Bias")
	sd["LinearModule.Bias"], sd["LinearModule.Rest"] = from.Bias, from.Bias
	assert.EqualError(t, to.SetStateDict(sd), "the state dict has LinearModule.Rest, and the module has not")
	assert.Equal(t, before, to.Weight.String())
	assert.Equal(t, []torch.Tensor{to.Weight, to.Bias}, to.Parameters())
}

// The files in testdata were written by gotorch itself, on libtorch 2.11.
func TestFilesOfGotorchAreRead(t *testing.T) {
	torchtest.NoLeaks(t)
	f, err := os.Open("testdata/gotorch.gob")
	require.NoError(t, err)
	defer f.Close()
	state := map[string]torch.Tensor{}
	require.NoError(t, gob.NewDecoder(f).Decode(&state))
	want := torch.NewTensor([][]float32{{1, 2, 3}, {4, 5, 6}})
	assert.True(t, torch.Equal(want, state["a"]))
	assert.True(t, torch.Equal(torch.NewTensor([]int64{7, 8}), state["b"]))
	assert.True(t, torch.Equal(want, torch.Load("testdata/torchsave.pt")))
	var x torch.Tensor
	assert.Error(t, x.GobDecode([]byte("no file")))
}

// Temporaries are safe while the collector runs as often as it can.
func TestTemporariesLive(t *testing.T) {
	torchtest.NoLeaks(t)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	for range 200 {
		sum := torch.Add(torch.Full([]int64{8}, 1, false), torch.Full([]int64{8}, 2, false), 1)
		require.Equal(t, float32(3), sum.Mean().Item())
	}
}

// GC costs a step nothing until there is garbage that is worth a collection, by number or by bytes.
func TestGC(t *testing.T) {
	torchtest.NoLeaks(t)
	drop := func(tensors int, size int64) (left int) {
		torch.FinishGC()
		torch.GC() // which remembers what is in use
		before := core.Stats().Unscoped
		for range tensors {
			torch.Ones([]int64{size}, false)
		}
		torch.GC()
		return core.Stats().Unscoped - before
	}
	assert.Less(t, drop(2048, 1), 2048)
	assert.Less(t, drop(3, 2<<20), 3)
}

// Both sides of a program that moves step by step have the same tensor.
func TestWrapAndUnwrap(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Ones([]int64{2}, false)
	torch.Unwrap(x).AddInPlace(core.Ones(2))
	assert.Equal(t, " 2\n 2\n[ CPUFloatType{2} ]", x.String())
	assert.True(t, torch.Unwrap(torch.Wrap(core.Tensor{})).Is(core.Tensor{}))
}
