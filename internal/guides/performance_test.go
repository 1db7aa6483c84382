package guides

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

func Example_threads() {
	defer torch.SetNumThreads(torch.NumThreads())
	torch.SetNumThreads(1) // of one operation: many small requests at once are served best by one each
	fmt.Println(torch.NumThreads())
	// Output: 1
}

func Example_channelsLast() {
	torch.Scope(func() {
		conv := nn.To(nn.NewConv2d(3, 8, 3), torch.ChannelsLast)
		y := conv.Forward(torch.Ones(1, 3, 8, 8).To(torch.ChannelsLast))
		fmt.Println(y.Shape(), y.Stride()) // the shape is the same, the order in memory is not
	})
	// Output: [1 8 6 6] [288 1 48 8]
}

func Example_oneWait() {
	torch.Scope(func() {
		total := torch.Zeros()
		for i := range 100 {
			total.AddInPlace(torch.Full([]int{}, float64(i))) // stays on the device: nothing waits for it
		}
		fmt.Println(total.Float64()) // one wait
	})
	// Output: 4950
}
