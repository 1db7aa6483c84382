package models_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/models"
)

// allModels asks for all networks, of which some take 8 GB, or for those that it lists:
//
//	MODELS_ALL=all go test ./vision/models -run Bits -timeout 3h -v
//	MODELS_ALL=swin_t,swin_s go test ./vision/models -run Bits -v
const allModels = "MODELS_ALL"

// The state dicts of all networks have torchvision's keys, types and shapes.
func TestKeysAreTorchvisions(t *testing.T) {
	torchtest.NoLeaks(t)
	want := peer.Run(t, "testdata/zoo.py", nil, "keys")
	require.Len(t, want, len(models.Names()))
	for _, name := range models.Names() {
		require.Contains(t, want, name)
		var model nn.Layer
		nninit.Skip(func() {
			var err error
			model, err = models.New(name, 1000)
			require.NoError(t, err)
		})
		trained := map[string]bool{}
		for key := range nn.NamedParameters(model) {
			trained[key] = true
		}
		var got strings.Builder
		for key, value := range nn.StateDict(model) {
			fmt.Fprintf(&got, "%s %v [%s]", key, value.DType(), strings.ReplaceAll(strings.Trim(fmt.Sprint(value.Shape()), "[]"), " ", ", "))
			if trained[key] {
				got.WriteString(" *")
			}
			got.WriteByte('\n')
		}
		nn.Close(model)
		require.Equal(t, string(want[name].Bytes()), got.String(), name)
	}
}

// quick are small networks of several families, and the sizes of two images for each.
var quick = []string{
	"densenet121 32x32 33x40", "efficientnet_b0 32x32 33x40", "mnasnet0_5 32x32 33x40", "mobilenet_v3_small 32x32 33x40",
	"regnet_y_400mf 32x32 33x40", "shufflenet_v2_x0_5 32x32 33x40", "squeezenet1_1 32x32 33x40", "swin_v2_t 32x32 60x65",
}

// sizesOf are the sizes of two images for a network.
func sizesOf(name string) string {
	switch {
	case strings.HasPrefix(name, "vit"), strings.HasPrefix(name, "maxvit"):
		return name + " 224x224 224x224"
	case strings.HasPrefix(name, "inception"):
		return name + " 299x299 299x315"
	case strings.HasPrefix(name, "alexnet"):
		return name + " 63x63 64x70"
	case strings.HasPrefix(name, "swin"):
		return name + " 32x32 60x65"
	}
	return name + " 33x33 40x47"
}

// TestBitsAreTorchvisions makes networks from the same seed on both sides and takes them through training and
// evaluation: initial values, scores, gradients and running statistics have the same bits.
func TestBitsAreTorchvisions(t *testing.T) {
	specs := quick
	if list := os.Getenv(allModels); list != "" {
		names := models.Names()
		if list != "all" {
			names = strings.Split(list, ",")
		}
		specs = nil
		for _, name := range names {
			specs = append(specs, sizesOf(name))
		}
	}
	for some := range slices.Chunk(specs, 8) { // whose results in Python are in memory at a time
		want := peer.Run(t, "testdata/zoo.py", nil, append([]string{"bits"}, some...)...)
		for _, spec := range some {
			t.Run(spec, func(t *testing.T) { compareBits(t, spec, want) })
		}
	}
}

func compareBits(t *testing.T, spec string, want peer.Tensors) {
	torchtest.NoLeaks(t)
	b := bits{prefix: spec + ": ", want: want}
	args := strings.Fields(spec)
	b.run(t, args[0], args[1:])
	all := 0
	for name := range want {
		if strings.HasPrefix(name, b.prefix) {
			all++
		}
	}
	require.Equal(t, all, b.compared)
	t.Logf("%d tensors", all)
}

// bits compares a network with Python's.
type bits struct {
	prefix   string // of the names of its results
	want     peer.Tensors
	compared int
}

