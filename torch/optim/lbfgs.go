package optim

import (
	"fmt"
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// LBFGSOptions are the settings of [LBFGS] other than the learning rate. In a [Group]
// the pointers are never nil.
type LBFGSOptions struct {
	MaxIter         int      `torch:"max_iter" default:"20"`           // iterations of a step; default 20
	MaxEval         int      `torch:"max_eval"`                        // evaluations of the loss of a step; default MaxIter*5/4
	ToleranceGrad   *float64 `torch:"tolerance_grad" default:"1e-7"`   // stop where no element of the gradient is larger; default 1e-7
	ToleranceChange *float64 `torch:"tolerance_change" default:"1e-9"` // stop where loss and parameters change by less; default 1e-9
	HistorySize     int      `torch:"history_size" default:"100"`      // past changes to keep; default 100
	LineSearch      string   `torch:"line_search_fn"`                  // "strong_wolfe", or "" for steps of the learning rate
}

func (o *LBFGSOptions) slots(torch.Tensor, float64) []slot { return nil }

func (o *LBFGSOptions) check([]torch.Tensor) string {
	if o.LineSearch != "" && o.LineSearch != "strong_wolfe" {
		return "only 'strong_wolfe' is supported"
	}
	if o.HistorySize < 1 {
		return fmt.Sprintf("history_size is %d, expected 1 or more", o.HistorySize)
	}
	return ""
}

// LBFGS takes Newton's steps with an inverse Hessian that it estimates from past changes of
// the gradient (Liu and Nocedal, "On the limited memory BFGS method for large scale
// optimization", 1989; after Schmidt's minFunc). It needs the loss many times in each step,
// and memory for 2*HistorySize copies of the parameters. It has one group, and no state for
// each parameter.
//
//	loss := opt.Step(func() torch.Tensor {
//		opt.ZeroGrad()
//		loss := F.MSELoss(model.Forward(x), y)
//		loss.Backward()
//		return loss
//	})
//
// It equals PyTorch's to the last bit for parameters in float32 and float64.
type LBFGS struct {
	base
	evals, iterations int
	direction         torch.Tensor // of the last iteration
	length            value        // of the step along it
	past              []change
	scale             value        // of the initial Hessian
	grad              torch.Tensor // before the last iteration
	loss              float64
}

// change is what an iteration did.
type change struct {
	grad, step torch.Tensor
	curvature  value // 1 over the product of both
}

// NewLBFGS makes an optimizer for the parameters. PyTorch's default learning rate is 1. It
// panics with a *torch.Error if a setting or a parameter is not valid.
func NewLBFGS(params []torch.Tensor, lr float64, opts ...LBFGSOptions) *LBFGS {
	l := &LBFGS{base: newBase("lbfgs")}
	own := settled(option.One(opts))
	if own.MaxEval == 0 {
		own.MaxEval = own.MaxIter * 5 / 4
	}
	l.addGroup(params, lr, own)
	return l
}

// Step minimizes the loss for a number of iterations and returns what it was before. The
// closure clears the gradients, computes the loss and calls Backward on it. It runs in a
// [torch.Scope] of its own, with gradients enabled.
func (l *LBFGS) Step(closure func() torch.Tensor) (loss float64) {
	l.steps++
	torch.NoGrad(func() {
		torch.Scope(func() { loss = l.minimize(closure) })
	})
	return loss
}

func (l *LBFGS) minimize(closure func() torch.Tensor) float64 {
	g := l.groups[0]
	l.checkOptions(g)
	o := g.Options.(*LBFGSOptions)
	complaint := o.check(nil) // the program may have changed the settings
	l.want(complaint == "", "%s", complaint)
	first, grad := l.evaluate(closure)
	l.evals++
	loss, evals := first, 1
	if largest(grad).atMost(float(*o.ToleranceGrad)) {
		return first
	}
	direction, length := l.direction, l.length
	for n := 1; n <= o.MaxIter; n++ {
		l.iterations++
		if l.iterations == 1 {
			direction = grad.Neg()
			l.scale = float(1)
		} else {
			l.learn(grad, direction, length, o.HistorySize)
			direction = l.newton(grad)
		}
		l.remember(grad, loss)
		length = float(g.LR)
		if l.iterations == 1 {
			length = lower(float(1), float(1).over(scalar(grad.Abs().Sum()))).times(float(g.LR))
		}
		slope := scalar(grad.Dot(direction))
		if float(-*o.ToleranceChange).less(slope) {
			break
		}
		tried := 0
		switch {
		case o.LineSearch != "":
			w := l.lineSearch(closure, direction, point{loss: loss, grad: grad, slope: slope}, o.MaxEval-evals)
			p := w.search(length)
			loss, grad, length, tried = p.loss, p.grad, p.t, w.evals
			l.move(length, direction)
		case n != o.MaxIter: // the loss after the last iteration is not needed
			l.move(length, direction)
			loss, grad = l.evaluate(closure)
			tried = 1
		default:
			l.move(length, direction)
		}
		evals += tried
		l.evals += tried
		if n == o.MaxIter || evals >= o.MaxEval || largest(grad).atMost(float(*o.ToleranceGrad)) ||
			largest(direction.MulScalar(length.f)).atMost(float(*o.ToleranceChange)) || math.Abs(loss-l.loss) < *o.ToleranceChange {
			break
		}
	}
	if l.length = length; !direction.Is(l.direction) {
		l.direction.Close()
		l.direction = direction.Keep()
	}
	return first
}

func largest(t torch.Tensor) value { return scalar(t.Abs().Max()) }

// evaluate returns the loss and the gradient of all parameters.
func (l *LBFGS) evaluate(closure func() torch.Tensor) (loss float64, grad torch.Tensor) {
	torch.Scope(func() {
		torch.EnableGrad(func() { loss = closure().Float64() })
		var parts []torch.Tensor
		params := l.groups[0].Params
		for i, g := range torch.Grads(params) {
			switch {
			case !g.Defined():
				g = torch.ZerosLike(params[i])
			case g.Layout() != torch.Strided:
				g = g.ToDense()
			}
			parts = append(parts, pairs([]torch.Tensor{g})[0].Reshape(-1))
		}
		grad = torch.Cat(parts).MoveOut()
	})
	return loss, grad
}

// move adds length times the direction to the parameters.
func (l *LBFGS) move(length value, direction torch.Tensor) {
	at := 0
	for _, p := range pairs(l.groups[0].Params) {
		n := p.NumEl()
		p.AddInPlace(direction.Narrow(0, at, n).ViewAs(p), torch.AddOptions{Alpha: length.f})
		at += n
	}
}

// learn adds the last iteration to the history.
func (l *LBFGS) learn(grad, direction torch.Tensor, length value, most int) {
	y, s := grad.Sub(l.grad), direction.MulScalar(length.f)
	product := scalar(y.Dot(s))
	if !float(1e-10).less(product) {
		return
	}
	if len(l.past) >= most {
		torch.Close(l.past[0].grad, l.past[0].step)
		l.past = slices.Delete(l.past, 0, 1)
	}
	l.past = append(l.past, change{y.Keep(), s.Keep(), float(1).over(product)})
	l.scale = product.over(scalar(y.Dot(y)))
}

// newton is the negative gradient times the inverse Hessian estimated from the history.
func (l *LBFGS) newton(grad torch.Tensor) torch.Tensor {
	q, shares := grad.Neg(), make([]value, len(l.past))
	for i, c := range slices.Backward(l.past) {
		shares[i] = scalar(c.step.Dot(q)).times(c.curvature)
		q.AddInPlace(c.grad, torch.AddOptions{Alpha: -shares[i].f})
	}
	r := q.MulScalar(l.scale.f)
	for i, c := range l.past {
		share := scalar(c.grad.Dot(r)).times(c.curvature)
		r.AddInPlace(c.step, torch.AddOptions{Alpha: shares[i].minus(share).f})
	}
	return r
}

// remember keeps the gradient and the loss from before an iteration.
func (l *LBFGS) remember(grad torch.Tensor, loss float64) {
	l.loss = loss
	if l.grad.Defined() {
		l.grad.CopyInPlace(grad)
		return
	}
	l.grad = grad.Clone().Keep()
}

func (l *LBFGS) lineSearch(closure func() torch.Tensor, direction torch.Tensor, start point, most int) *wolfe {
	params := l.groups[0].Params
	before := make([]torch.Tensor, len(params))
	for i, p := range params {
		before[i] = p.Clone(torch.ContiguousFormat)
	}
	at := func(t value) point {
		l.move(t, direction)
		loss, grad := l.evaluate(closure)
		for i, p := range params {
			p.CopyInPlace(before[i])
		}
		return point{t, loss, grad, scalar(grad.Dot(direction))}
	}
	return &wolfe{at: at, start: start, size: largest(direction), most: most}
}
