// Package lr changes learning rates as training goes on: PyTorch's
// torch.optim.lr_scheduler, number for number.
//
//	sched := lr.OneCycle(opt, 0.4, epochs*loader.Len())
//	for … {
//		opt.Step()
//		sched.Step()
//	}
//
// A schedule sets the rate of every group of an optimizer when it is made, for the first
// step, and at each [Schedule.Step] for the next one. Some go by steps, some by epochs: what
// counts is how often Step is called.
//
// # Rules
//
//	Step, MultiStep, Exponential, Multiplicative      fall by factors
//	Lambda, Linear, Constant, Polynomial              factors of the rate at the beginning
//	CosineAnnealing, CosineAnnealingWarmRestarts      along cosines, the second also by parts of steps
//	Cyclic, OneCycle                                  up and down, the momentum the other way
//	ReduceOnPlateau                                   fall when a metric stops improving
//	SWA                                               to a fixed rate, for weights to be averaged
//	Sequential, Chained                               several, one after the other or together
//
// Most rules compute a rate from the one before, as PyTorch's do. So rates that the program
// changes in between stay changed, and several schedules of one optimizer multiply.
//
// A rule has the same arguments for all groups of an optimizer, whose base rates may differ.
// The exceptions of PyTorch, lists with one function or bound for each group, are missing.
//
// # State
//
// StateDict and LoadStateDict use PyTorch's names, and the state can be stored as JSON. As in
// PyTorch, functions and arguments are not part of the state: make the schedule again, then
// load.
package lr