// same compares a tensor with Python's; digested, where Python sent a hash.
func (b *bits) same(t *testing.T, name string, got torch.Tensor, digested bool) {
	t.Helper()
	name = b.prefix + name
	require.Contains(t, b.want, name)
	b.compared++
	torch.Scope(func() {
		if got := got.Detach().Contiguous(); digested {
			require.Equal(t, sha256.Sum256(got.Bytes()), [sha256.Size]byte(b.want[name].Bytes()), name)
		} else {
			torchtest.Equal(t, got, b.want[name])
		}
	})
}

func (b *bits) state(t *testing.T, prefix string, model nn.Layer) {
	t.Helper()
	for key, value := range nn.StateDict(model) {
		b.same(t, prefix+" "+key, value, true)
	}
}

func (b *bits) run(t *testing.T, name string, sizes []string) {
	const classes = 11
	var options any
	if strings.HasPrefix(name, "vit") {
		var side int
		_, err := fmt.Sscan(strings.Split(sizes[0], "x")[0], &side)
		require.NoError(t, err)
		options = models.ViTOptions{ImageSize: side}
	}
	torch.ManualSeed(3)
	model, err := models.New(name, classes, options)
	require.NoError(t, err)
	defer nn.Close(model)
	b.state(t, "initial", model)
	disturb(model)
	for n, size := range sizes {
		torch.Scope(func() {
			var h, w int
			_, err := fmt.Sscanf(size, "%dx%d", &h, &w)
			require.NoError(t, err)
			torch.ManualSeed(uint64(20 + n))
			x := torch.RandN(2, 3, h, w)
			if n == 1 {
				x = x.To(torch.ChannelsLast)
			}
			b.step(t, fmt.Sprint("train ", n), nn.Train(model), x)
			nn.Eval(model)
			torch.NoGrad(func() { b.same(t, fmt.Sprintf("eval %d scores", n), model.Forward(x), false) })
			if n == 0 {
				b.step(t, "eval, recorded", model, x)
			}
		})
	}
	b.state(t, "final", model)
}

// step compares the scores of all classifiers, and the gradients.
func (b *bits) step(t *testing.T, prefix string, model nn.Layer, x torch.Tensor) {
	t.Helper()
	torch.Scope(func() {
		var loss torch.Tensor
		for i, y := range outputs(model, x) {
			b.same(t, fmt.Sprintf("%s scores %d", prefix, i), y, false)
			l := F.CrossEntropy(y, torch.Arange(y.Size(0)))
			if i > 0 {
				l = loss.Add(l)
			}
			loss = l
		}
		loss.Backward()
		for key, p := range nn.NamedParameters(model) {
			if p.Grad().Defined() {
				b.same(t, prefix+" grad "+key, p.Grad(), true)
			}
		}
		nn.ZeroGrad(model)
	})
}

// outputs are what calling the network in Python returns.
func outputs(model nn.Layer, x torch.Tensor) (list []torch.Tensor) {
	var all []torch.Tensor
	switch m := model.(type) {
	case *models.GoogLeNet:
		logits, aux2, aux1 := m.ForwardAux(x)
		all = []torch.Tensor{logits, aux2, aux1}
	case *models.Inception3:
		logits, aux := m.ForwardAux(x)
		all = []torch.Tensor{logits, aux}
	default:
		all = []torch.Tensor{m.Forward(x)}
	}
	for _, y := range all {
		if y.Defined() {
			list = append(list, y)
		}
	}
	return list
}

// disturb adds noise to all state, as zoo.py does.
func disturb(model nn.Layer) {
	torch.ManualSeed(9)
	for key, value := range nn.StateDict(model) {
		if !value.DType().IsFloatingPoint() {
			continue
		}
		torch.NoGrad(func() {
			torch.Scope(func() {
				noise := torch.RandN(value.Shape()...)
				if strings.HasSuffix(key, "running_var") {
					noise = noise.Abs()
				}
				value.AddInPlace(noise, torch.AddOptions{Alpha: 0.02})
			})
		})
	}
}
