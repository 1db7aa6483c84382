package torch_test

import (
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

// What must outlive the scope around it is born outside: a cache, a parameter.
func ExampleUnscoped() {
	var table torch.Tensor
	torch.Scope(func() {
		x := torch.Arange(4)
		torch.Unscoped(func() { table = x.Square() })
	})
	defer table.Close()
	fmt.Println(table)
	// Output: tensor([0, 1, 4, 9])
}

// MoveOut hands a tensor to the scope around, where Keep lets it out of all scopes.
func ExampleTensor_MoveOut() {
	torch.Scope(func() {
		var best torch.Tensor
		for i := range 3 {
			torch.Scope(func() {
				score := torch.FromValue(float64(i)).Sin()
				if !best.Defined() || score.Float64() > best.Float64() {
					best = score.MoveOut()
				}
			})
		}
		fmt.Printf("%.2f\n", best.Float64())
	})
	// Output: 0.91
}

// Two holders of one tensor, each of which closes its own handle.
func ExampleTensor_Alias() {
	weight := torch.Ones(2)
	shared := weight.Alias()
	weight.Close()
	fmt.Println(shared, weight.Closed())
	shared.Close()
	// Output: tensor([1., 1.]) true
}

// A tensor that is gone is an error that says so, never a crash.
func ExampleTensor_Closed() {
	var escaped torch.Tensor
	torch.Scope(func() { escaped = torch.Ones(2) })
	err := torch.Try(func() { escaped.AddScalar(1) })
	fmt.Println(escaped.Closed(), errors.Is(err, torch.ErrClosed))
	// Output: true true
}

func ExampleClose() {
	pair := []torch.Tensor{torch.Ones(2), {}} // an undefined tensor is passed over
	torch.Close(pair...)
	fmt.Println(pair[0].Closed(), pair[1].Defined())
	// Output: true false
}

func ExampleStats() {
	torch.GC() // what nobody refers to any more would be freed meanwhile
	before := torch.Stats()
	buffer := torch.Zeros(256, 1024)
	now := torch.Stats()
	fmt.Println((now.HostBytes-before.HostBytes)>>20, "MiB in", now.Live()-before.Live(), "tensor")
	buffer.Close()
	fmt.Println(torch.Stats().HostBytes == before.HostBytes)
	// Output:
	// 1 MiB in 1 tensor
	// true
}

// A page of statistics of a server shows who holds what.
func ExampleScopes() {
	torch.Scope(func() {
		torch.Zeros(1000)
		torch.Scope(func() {
			torch.Zeros(3, 1000)
			for _, s := range torch.Scopes() {
				fmt.Println(s.Tensors, "tensor,", s.Bytes, "bytes, inside of another:", s.Outer != 0)
			}
		})
	})
	// Unordered output:
	// 1 tensor, 4000 bytes, inside of another: false
	// 1 tensor, 12000 bytes, inside of another: true
}

// With a hard limit an operation fails where the kernel would end the process.
func ExampleSetMemoryLimits() {
	limit := torch.Stats().HostBytes + 64<<20
	before := torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{Hard: limit})
	defer torch.SetMemoryLimits(torch.CPU, before)

	err := torch.Try(func() { torch.Zeros(1 << 30) })
	fmt.Println(errors.Is(err, torch.ErrOutOfMemory))
	// Output: true
}

func ExampleResetPeakMemory() {
	torch.GC()
	torch.ResetPeakMemory()
	before := torch.Stats().HostPeak
	torch.Scope(func() {
		x := torch.Zeros(1 << 20)
		x.Exp().Add(x) // two more, and they are gone after the scope
	})
	fmt.Println((torch.Stats().HostPeak-before)>>20, "MiB at the peak")
	// Output: 12 MiB at the peak
}
