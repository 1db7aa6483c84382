package aoti_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export/aoti"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// packages is a folder of packages that Python compiled, with what they return there; the tests share it.
func packages(t *testing.T) string {
	t.Helper()
	folder.Do(func() {
		dir, err := os.MkdirTemp("", "aoti")
		require.NoError(t, err)
		folder.path = dir
		cmd := peer.Command(t, "testdata/packages.py", dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		folder.made = true
	})
	if !folder.made {
		t.Skip("there are no packages")
	}
	return folder.path
}

var folder struct {
	sync.Once
	path string
	made bool
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(folder.path)
	os.Exit(code)
}

func load(t *testing.T, file string, opts ...aoti.LoadOptions) *aoti.Model {
	t.Helper()
	m, err := aoti.LoadTrusted(filepath.Join(packages(t), file), opts...)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// python are the tensors of Python's runs.
func python(t *testing.T) map[string]torch.Tensor {
	t.Helper()
	file, err := safetensors.Load(filepath.Join(packages(t), "run.safetensors"))
	require.NoError(t, err)
	t.Cleanup(file.Close)
	return file.Tensors
}

func TestInspect(t *testing.T) {
	torchtest.NoLeaks(t)
	list, err := aoti.Inspect(filepath.Join(packages(t), "two.pt2"))
	require.NoError(t, err)
	require.Len(t, list, 2)
	image, net := list[0], list[1]
	require.Equal(t, "image", image.Name)
	require.Equal(t, []int{2, 3, 8, 8}, image.Inputs[0].Shape())
	require.Equal(t, []int{192, 1, 24, 3}, image.Inputs[0].Strides)
	require.Equal(t, 2, image.Outputs)
	require.Contains(t, image.Constants, aoti.Constant{Name: "conv.weight", DType: torch.Float32, Shape: []int{4, 3, 3, 3}})

	require.Equal(t, "net", net.Name)
	require.True(t, net.Device.IsCPU())
	require.Equal(t, "linux", net.Metadata["AOTI_PLATFORM"])
	require.Len(t, net.Inputs, 3)
	rows := net.Inputs[0].Sizes[0]
	require.Equal(t, aoti.Size{Min: 1, Max: 64, Name: rows.Name}, rows)
	for i, want := range []aoti.Input{
		{Name: "input_0", DType: torch.Float32, Sizes: []aoti.Size{rows, aoti.Fixed(8)}, Strides: []int{8, 1}},
		{Name: "pair_0", DType: torch.Float32, Sizes: []aoti.Size{rows, aoti.Fixed(4)}, Strides: []int{4, 1}},
		{Name: "pair_1", DType: torch.Int64, Sizes: []aoti.Size{rows}, Strides: []int{1}},
	} {
		want.Device = net.Inputs[i].Device
		require.Equal(t, want, net.Inputs[i])
	}
	require.Equal(t, 3, net.Outputs)
}

// What a package computes here has the bits of Python's, alone and from several goroutines at once.
func TestRun(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	m := load(t, "net.pt2", aoti.LoadOptions{Runners: 3})
	want := python(t)
	require.Equal(t, []string{"scores", "hidden", "n"}, m.Outputs())
	run := func(n int) {
		torch.Scope(func() {
			at := func(name string) torch.Tensor { return want[fmt.Sprint(name, n)] }
			got, err := m.Run(at("x"), nil, torch.Arg("pair", []any{at("p"), at("q")}))
			require.NoError(t, err)
			require.Len(t, got, 3)
			for i, name := range m.Outputs() {
				torchtest.Equal(t, got[i], at(name))
			}
		})
	}
	for _, n := range []int{1, 2, 5, 64} {
		run(n)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 40 {
				run([]int{1, 2, 5, 64}[i%4])
			}
		})
	}
	all.Wait()
	torch.Scope(func() {
		v, err := m.Call(want["x2"], nil, torch.Arg("pair", []any{want["p2"], want["q2"]}))
		require.NoError(t, err)
		torchtest.Equal(t, v.(map[string]any)["n"].(torch.Tensor), want["n2"])
	})
}

