package models_test

import (
	"crypto/sha256"
	"fmt"
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

func TestInitialValuesEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	cases := []struct {
		spec    string // for testdata/models.py
		options any
	}{
		{"resnet18 imagenet false", models.ResNetOptions{}},
		{"resnet18 cifar true", models.ResNetOptions{Stem: models.CIFARStem, ZeroInitResidual: true}},
		{"resnet34 cifar false", models.ResNetOptions{Stem: models.CIFARStem}},
		{"resnet50 imagenet true", models.ResNetOptions{ZeroInitResidual: true}},
		{"resnet101 cifar false", models.ResNetOptions{Stem: models.CIFARStem}},
		{"resnet152 imagenet false", models.ResNetOptions{}},
		{"vgg11", nil},
		{"vgg13_bn", models.VGGOptions{}},
	}
	args := []string{"init"}
	for _, c := range cases {
		args = append(args, c.spec)
	}
	want := peer.Run(t, "testdata/models.py", nil, args...)
	for _, c := range cases {
		t.Run(c.spec, func(t *testing.T) {
			name, _, _ := strings.Cut(c.spec, " ")
			torch.ManualSeed(3)
			model, err := models.New(name, 11, c.options)
			require.NoError(t, err)
			defer nn.Close(model)
			equalState(t, model, c.spec+"/", want)
		})
	}
}

// equalState compares the state dict of m with the values whose names begin so.
func equalState(t *testing.T, m any, prefix string, want peer.Tensors) {
	t.Helper()
	n := 0
	for name, value := range nn.StateDict(m) {
		equal(t, value, prefix+name, want)
		n++
	}
	for name := range want {
		if strings.HasPrefix(name, prefix) {
			n--
		}
	}
	require.Zero(t, n, "parameters that Python alone has")
}

// equal compares a tensor with the one of that name, or its hash if it is large: models.py's
// comparable.
func equal(t *testing.T, got torch.Tensor, name string, want peer.Tensors) {
	t.Helper()
	require.Contains(t, want, name)
	const large = 1 << 22
	torch.Scope(func() {
		got := got.Contiguous()
		if got.NumEl() > large {
			require.Equal(t, sha256.Sum256(got.Bytes()), [sha256.Size]byte(want[name].Bytes()), name)
			return
		}
		torchtest.Equal(t, got, want[name])
	})
}

// TestTrainingEqualsPython takes a few steps on both sides: every loss, the first gradients,
// the final state and the scores in evaluation are the same bits.
func TestTrainingEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(5)
	x, target := torch.RandN(4, 3, 32, 32), torch.RandIntN(10, 4)
	cases := []struct {
		spec  string // for testdata/models.py
		dtype torch.DType
		steps int
		build func() nn.Layer
	}{
		{"float32 3 resnet18 cifar false", torch.Float32, 3, newCIFARResNet18},
		{"bfloat16 3 resnet18 cifar false", torch.BFloat16, 3, newCIFARResNet18},
		{"float32 1 vgg11_bn 0.25", torch.Float32, 1, func() nn.Layer {
			return models.VGG11BN(10, models.VGGOptions{Dropout: new(0.25)})
		}},
	}
	args := []string{"train"}
	for _, c := range cases {
		args = append(args, c.spec)
	}
	want := peer.Run(t, "testdata/models.py", peer.Tensors{"x": x, "target": target}, args...)
	x = x.To(torch.ChannelsLast)
	for _, c := range cases {
		t.Run(c.spec, func(t *testing.T) {
			prefix := c.spec + "/"
			torch.ManualSeed(4)
			model := c.build()
			defer nn.Close(model)
			nn.To(model, torch.ChannelsLast)
			opt := optim.NewSGD(nn.Parameters(model), 0.05, optim.SGDOptions{Momentum: 0.9, WeightDecay: 5e-4, Nesterov: true})
			defer opt.Close()
			for step := range c.steps {
				torch.Scope(func() {
					var loss torch.Tensor
					amp.Autocast(torch.CPU, c.dtype, func() { loss = F.CrossEntropy(model.Forward(x), target) })
					loss.Backward()
					torchtest.Equal(t, loss, want[fmt.Sprint(prefix, "loss ", step)])
					if step == 0 {
						for name, p := range nn.NamedParameters(model) {
							equal(t, p.Grad(), prefix+"grad "+name, want)
						}
					}
					opt.Step()
					opt.ZeroGrad()
				})
			}
			nn.Eval(model)
			torch.NoGrad(func() {
				amp.Autocast(torch.CPU, c.dtype, func() { torchtest.Equal(t, model.Forward(x), want[prefix+"y"]) })
			})
			equalState(t, model, prefix+"final ", want)
		})
	}
}

func newCIFARResNet18() nn.Layer {
	return models.ResNet18(10, models.ResNetOptions{Stem: models.CIFARStem})
}

func TestNewComplains(t *testing.T) {
	for _, c := range []struct {
		name    string
		classes int
		options any
		want    string
	}{
		{"resnet19", 10, nil, `models: there is no model "resnet19"; of the 80 that Names lists these are near: resnet101, resnet152, resnet18`},
		{"", 10, nil, `models: there is no model ""; of the 80 that Names lists these are near: alexnet, convnext_base, convnext_large, ` +
			`convnext_small, convnext_tiny, densenet121, densenet161, densenet169, densenet201, efficientnet_b0`},
		{"resnet18", 0, nil, "models: resnet18 needs at least one class, got 0"},
		{"resnet18", 10, &models.ResNetOptions{}, "models: resnet18: its options are a models.ResNetOptions, got *models.ResNetOptions"},
		{"vgg16", 10, models.ResNetOptions{}, "models: vgg16: its options are a models.VGGOptions, got models.ResNetOptions"},
	} {
		_, err := models.New(c.name, c.classes, c.options)
		require.EqualError(t, err, c.want)
	}
}

// In evaluation a forward holds two activations at a time and leaves nothing behind but
// its result, outside of scopes too.
func TestForwardClosesWhatItMakes(t *testing.T) {
	torchtest.NoLeaks(t)
	for name, build := range map[string]func() nn.Layer{
		"resnet18": func() nn.Layer { return models.ResNet18(10) },
		"vgg11_bn": func() nn.Layer { return models.VGG11BN(10) },
	} {
		t.Run(name, func(t *testing.T) {
			model := nn.Eval(build())
			defer nn.Close(model)
			x := torch.Zeros(1, 3, 64, 64)
			torch.NoGrad(func() { model.Forward(x).Close() })
			before := torch.Stats().Live()
			var y torch.Tensor
			torch.NoGrad(func() { y = model.Forward(x) })
			require.Equal(t, before+1, torch.Stats().Live())
			require.Equal(t, []int{1, 10}, y.Shape())
		})
	}
}

func Example() {
	torch.ManualSeed(0)
	model := nn.Eval(models.ResNet18(10, models.ResNetOptions{Stem: models.CIFARStem}))
	torch.NoGrad(func() {
		scores := model.Forward(torch.Zeros(2, 3, 32, 32))
		fmt.Println(scores.Shape(), nn.NumParameters(model), "parameters")
	})
	// Output: [2 10] 11173962 parameters
}
