package nn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// warnings are calls that PyTorch warns of, in both languages.
var warnings = []struct {
	python string
	call   func()
}{
	{"F.mse_loss(ones(2, 1), ones(2))", func() { F.MSELoss(torch.Ones(2, 1), torch.Ones(2)) }},
	{"F.l1_loss(ones(2, 1), ones(2))", func() { F.L1Loss(torch.Ones(2, 1), torch.Ones(2)) }},
	{"F.smooth_l1_loss(ones(2, 1), ones(2))", func() { F.SmoothL1Loss(torch.Ones(2, 1), torch.Ones(2)) }},
	{"F.huber_loss(ones(2, 1), ones(2))", func() { F.HuberLoss(torch.Ones(2, 1), torch.Ones(2)) }},
	{"nn.MSELoss()(ones(3), ones(2, 3))", func() { nn.MSELoss{}.Forward(torch.Ones(3), torch.Ones(2, 3)) }},
	{"F.mse_loss(ones(2), ones(2))", func() { F.MSELoss(torch.Ones(2), torch.Ones(2)) }},
	{"F.kl_div(ones(2), ones(2))", func() { F.KLDiv(torch.Ones(2), torch.Ones(2)) }},
	{"F.kl_div(ones(2), ones(2), reduction='batchmean')", func() { F.KLDiv(torch.Ones(2), torch.Ones(2), F.KLDivOptions{BatchMean: true}) }},
	{"nn.LSTM(2, 3, dropout=0.5)", func() { nn.NewLSTM(2, 3, nn.RNNOptions{Dropout: 0.5}) }},
	{"nn.GRU(2, 3, dropout=0.25, num_layers=2)", func() { nn.NewGRU(2, 3, nn.RNNOptions{Dropout: 0.25, NumLayers: 2}) }},
	{"F.dropout2d(ones(2, 3, 4))", func() { F.Dropout2d(torch.Ones(2, 3, 4), 0.5, true) }},
	{"F.dropout2d(ones(2, 3))", func() { F.Dropout2d(torch.Ones(2, 3), 0.5, true) }},
	{"F.dropout3d(ones(2, 3, 4))", func() { F.Dropout3d(torch.Ones(2, 3, 4), 0.5, true) }},
	{"nn.InstanceNorm1d(3)(ones(2, 4, 5))", func() { nn.NewInstanceNorm1d(3).Forward(torch.Ones(2, 4, 5)) }},
	{"F.affine_grid(ones(1, 2, 3), [1, 1, 1, 4], align_corners=True)", func() {
		F.AffineGrid(torch.Ones(1, 2, 3), []int{1, 1, 1, 4}, F.AffineGridOptions{AlignCorners: true})
	}},
	{"nn.init.trunc_normal_(ones(2), 9., 1., -1., 1.)", func() { nninit.TruncNormal(torch.Ones(2), 9, 1, -1, 1) }},
	{"nn.init.kaiming_uniform_(ones(0, 2))", func() { nninit.KaimingUniform(torch.Ones(0, 2)) }},
	{"nn.init.kaiming_normal_(ones(0, 2))", func() { nninit.KaimingNormal(torch.Ones(0, 2)) }},
	{"nn.Linear(1, 1).to(torch.complex64)", func() { nn.To(nn.NewLinear(1, 1), torch.Complex64) }},
	{"nn.Linear(1, 1).to(torch.float64)", func() { nn.To(nn.NewLinear(1, 1), torch.Float64) }},
	{"F.upsample(ones(1, 1, 2), scale_factor=2)", func() { F.Upsample(torch.Ones(1, 1, 2), F.InterpolateOptions{ScaleFactor: 2}) }},
	{"F.upsample_nearest(ones(1, 1, 2, 2), scale_factor=2)",
		func() { F.UpsampleNearest(torch.Ones(1, 1, 2, 2), F.UpsampleOptions{ScaleFactor: 2}) }},
	{"F.upsample_bilinear(ones(1, 1, 2, 2), scale_factor=2)",
		func() { F.UpsampleBilinear(torch.Ones(1, 1, 2, 2), F.UpsampleOptions{ScaleFactor: 2}) }},
	{"nn.Upsample(scale_factor=2)(ones(1, 1, 2))", func() { nn.Upsample{ScaleFactor: 2}.Forward(torch.Ones(1, 1, 2)) }},
	{"nn.UpsamplingNearest2d(scale_factor=2)(ones(1, 1, 2, 2))",
		func() { nn.UpsamplingNearest2d{ScaleFactor: 2}.Forward(torch.Ones(1, 1, 2, 2)) }},
	{"nn.UpsamplingBilinear2d(scale_factor=2)(ones(1, 1, 2, 2))",
		func() { nn.UpsamplingBilinear2d{ScaleFactor: 2}.Forward(torch.Ones(1, 1, 2, 2)) }},
	{"nn.MultiheadAttention(4, 2)(ones(3, 2, 4), ones(3, 2, 4), ones(3, 2, 4), key_padding_mask=ones(2, 3), attn_mask=ones(3, 3) > 2)",
		func() {
			a, x := nn.NewMultiheadAttention(4, 2), torch.Ones(3, 2, 4)
			a.Forward(x, x, x, nn.AttentionOptions{KeyPaddingMask: torch.Ones(2, 3), AttnMask: torch.Ones(3, 3).GtScalar(2)})
		}},
}

const warningsScript = `
import json, sys, warnings, torch
from torch import nn, ones
import torch.nn.functional as F
answers = []
for code in json.loads(sys.argv[1]):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eval(code)
    answers.append(sorted({str(w.message) for w in caught}))
print(json.dumps(answers))
`

// TestWarningsArePythons holds what is warned of against Python, word for word.
func TestWarningsArePythons(t *testing.T) {
	torchtest.NoLeaks(t)
	codes := make([]string, len(warnings))
	for i, w := range warnings {
		codes[i] = w.python
	}
	question, err := json.Marshal(codes)
	require.NoError(t, err)
	var want [][]string
	answer, err := peer.Command(t, "-c", warningsScript, string(question)).Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(answer, &want))
	var got []string
	torch.OnWarning(func(text string) { got = append(got, text) })
	defer torch.OnWarning(nil)
	warned := 0
	for i, w := range warnings {
		got = nil
		torch.Scope(w.call)
		assert.ElementsMatch(t, want[i], got, w.python)
		warned += len(got)
	}
	assert.Equal(t, 20, warned, strings.Join(codes, "\n"))
}
