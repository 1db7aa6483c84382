package lr_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// orders are lines of a program in which schedule and optimizer step in some order; o is an SGD
// of one parameter, which has a gradient.
var orders = []struct {
	python string
	call   func(o *optim.SGD)
}{
	{"s = StepLR(o, 2); s.step()", func(o *optim.SGD) { lr.Step(o, 2, 0.1).Step() }},
	{"s = StepLR(o, 2); o.step(); s.step()", func(o *optim.SGD) { s := lr.Step(o, 2, 0.1); o.Step(); s.Step() }},
	{"s = StepLR(o, 2); s.step(); s.step()", func(o *optim.SGD) { s := lr.Step(o, 2, 0.1); s.Step(); s.Step() }},
	{"s = StepLR(o, 2); s.step(); o.step(); s.step()", func(o *optim.SGD) { s := lr.Step(o, 2, 0.1); s.Step(); o.Step(); s.Step() }},
	{"o.step(); s = StepLR(o, 2); s.step()", func(o *optim.SGD) { o.Step(); lr.Step(o, 2, 0.1).Step() }},
	{"s = StepLR(o, 2); o.step(); s = StepLR(o, 2); s.step()", func(o *optim.SGD) { lr.Step(o, 2, 0.1); o.Step(); lr.Step(o, 2, 0.1).Step() }},
	{"s = ReduceLROnPlateau(o); s.step(1.)", func(o *optim.SGD) { lr.ReduceOnPlateau(o).Step(1) }},
	{"s = CosineAnnealingWarmRestarts(o, 2); s.step()", func(o *optim.SGD) { lr.CosineAnnealingWarmRestarts(o, 2, 1, 0).Step() }},
	{"s = CosineAnnealingWarmRestarts(o, 2); s.step(0.5)", func(o *optim.SGD) { lr.CosineAnnealingWarmRestarts(o, 2, 1, 0).StepTo(0.5) }},
	{"s = ChainedScheduler([StepLR(o, 2), ExponentialLR(o, .9)]); s.step()", func(o *optim.SGD) {
		lr.Chained(lr.Step(o, 2, 0.1), lr.Exponential(o, 0.9)).Step()
	}},
	{"s = ChainedScheduler([StepLR(o, 2), ExponentialLR(o, .9)]); o.step(); s.step()", func(o *optim.SGD) {
		s := lr.Chained(lr.Step(o, 2, 0.1), lr.Exponential(o, 0.9))
		o.Step()
		s.Step()
	}},
	{"s = SequentialLR(o, [StepLR(o, 2), ExponentialLR(o, .9)], [1]); s.step(); s.step()", func(o *optim.SGD) {
		s := lr.Sequential([]*lr.Schedule{lr.Step(o, 2, 0.1), lr.Exponential(o, 0.9)}, []int{1})
		s.Step()
		s.Step()
	}},
	{"s = SequentialLR(o, [StepLR(o, 2), ExponentialLR(o, .9)], [1]); o.step(); s.step(); s.step()", func(o *optim.SGD) {
		s := lr.Sequential([]*lr.Schedule{lr.Step(o, 2, 0.1), lr.Exponential(o, 0.9)}, []int{1})
		o.Step()
		s.Step()
		s.Step()
	}},
	{"s = StepLR(o, 2); o.step(); s.step(); d = s.state_dict(); s = StepLR(o, 2); s.load_state_dict(d); s.step()", func(o *optim.SGD) {
		s := lr.Step(o, 2, 0.1)
		o.Step()
		s.Step()
		again := lr.Step(o, 2, 0.1)
		_ = again.LoadStateDict(s.StateDict())
		again.Step()
	}},
}

const ordersScript = `
import json, sys, warnings, torch
from torch.optim.lr_scheduler import *
answers = []
for code in json.loads(sys.argv[1]):
    p = torch.ones(1, requires_grad=True)
    p.grad = torch.ones(1)
    o = torch.optim.SGD([p], 0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(code)
    answers.append(sorted({str(w.message) for w in caught}))
print(json.dumps(answers))
`

// TestWarningsArePythons holds what is warned of against Python, word for word.
func TestWarningsArePythons(t *testing.T) {
	torchtest.NoLeaks(t)
	codes := make([]string, len(orders))
	for i, o := range orders {
		codes[i] = o.python
	}
	question, err := json.Marshal(codes)
	require.NoError(t, err)
	answer, err := peer.Command(t, "-c", ordersScript, string(question)).Output()
	require.NoError(t, err)
	var want [][]string
	require.NoError(t, json.Unmarshal(answer, &want))
	got := map[string]bool{}
	torch.OnWarning(func(text string) { got[text] = true })
	defer torch.OnWarning(nil)
	warned := 0
	for i, o := range orders {
		clear(got)
		torch.Scope(func() {
			p := torch.Ones(1).SetRequiresGrad(true)
			p.SetGrad(torch.Ones(1))
			opt := optim.NewSGD([]torch.Tensor{p}, 0.1)
			defer opt.Close()
			o.call(opt)
		})
		var texts []string
		for text := range got {
			texts = append(texts, text)
		}
		assert.ElementsMatch(t, want[i], texts, o.python)
		warned += len(texts)
	}
	assert.Equal(t, 6, warned, strings.Join(codes, "\n"))
}
