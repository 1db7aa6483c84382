package models_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/models"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// The files of keys list torchvision's state dicts, names and shapes.
func TestKeysAreTorchvisions(t *testing.T) {
	for _, name := range models.Names() {
		t.Run(name, func(t *testing.T) {
			torchtest.NoLeaks(t)
			want, err := os.ReadFile("testdata/" + name + ".keys")
			require.NoError(t, err)
			model, err := models.New(name, 1000, nil)
			require.NoError(t, err)
			var got strings.Builder
			for key, value := range nn.StateDict(model) {
				shape := strings.Trim(fmt.Sprint(value.Shape()), "[]")
				fmt.Fprintln(&got, strings.TrimSpace(key+" "+shape))
			}
			require.Equal(t, string(want), got.String())
		})
	}
}

func TestInitialValuesEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	cases := []struct {
		spec    string // for testdata/resnet.py
		options models.ResNetOptions
	}{
		{"resnet18 imagenet false", models.ResNetOptions{}},
		{"resnet18 cifar true", models.ResNetOptions{Stem: models.CIFARStem, ZeroInitResidual: true}},
		{"resnet34 cifar false", models.ResNetOptions{Stem: models.CIFARStem}},
		{"resnet50 imagenet true", models.ResNetOptions{ZeroInitResidual: true}},
	}
	args := []string{"init"}
	for _, c := range cases {
		args = append(args, c.spec)
	}
	want := peer.Run(t, "testdata/resnet.py", nil, args...)
	for _, c := range cases {
		t.Run(c.spec, func(t *testing.T) {
			name, _, _ := strings.Cut(c.spec, " ")
			torch.ManualSeed(3)
			model, err := models.New(name, 11, &c.options)
			require.NoError(t, err)
			equalState(t, model, c.spec+"/", want)
		})
	}
}

// equalState compares the state dict of m with the values whose names begin so.
func equalState(t *testing.T, m any, prefix string, want peer.Tensors) {
	t.Helper()
	n := 0
	for name, value := range nn.StateDict(m) {
		require.Contains(t, want, prefix+name)
		torchtest.Equal(t, value.Contiguous(), want[prefix+name])
		n++
	}
	for name := range want {
		if strings.HasPrefix(name, prefix) {
			n--
		}
	}
	require.Zero(t, n, "parameters that Python alone has")
}

// TestTrainingEqualsPython takes three steps of ResNet-18 on both sides: every loss, the
// first gradients, the final state and the scores in evaluation are the same bits.
func TestTrainingEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(5)
	x, target := torch.RandN(4, 3, 32, 32), torch.RandIntN(10, 4)
	dtypes := []torch.DType{torch.Float32, torch.BFloat16}
	want := peer.Run(t, "testdata/resnet.py", peer.Tensors{"x": x, "target": target}, "train", "float32", "bfloat16")
	x = x.To(torch.ChannelsLast)
	for _, dtype := range dtypes {
		t.Run(dtype.String(), func(t *testing.T) {
			prefix := dtype.String() + "/"
			torch.ManualSeed(4)
			model := models.ResNet18(10, &models.ResNetOptions{Stem: models.CIFARStem})
			nn.To(model, torch.ChannelsLast)
			opt := optim.NewSGD(nn.Parameters(model), 0.05, &optim.SGDOptions{Momentum: 0.9, WeightDecay: 5e-4, Nesterov: true})
			for step := range 3 {
				torch.Scope(func() {
					var loss torch.Tensor
					amp.Autocast(torch.CPU, dtype, func() { loss = F.CrossEntropy(model.Forward(x), target, nil) })
					loss.Backward()
					torchtest.Equal(t, loss, want[fmt.Sprint(prefix, "loss ", step)])
					if step == 0 {
						for name, p := range nn.NamedParameters(model) {
							torchtest.Equal(t, p.Grad().Contiguous(), want[prefix+"grad "+name])
						}
					}
					opt.Step()
					opt.ZeroGrad()
				})
			}
			nn.Eval(model)
			torch.NoGrad(func() {
				amp.Autocast(torch.CPU, dtype, func() { torchtest.Equal(t, model.Forward(x), want[prefix+"y"]) })
			})
			equalState(t, model, prefix+"final ", want)
		})
	}
}

func TestNewComplains(t *testing.T) {
	for _, c := range []struct {
		name    string
		classes int
		options any
		want    string
	}{
		{"resnet19", 10, nil, `models: there is no model "resnet19"; expected one of resnet18, resnet34, resnet50`},
		{"resnet18", 0, nil, "models: resnet18 needs at least one class, got 0"},
		{"resnet18", 10, models.ResNetOptions{}, "models: resnet18: its options are a *models.ResNetOptions, got models.ResNetOptions"},
	} {
		_, err := models.New(c.name, c.classes, c.options)
		require.EqualError(t, err, c.want)
	}
}

// In evaluation a forward holds two activations at a time and leaves nothing behind but
// its result, outside of scopes too.
func TestForwardClosesWhatItMakes(t *testing.T) {
	torchtest.NoLeaks(t)
	model := nn.Eval(models.ResNet18(10, nil))
	x := torch.Zeros(1, 3, 64, 64)
	torch.NoGrad(func() { model.Forward(x).Close() })
	before := torch.Stats().Live()
	var y torch.Tensor
	torch.NoGrad(func() { y = model.Forward(x) })
	require.Equal(t, before+1, torch.Stats().Live())
	require.Equal(t, []int{1, 10}, y.Shape())
}

func Example() {
	torch.ManualSeed(0)
	model := nn.Eval(models.ResNet18(10, &models.ResNetOptions{Stem: models.CIFARStem}))
	torch.NoGrad(func() {
		scores := model.Forward(torch.Zeros(2, 3, 32, 32))
		fmt.Println(scores.Shape(), nn.NumParameters(model), "parameters")
	})
	// Output: [2 10] 11173962 parameters
}
