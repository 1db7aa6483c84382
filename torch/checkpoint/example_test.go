package checkpoint_test

import (
	"context"
	"fmt"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/checkpoint"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// A training that saves itself every two steps, is lost after the fifth, and goes on after the fourth.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	training := func(steps int) error {
		model := nn.NewLinear(3, 2)
		opt := optim.NewSGD(nn.Parameters(model), 0.1, optim.SGDOptions{Momentum: 0.9})
		run, err := checkpoint.Open(dir, checkpoint.Parts{"model": model, "optimizer": opt}, checkpoint.Options{Every: 2})
		if err != nil {
			return err
		}
		defer run.Close()
		at, err := run.Resume(nil)
		if err != nil {
			return err
		}
		fmt.Println("begins after step", at.Step)
		ctx, cancel := checkpoint.OnTerm(context.Background())
		defer cancel()
		for step := at.Step + 1; step <= steps; step++ {
			torch.Scope(func() {
				opt.ZeroGrad()
				model.Forward(torch.RandN(4, 3)).Square().Mean().Backward()
				opt.Step()
			})
			if stop, err := run.Step(ctx, checkpoint.Point{Step: step}); stop || err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Println(training(5))
	fmt.Println(training(10))
	// Output:
	// begins after step 0
	// <nil>
	// begins after step 4
	// <nil>
}

// What a crash or a bad disk did to a checkpoint is found out before it is used.
func ExampleLatest() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	run, err := checkpoint.Open(dir, checkpoint.Parts{"model": nn.NewLinear(3, 2)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for step := range 2 {
		if err := run.Save(checkpoint.Point{Step: step}); err != nil {
			fmt.Println(err)
			return
		}
	}
	_ = os.Truncate(dir+"/step-0000000001.2/checkpoint.pt", 100)
	path, skipped, err := checkpoint.Latest(dir)
	fmt.Println(path[len(dir):], len(skipped), err)
	// Output: /step-0000000000.1 1 <nil>
}
