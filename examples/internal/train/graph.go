package train

import (
	"flag"

	"github.com/libtorch-go/libtorch/examples/internal/cli"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// AddGraph adds -graph to a command line. Its value is for [CheckGraph], and says whether to call
// [Stepper.Record].
func AddGraph(fs *flag.FlagSet, wanted *bool) {
	fs.BoolVar(wanted, "graph", false, "record the training step as a CUDA graph and replay it")
}

// CheckGraph refuses -graph for a run that is not on a card.
func CheckGraph(wanted bool, dev torch.Device) error {
	if wanted && !dev.IsCUDA() {
		return cli.Usagef("-graph needs a CUDA device, this run is on the %v", dev)
	}
	return nil
}

// Stepper makes the steps of a training, as they are or by way of a CUDA graph.
type Stepper struct {
	// Step trains on a batch and returns the loss and any further results.
	Step      func(inputs []torch.Tensor) []torch.Tensor
	Optimizer optim.Optimizer
	Batch     int // samples in a full batch

	graph graph // nil if steps run without a graph
}

// graph is a [cuda.Step].
type graph interface {
	Run(inputs ...torch.Tensor) ([]torch.Tensor, error)
	Close()
}

// Record turns the step into a graph, for full batches only: the last batch of an epoch may
// be small, and its step runs without the graph. It panics with a *torch.Error if there is no
// CUDA.
func (s *Stepper) Record(dev torch.Device) {
	s.graph = cuda.Graphed(s.Step, cuda.GraphedOptions{Device: max(0, dev.Index())})
}

// Run makes a step with inputs [N, …]. The loss may be kept; other results of a graph are valid
// until the next step.
func (s *Stepper) Run(inputs ...torch.Tensor) ([]torch.Tensor, error) {
	if s.graph == nil {
		return s.Step(inputs), nil
	}
	for _, group := range s.Optimizer.ParamGroups() {
		group.WriteLR() // a schedule may have changed it, and kernels read it from there, whole batch or not
	}
	if inputs[0].Size(0) != s.Batch {
		return s.Step(inputs), nil
	}
	out, err := s.graph.Run(inputs...)
	if err != nil {
		return nil, err
	}
	out[0] = out[0].Clone()
	return out, nil
}

// Close frees the graph.
func (s *Stepper) Close() {
	if s.graph != nil {
		s.graph.Close()
	}
}
