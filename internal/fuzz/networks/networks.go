package networks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// Network is one that a seed decides: each of its steps reads values, of which the first is the input, and makes one.
type Network struct {
	Free    bool           // the first dimension may have other sizes than that of Input
	Sides   bool           // and those of images may, unless some step cannot
	Results []int          // the values that are returned, by the number of the step that makes them
	Weights []torch.Tensor // that may be trained: those of products

	rand   *rand.Rand
	steps  []step
	values []torch.Tensor // for the input that it is drawn with
	most   int            // numbers of a value
}

// step computes in the dtype of what it reads.
type step struct {
	says  string
	reads []int
	fn    func(in ...torch.Tensor) torch.Tensor
}

// of computes a step from the values before it.
func (s step) of(values []torch.Tensor) torch.Tensor {
	in := make([]torch.Tensor, len(s.reads))
	for i, k := range s.reads {
		in[i] = values[k]
	}
	return s.fn(in...)
}

// Draw is the network of a seed, with weights that live as long as the scope.
func Draw(seed uint64) *Network {
	n := &Network{rand: rand.New(rand.NewPCG(seed, 1)), most: 1 << 17}
	torch.ManualSeed(seed)
	n.Free = n.chance(3)
	if n.chance(20) {
		n.most = 1 << 20
	}
	for len(n.steps) == 0 {
		one(n, images, images, images, signals, sequences, sequences, volumes)(n)
	}
	n.Results = []int{n.last()}
	for n.chance(3) {
		n.Results = append(n.Results, 1+n.rand.IntN(n.last()))
	}
	return n
}

// Steps is how many there are.
func (n *Network) Steps() int { return len(n.steps) }

// Input is what the network was drawn with.
func (n *Network) Input() torch.Tensor { return n.values[0] }

// Forward computes a network, or what of it the results need, in the dtype of the input.
func (n *Network) Forward(results ...int) func(x torch.Tensor) []torch.Tensor {
	needed := n.needed(results)
	return func(x torch.Tensor) []torch.Tensor {
		values := make([]torch.Tensor, len(n.values))
		values[0] = x
		for i, s := range n.steps {
			if !needed[i+1] {
				continue
			}
			values[i+1] = s.of(values)
		}
		var out []torch.Tensor
		for _, k := range results {
			out = append(out, values[k])
		}
		return out
	}
}

// needed are the values that some results are made of, and these.
func (n *Network) needed(results []int) map[int]bool {
	needed := map[int]bool{}
	for _, k := range results {
		needed[k] = true
	}
	for k := n.last(); k > 0; k-- {
		if needed[k] {
			for _, from := range n.steps[k-1].reads {
				needed[from] = true
			}
		}
	}
	return needed
}

// Describe is a line for each step that some results need.
func (n *Network) Describe(results ...int) string {
	needed := n.needed(results)
	var b strings.Builder
	fmt.Fprintf(&b, "\n 0  input %v, free: %v, sides: %v\n", n.Input().Shape(), n.Free, n.Sides)
	for i, s := range n.steps {
		if needed[i+1] {
			fmt.Fprintf(&b, "%2d  %s of %v -> %v\n", i+1, s.says, s.reads, n.values[i+1].Shape())
		}
	}
	return fmt.Sprint(b.String(), "results ", results)
}

// step adds a step that reads values, unless it fails: what does not fit is left out.
func (n *Network) step(reads []int, fn func(in ...torch.Tensor) torch.Tensor, format string, args ...any) (ok bool) {
	const greatest = 1e4
	var y torch.Tensor
	s := step{fmt.Sprintf(format, args...), reads, fn}
	err := torch.Try(func() { y = s.of(n.values) })
	if err != nil || y.NumEl() == 0 || y.NumEl() > n.most || !(y.Abs().Max().Float64() < greatest) {
		return false
	}
	n.steps = append(n.steps, s)
	n.values = append(n.values, y)
	return true
}

// on adds a step that reads the last value.
func (n *Network) on(fn func(x torch.Tensor) torch.Tensor, format string, args ...any) bool {
	return n.step([]int{n.last()}, func(in ...torch.Tensor) torch.Tensor { return fn(in[0]) }, format, args...)
}

func (n *Network) last() int { return len(n.values) - 1 }

// shape is that of the last value.
func (n *Network) shape() []int { return n.values[n.last()].Shape() }

// alike is an earlier value whose sizes are those of the last one, but in one dimension where that is not negative.
func (n *Network) alike(but int) (k int, ok bool) {
	want, all := n.shape(), []int{}
	for i, v := range n.values[:n.last()] {
		shape := v.Shape()
		if len(shape) != len(want) {
			continue
		}
		if but >= 0 {
			shape[but] = want[but]
		}
		if slices.Equal(shape, want) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return one(n, all...), true
}

// one is one of a list.
func one[T any](n *Network, of ...T) T { return of[n.rand.IntN(len(of))] }

// chance is true as often as once in so many times.
func (n *Network) chance(times int) bool { return n.rand.IntN(times) == 0 }

// weight are random numbers whose products with others, that many for each sum, are about as large as these.
func (n *Network) weight(sum int, shape ...int) torch.Tensor {
	w := torch.RandN(shape...).MulScalar(math.Sqrt(1.6 / float64(max(1, sum))))
	n.Weights = append(n.Weights, w)
	return w
}

// like is a weight in the dtype of what meets it.
func like(w, x torch.Tensor) torch.Tensor {
	if !w.Defined() || w.DType() == x.DType() {
		return w
	}
	return w.To(x.DType())
}
