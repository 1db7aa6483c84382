package optim

import "github.com/libtorch-go/libtorch/torch"

// point is a step size with the loss and the gradient there.
type point struct {
	t     value // the step size
	loss  float64
	grad  torch.Tensor // of all parameters
	slope value        // of the loss along the direction
}

// Constants of the strong Wolfe conditions (Nocedal and Wright, "Numerical Optimization",
// chapter 3), and limits of the search.
const (
	enoughDecrease  = 1e-4
	enoughFlatter   = 0.9
	smallestBracket = 1e-9
)

// wolfe looks for a step along a direction.
type wolfe struct {
	at    func(t value) point // evaluates the loss there
	start point               // at 0
	size  value               // of the largest element of the direction
	most  int                 // evaluations
	evals int
}

func (w *wolfe) evaluate(t value) point {
	w.evals++
	return w.at(t)
}

// steep tells whether the loss at p did not fall enough for the step that it took.
func (w *wolfe) steep(p point) bool {
	limit := float(w.start.loss).plus(float(enoughDecrease).times(p.t).times(w.start.slope))
	return limit.less(float(p.loss))
}

func (w *wolfe) flat(p point) bool {
	return p.slope.abs().atMost(float(-enoughFlatter).times(w.start.slope))
}

// search returns a point that satisfies the strong Wolfe conditions, or the best that it
// found. It first brackets one, then closes in on it.
func (w *wolfe) search(t value) point {
	bracket, done, tries := w.bracket(t)
	low, high := order(bracket)
	stalled := false
	for ; !done && tries < w.most; tries++ {
		if bracket[1].t.minus(bracket[0].t).abs().times(w.size).less(float(smallestBracket)) {
			break
		}
		t, stalled = within(bracket, stalled)
		p := w.evaluate(t)
		if w.steep(p) || p.loss >= bracket[low].loss {
			bracket[high] = p
			low, high = order(bracket)
			continue
		}
		if done = w.flat(p); !done && float(0).atMost(p.slope.times(bracket[high].t.minus(bracket[low].t))) {
			bracket[high] = bracket[low]
		}
		bracket[low] = p
	}
	return bracket[low]
}

// order says which end of a bracket has the lower loss.
func order(bracket []point) (low, high int) {
	if last := len(bracket) - 1; bracket[0].loss <= bracket[last].loss {
		return 0, last
	}
	return 1, 0
}

// bracket continues from t until there is a suitable point, and returns the two points
// around it, or one alone that is good enough.
func (w *wolfe) bracket(t value) (found []point, done bool, tries int) {
	last, p := w.start, w.evaluate(t)
	for ; tries < w.most; tries++ {
		switch {
		case w.steep(p) || tries > 1 && p.loss >= last.loss:
			return []point{last, p}, false, tries
		case w.flat(p):
			return []point{p}, true, tries
		case float(0).atMost(p.slope):
			return []point{last, p}, false, tries
		}
		least := p.t.plus(float(0.01).times(p.t.minus(last.t)))
		next := interpolate(last, p, least, p.t.times(float(10)))
		last, p = p, w.evaluate(next)
	}
	return []point{w.start, p}, false, tries
}

// within is the next step size to try in a bracket: the minimum of a cubic, but not too close
// to an end twice in a row.
func within(bracket []point, stalled bool) (t value, stalls bool) {
	a, b := bracket[0].t, bracket[1].t
	least, most := lower(a, b), higher(a, b)
	begin, end := a, b
	if !a.atMost(b) {
		begin, end = b, a
	}
	t = interpolate(bracket[0], bracket[1], begin, end)
	margin := float(0.1).times(most.minus(least))
	if !lower(most.minus(t), t.minus(least)).less(margin) {
		return t, false
	}
	if !stalled && t.less(most) && least.less(t) {
		return t, true
	}
	if t.minus(most).abs().less(t.minus(least).abs()) {
		return most.minus(margin), false
	}
	return least.plus(margin), false
}

// interpolate is the minimum of the cubic through two points, within bounds.
func interpolate(p, q point, least, most value) value {
	d1 := p.slope.plus(q.slope).minus(float(3 * (p.loss - q.loss)).over(p.t.minus(q.t)))
	square := d1.times(d1).minus(p.slope.times(q.slope))
	if square.less(float(0)) {
		return least.plus(most).over(float(2))
	}
	d2, at := square.sqrt(), value{}
	if p.t.atMost(q.t) {
		part := q.slope.plus(d2).minus(d1).over(q.slope.minus(p.slope).plus(float(2).times(d2)))
		at = q.t.minus(q.t.minus(p.t).times(part))
	} else {
		part := p.slope.plus(d2).minus(d1).over(p.slope.minus(q.slope).plus(float(2).times(d2)))
		at = p.t.minus(p.t.minus(q.t).times(part))
	}
	return lower(higher(at, least), most)
}
