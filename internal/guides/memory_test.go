package guides

import (
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

func Example_scope() {
	w := torch.TensorOptions{RequiresGrad: true}.Ones(3) // born outside: it stays
	defer w.Close()
	before := torch.Stats().Scoped
	for range 3 {
		torch.Scope(func() { // all that a step makes goes with it
			loss := w.Mul(w).Sum()
			loss.Backward()
			w.Grad().ZeroInPlace()
		})
	}
	fmt.Println(torch.Stats().Scoped - before)
	// Output: 0
}

func Example_keep() {
	var best torch.Tensor
	torch.Scope(func() {
		x := torch.Arange(4)
		best = x.Mul(x).Keep() // a handle of its own, which no scope owns
	})
	defer best.Close()
	fmt.Println(best)

	mean := torch.Scope1(func() torch.Tensor { return torch.Ones(4).Mul(torch.Arange(4)).Mean() }) // one result: no Keep
	defer mean.Close()
	fmt.Println(mean)
	// Output:
	// tensor([0, 1, 4, 9])
	// tensor(1.5000)
}

func Example_closed() {
	var lost torch.Tensor
	torch.Scope(func() { lost = torch.Ones(2) })
	err := torch.Try(func() { lost.Sum() })
	fmt.Println(errors.Is(err, torch.ErrClosed))
	// Output: true
}

func Example_unscoped() {
	var table torch.Tensor // a cache that whoever comes first fills
	lookup := func() torch.Tensor {
		if !table.Defined() {
			torch.Unscoped(func() { table = torch.Arange(5) })
		}
		return table
	}
	torch.Scope(func() { lookup() })
	fmt.Println(lookup())
	table.Close()
	// Output: tensor([0, 1, 2, 3, 4])
}

func Example_limits() {
	const megabyte = 1 << 20
	before := torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{Hard: torch.Stats().HostBytes + 64*megabyte})
	defer torch.SetMemoryLimits(torch.CPU, before)
	err := torch.Try(func() { torch.Zeros(100 * megabyte) })
	fmt.Println(errors.Is(err, torch.ErrOutOfMemory)) // and not the end of the process
	// Output: true
}
