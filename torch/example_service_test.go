package torch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/libtorch-go/libtorch/torch"
)

// Any number of goroutines ask one model; two threads answer.
func ExampleLanes() {
	weight := torch.Arange(4).To(torch.Float32)
	lanes := torch.NewLanes(2)
	defer lanes.Close()

	answers := make([]float32, 8)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			err := lanes.Do(context.Background(), func() {
				torch.Scope(func() { answers[i] = torch.Value[float32](weight.MulScalar(i).Sum()) })
			})
			if err != nil {
				fmt.Println(err)
			}
		})
	}
	wg.Wait()
	fmt.Println(answers, lanes.Stats().Finished)
	// Output: [0 6 12 18 24 30 36 42] 8
}

// Do1 gives a tensor back; what was made on the way is freed.
func ExampleLanes_Do1() {
	lanes := torch.NewLanes(1)
	defer lanes.Close()
	y, err := lanes.Do1(context.Background(), func() torch.Tensor {
		x := torch.Arange(3)
		return x.Mul(x)
	})
	fmt.Println(y, err)

	_, err = lanes.Do1(context.Background(), func() torch.Tensor { return torch.Ones(2).Add(torch.Ones(3)) })
	fmt.Println(err != nil)
	// Output:
	// tensor([0, 1, 4]) <nil>
	// true
}

// A caller that has waited long enough gives up. No more than Queue wait at all.
func ExampleLanesOptions() {
	lanes := torch.NewLanes(1, torch.LanesOptions{Queue: 1})
	defer lanes.Close()
	started, finish := make(chan bool), make(chan bool)
	go lanes.Do(context.Background(), func() { close(started); <-finish })
	<-started

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(lanes.Do(ctx, func() {}))
	close(finish)
	fmt.Println(lanes.Stats().Refused)
	// Output:
	// context deadline exceeded
	// 1
}

func ExampleLanes_Close() {
	lanes := torch.NewLanes(1)
	lanes.Close()
	err := lanes.Do(context.Background(), func() {})
	fmt.Println(errors.Is(err, torch.ErrLanesClosed))
	// Output: true
}

// A panic that is no error of a tensor goes on in the caller, and says where it was.
func ExampleLanePanic() {
	lanes := torch.NewLanes(1)
	defer lanes.Close()
	defer func() {
		p := recover().(*torch.LanePanic)
		fmt.Println(p.Value)
	}()
	lanes.Do(context.Background(), func() { panic("no such class") })
	// Output: no such class
}

// One heavy operation at a time, however many goroutines want one.
func ExampleSetConcurrency() {
	defer torch.SetConcurrency(torch.SetConcurrency(1))
	x := torch.Ones(64, 64)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { x.MatMul(x).Close() })
	}
	wg.Wait()
	c := torch.Concurrency()
	fmt.Println(c.Limit, c.Running, c.Waiting)
	// Output: 1 0 0
}

func ExampleSetNumThreads() {
	defer torch.SetNumThreads(torch.NumThreads())
	torch.SetNumThreads(1) // one operation uses one thread: the best for many small requests
	fmt.Println(torch.NumThreads())
	// Output: 1
}

// For the health check of a service: a card that is lost stays lost.
func ExampleUnhealthy() {
	ready := func() string {
		if err := torch.Unhealthy(); err != nil {
			return "503 " + err.Error()
		}
		return "200 ready"
	}
	fmt.Println(ready())
	// Output: 200 ready
}

// Warnings, libtorch's and those of one's own, go where the program wants them.
func ExampleOnWarning() {
	torch.OnWarning(func(text string) { fmt.Println("warning:", text) })
	defer torch.OnWarning(nil)
	torch.Warn("%d images have no label", 3)
	// Output: warning: 3 images have no label
}

// A program that wants to say itself that libtorch is missing loads it before its first operation.
func ExampleLoad() {
	if err := torch.Load(); err != nil {
		fmt.Println(err) // tells where it was sought
		return
	}
	fmt.Println(torch.Version() != "")
	// Output: true
}
