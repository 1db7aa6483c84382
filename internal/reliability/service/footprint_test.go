package service

import (
	"path/filepath"
	"testing"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/vision/models"
)

// footprint is the memory of a process in bytes: after its first operation, with the network, and at most,
// after three rounds of the work.
type footprint struct{ Idle, Ready, Peak int }

// The batch of testdata/footprint.py.
const (
	footprintRounds = 3
	footprintBatch  = 8
	footprintSide   = 128
)

// work measures rounds of it.
func work(prepare func(model *models.ResNet, x torch.Tensor) (round func())) {
	torch.SetNumThreads(1)
	torch.Scope(func() { torch.Ones(2).Add(torch.Ones(2)) })
	f := footprint{Idle: usage().Resident}
	model := models.ResNet50(1000)
	round := prepare(model, torch.RandN(footprintBatch, 3, footprintSide, footprintSide))
	f.Ready = usage().Resident
	for range footprintRounds {
		torch.Scope(round)
	}
	f.Peak = usage().Peak
	tell(f)
}

func childInference() {
	work(func(model *models.ResNet, x torch.Tensor) func() {
		nn.Eval(model)
		return func() { torch.Inference(func() { model.Forward(x) }) }
	})
}

func childTraining() {
	work(func(model *models.ResNet, x torch.Tensor) func() {
		opt := optim.NewSGD(nn.Parameters(model), 0.01, optim.SGDOptions{Momentum: 0.9})
		labels := torch.RandInt(0, 1000, []int{footprintBatch})
		return func() {
			F.CrossEntropy(model.Forward(x), labels).Backward()
			opt.Step()
			opt.ZeroGrad()
		}
	})
}

func TestResNet50TakesNoMoreMemoryThanPython(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	const bar = 1.02
	for _, task := range []string{"inference", "training"} {
		var ours, theirs footprint
		answer(t, child(t, task), &ours)
		answer(t, peer.Command(t, filepath.Join("testdata", "footprint.py"),
			filepath.Join("..", "..", "..", "vision", "models", "testdata"), task), &theirs)
		reliability.AtMost(t, "peak memory of ResNet-50 in "+task+", as a part of Python's", float64(ours.Peak)/float64(theirs.Peak), bar)
		reliability.Note(t, "peak memory in "+task, megabytes(ours.Peak), "MB")
		reliability.Note(t, "peak memory in "+task+" above that at rest, as a part of Python's",
			float64(ours.Peak-ours.Idle)/float64(theirs.Peak-theirs.Idle))
	}
}
