package parametrize_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/nn/utils/parametrize"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// texts are modules in both languages.
var texts = []struct {
	python string
	make   func() any
}{
	{"p.orthogonal(nn.Linear(3, 3))", func() any { return parametrize.Orthogonal(nn.NewLinear(3, 3)) }},
	{"p.weight_norm(nn.Conv1d(1, 2, 3))", func() any { return parametrize.WeightNorm(nn.NewConv1d(1, 2, 3)) }},
	{"p.spectral_norm(nn.Linear(4, 3, bias=False))", func() any {
		return parametrize.SpectralNorm(nn.NewLinear(4, 3, nn.LinearOptions{NoBias: true}))
	}},
	{"nn.Sequential(p.spectral_norm(nn.Linear(4, 3)), nn.ReLU())", func() any {
		return nn.NewSequential(parametrize.SpectralNorm(nn.NewLinear(4, 3)), nn.ReLU{})
	}},
}

const textsScript = `
import json, sys
from torch import nn
import torch.nn.utils.parametrizations as p
print(json.dumps([str(eval(code)) for code in json.loads(sys.argv[1])]))
`

func TestParametrizedModulesPrintAsInPython(t *testing.T) {
	torchtest.NoLeaks(t)
	var codes, want []string
	for _, x := range texts {
		codes = append(codes, x.python)
	}
	question, err := json.Marshal(codes)
	require.NoError(t, err)
	answer, err := peer.Command(t, "-c", textsScript, string(question)).Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(answer, &want))
	for i, x := range texts {
		torch.Scope(func() {
			m := x.make()
			defer nn.Close(m)
			require.Equal(t, want[i], fmt.Sprint(m), x.python)
		})
	}
}
