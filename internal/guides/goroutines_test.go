package guides

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/libtorch-go/libtorch/torch"
)

func Example_modes() {
	var wg sync.WaitGroup
	wg.Add(2)
	torch.NoGrad(func() {
		go func() { // starts with the defaults
			defer wg.Done()
			fmt.Println("go:", torch.IsGradEnabled())
		}()
		time.Sleep(10 * time.Millisecond)
		torch.Go(func() { // inherits the modes
			defer wg.Done()
			fmt.Println("torch.Go:", torch.IsGradEnabled())
		})
		wg.Wait()
	})
	fmt.Println("after:", torch.IsGradEnabled())
	// Output:
	// go: true
	// torch.Go: false
	// after: true
}

func Example_lanes() {
	weight := torch.Ones(4, 4)
	defer weight.Close()
	lanes := torch.NewLanes(2, torch.LanesOptions{Queue: 100}) // two OS threads compute; a hundred callers may wait
	defer lanes.Close()

	var wg sync.WaitGroup
	answers := make([]float64, 20)
	for i := range answers {
		wg.Go(func() { // as many as there are requests
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			err := lanes.Do(ctx, func() {
				torch.Scope(func() { answers[i] = weight.MulScalar(i).Sum().Float64() })
			})
			if err != nil {
				fmt.Println(err) // busy, closed, or the deadline
			}
		})
	}
	wg.Wait()
	fmt.Println(answers[1], answers[19])
	// Output: 16 304
}

func Example_busy() {
	lanes := torch.NewLanes(1, torch.LanesOptions{Queue: 1})
	defer lanes.Close()
	first, release := make(chan bool), make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() { lanes.Do(context.Background(), func() { close(first); <-release }) })
	<-first
	wg.Go(func() { lanes.Do(context.Background(), func() {}) }) // waits
	for lanes.Stats().Waiting == 0 {
		time.Sleep(time.Millisecond)
	}
	err := lanes.Do(context.Background(), func() {})
	fmt.Println(errors.Is(err, torch.ErrLanesBusy)) // the service answers 429
	close(release)
	wg.Wait()
	// Output: true
}
