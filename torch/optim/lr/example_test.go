package lr_test

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
)

// newSGD is an optimizer of one parameter with a rate of 1, for the schedules to change.
func newSGD(o ...optim.SGDOptions) *optim.SGD {
	w := torch.TensorOptions{RequiresGrad: true}.Zeros(1)
	return optim.NewSGD([]torch.Tensor{w}, 1, o...)
}

// show prints the rates of the first steps.
func show(opt *optim.SGD, sched interface{ Step() }, steps int) {
	for range steps {
		fmt.Printf("%.3g ", opt.ParamGroups()[0].LR)
		opt.Step()
		sched.Step()
	}
	fmt.Println()
}

func ExampleMultiStep() {
	opt := newSGD()
	show(opt, lr.MultiStep(opt, []int{2, 3}, 0.1), 5)
	// Output: 1 1 0.1 0.01 0.01
}

func ExampleExponential() {
	opt := newSGD()
	show(opt, lr.Exponential(opt, 0.5), 4)
	// Output: 1 0.5 0.25 0.125
}

func ExampleCosineAnnealing() {
	opt := newSGD()
	show(opt, lr.CosineAnnealing(opt, 4, 0), 5)
	// Output: 1 0.854 0.5 0.146 0
}

func ExampleCosineAnnealingWarmRestarts() {
	opt := newSGD()
	show(opt, lr.CosineAnnealingWarmRestarts(opt, 2, 2, 0), 7)
	// Output: 1 0.5 1 0.854 0.5 0.146 1
}

// A warm-up over the first steps.
func ExampleLinear() {
	opt := newSGD()
	show(opt, lr.Linear(opt, 0.25, 1, 3), 5)
	// Output: 0.25 0.5 0.75 1 1
}

func ExamplePolynomial() {
	opt := newSGD()
	show(opt, lr.Polynomial(opt, 4, 2), 5)
	// Output: 1 0.562 0.25 0.0625 0
}

// A rule of one's own: the inverse square root of the step, as in the first transformer.
func ExampleLambda() {
	opt := newSGD()
	show(opt, lr.Lambda(opt, func(step int) float64 { return 1 / math.Sqrt(float64(step+1)) }), 4)
	// Output: 1 0.707 0.577 0.5
}

// The momentum goes the other way.
func ExampleOneCycle() {
	opt := newSGD(optim.SGDOptions{Momentum: 0.9})
	sched := lr.OneCycle(opt, 1, 10, lr.OneCycleOptions{PctStart: 0.5})
	for step := range 10 {
		if step%4 == 0 {
			fmt.Printf("%.2f %.2f\n", sched.LastLR()[0], *opt.ParamGroups()[0].Momentum())
		}
		opt.Step()
		if step < 9 {
			sched.Step()
		}
	}
	// Output:
	// 0.04 0.95
	// 1.00 0.85
	// 0.10 0.94
}

func ExampleCyclic() {
	opt := newSGD()
	show(opt, lr.Cyclic(opt, 0, 1, lr.CyclicOptions{Up: 2, FixedMomentum: true}), 6)
	// Output: 0 0.5 1 0.5 0 0.5
}

// Two schedules at once: their factors multiply.
func ExampleChained() {
	opt := newSGD()
	show(opt, lr.Chained(lr.Constant(opt, 0.5, 2), lr.Exponential(opt, 0.5)), 4)
	// Output: 0.5 0.25 0.25 0.125
}

// The rate falls when the validation loss no longer does.
func ExampleReduceOnPlateau() {
	opt := newSGD()
	sched := lr.ReduceOnPlateau(opt, lr.PlateauOptions{Factor: 0.5, Patience: new(1)})
	for _, loss := range []float64{3, 2, 2, 2, 1} {
		sched.Step(loss)
		fmt.Print(sched.LastLR()[0], " ")
	}
	// Output: 1 1 1 0.5 0.5
}

// The state may go through JSON.
func ExampleSchedule_StateDict() {
	opt := newSGD()
	sched := lr.Step(opt, 2, 0.1)
	for range 3 {
		opt.Step()
		sched.Step()
	}
	text, err := json.Marshal(sched.StateDict())
	if err != nil {
		fmt.Println(err)
		return
	}
	var state map[string]any
	if err := json.Unmarshal(text, &state); err != nil {
		fmt.Println(err)
		return
	}
	resumed := lr.Step(newSGD(), 2, 0.1)
	fmt.Println(resumed.LoadStateDict(state), resumed.Steps(), resumed.LastLR())
	// Output: <nil> 3 [0.1]
}

// The last part of a training, whose weights are averaged.
func ExampleSWA() {
	opt := newSGD()
	show(opt, lr.SWA(opt, 0.1, lr.SWAOptions{Steps: new(3), Linear: true}), 5)
	// Output: 1 0.7 0.4 0.1 0.1
}
