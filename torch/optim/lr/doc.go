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
// Most rules compute a rate from the one before, as PyTorch's do. So rates that the program
// changes in between stay changed, and several schedules of one optimizer multiply.
package lr
