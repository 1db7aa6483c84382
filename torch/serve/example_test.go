package serve_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/serve"
)

// Requests that come at the same time are computed together.
func Example() {
	torch.ManualSeed(0)
	model := serve.Module(nn.NewLinear(4, 2), serve.Spec{Name: "x", DType: torch.Float32, Shape: []int{-1, 4}},
		serve.Spec{Name: "y", DType: torch.Float32, Shape: []int{-1, 2}})
	server, err := serve.New(model, serve.Options{MaxBatch: 32, MaxDelay: time.Minute}) // full before
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			torch.Scope(func() {
				if _, err := server.Run(context.Background(), torch.Ones(4, 4)); err != nil {
					fmt.Println(err)
				}
			})
		})
	}
	callers.Wait()
	stats := server.Stats()
	fmt.Println(stats.Answered, "requests,", stats.Rows, "rows; one batch:", stats.Batches == 1)
	// Output: 8 requests, 32 rows; one batch: true
}

// What a handler of net/http does with an error.
func ExampleStatus() {
	same := func(in []torch.Tensor) []torch.Tensor { return in }
	x := serve.Spec{Name: "x", DType: torch.Float32, Shape: []int{-1}}
	server, err := serve.New(serve.Func(serve.Signature{Inputs: []serve.Spec{x}, Outputs: []serve.Spec{x}}, same))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	_, err = server.Run(context.Background(), torch.Ones(2, 2))
	fmt.Println(serve.Status(err), err)
	// Output: 400 serve: "x" is float32[2 2], expected x float32[-1]
}