// A model is found by its name, gets the strides that it was compiled for, and what it returns outlives it, its constants too.
func TestImage(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	want := python(t)
	path := filepath.Join(packages(t), "two.pt2")
	_, err := aoti.LoadTrusted(path)
	require.ErrorContains(t, err, `there is no model "model" in it, but ["image" "net"]`)
	m, err := aoti.LoadTrusted(path, aoti.LoadOptions{Model: "image"})
	require.NoError(t, err)
	defer m.Close()
	require.Equal(t, "input", m.Inputs()[0].Name)
	require.Equal(t, []string{"output_0", "output_1"}, m.Outputs())
	torch.Scope(func() {
		x := want["image"]
		for _, x := range []torch.Tensor{x, x.Contiguous(torch.ChannelsLast), x.Transpose(2, 3).Contiguous().Transpose(2, 3)} {
			got, err := m.Run(x)
			require.NoError(t, err)
			torchtest.Equal(t, got[0], want["means"])
			torchtest.Equal(t, got[1], want["mean"])
		}
		weight, err := m.Constant("conv.weight")
		require.NoError(t, err)
		require.Equal(t, []int{4, 3, 3, 3}, weight.Shape())
		require.Contains(t, m.Constants(), aoti.Constant{Name: "mean", DType: torch.Float32, Shape: []int{64}})
		_, err = m.Constant("bias")
		require.ErrorIs(t, err, torch.ErrValue)

		got, err := m.Run(x)
		require.NoError(t, err)
		m.Close()
		m.Close()
		torchtest.Equal(t, got[1], want["mean"])
		require.Equal(t, []int{4, 3, 3, 3}, weight.Shape())
		require.Error(t, torch.Try(func() {
			_, err = m.Run(x)
			panicIf(err)
		}), "closed")
	})
}

func panicIf(err error) {
	if err != nil {
		panic(err)
	}
}

// Nothing that does not fit gets to the machine code, which would read elsewhere in memory.
func TestInputs(t *testing.T) {
	torchtest.NoLeaks(t)
	m := load(t, "net.pt2")
	torch.Scope(func() {
		x, p, q := torch.Ones(3, 8), torch.Ones(3, 4), torch.Arange(3)
		for _, c := range []struct {
			name string
			list []torch.Tensor
			want string
		}{
			{"number", []torch.Tensor{x, p}, "2 tensors, expected 3"},
			{"undefined", []torch.Tensor{{}, p, q}, `input "input_0" is undefined`},
			{"dtype", []torch.Tensor{x.To(torch.Float64), p, q}, `input "input_0" is of float64, expected float32`},
			{"dimensions", []torch.Tensor{x, p.Flatten(), q}, `input "pair_0" has the shape [12]`},
			{"size", []torch.Tensor{torch.Ones(3, 7), p, q}, `input "input_0" has the shape [3 7], expected size 1 to be 8`},
			{"rows", []torch.Tensor{x, torch.Ones(2, 4), q}, `input "pair_0" has the shape [2 4], but size 0 was 3`},
			{"bound", []torch.Tensor{torch.Ones(65, 8), torch.Ones(65, 4), torch.Arange(65)}, "expected size 0 to be between 1 and 64"},
			{"none", []torch.Tensor{torch.Ones(0, 8), torch.Ones(0, 4), torch.Arange(0)}, "expected size 0 to be between 1 and 64"},
			{"device", []torch.Tensor{torch.TensorOptions{Device: torch.Meta}.Zeros(3, 8), p, q}, `input "input_0" is on meta`},
			{"sparse", []torch.Tensor{x.ToSparse(), p, q}, `input "input_0" has the layout`},
		} {
			_, err := m.RunTensors(t.Context(), c.list)
			var bad *aoti.InputError
			require.ErrorAs(t, err, &bad, c.name)
			require.ErrorContains(t, err, c.want, c.name)
			require.Equal(t, "model", bad.Model)
		}
		for _, args := range [][]any{{}, {x}, {x, p, q}, {x, nil, torch.Arg("pairs", []any{p, q})}, {x, nil, torch.Arg("pair", p)}} {
			_, err := m.Run(args...)
			var bad *aoti.InputError
			require.ErrorAs(t, err, &bad)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.RunTensors(ctx, []torch.Tensor{x, p, q}); err != nil { // it may as well have had its runner
			require.ErrorIs(t, err, context.Canceled)
		}
		got, err := m.RunTensors(t.Context(), []torch.Tensor{torch.Ones(8, 3).T(), torch.Ones(3, 16).Narrow(1, 0, 4), q})
		require.NoError(t, err, "other strides are copied")
		plain, err := m.RunTensors(t.Context(), []torch.Tensor{x, p, q})
		require.NoError(t, err)
		torchtest.Equal(t, got[0], plain[0])
	})
}

func TestSizes(t *testing.T) {
	for want, s := range map[string]aoti.Size{"3": aoti.Fixed(3), "at least 1": aoti.Varying("n"), "between 2 and 4": {Min: 2, Max: 4}} {
		require.Equal(t, want, s.String())
	}
	in := aoti.Input{Name: "x", DType: torch.Float32, Sizes: []aoti.Size{aoti.Varying("n"), aoti.Fixed(3), {Min: 1, Max: math.MaxInt}}}
	require.Equal(t, "x float32[n, 3, ?]", in.String())
	require.Equal(t, []int{-1, 3, -1}, in.Shape())
}
