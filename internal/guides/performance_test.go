package guides

import (
	"fmt"
	"log"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
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

func Example_compiled() {
	torch.Scope(func() {
		model := nn.Eval(nn.Sequential{nn.NewLinear(512, 2048), nn.GELU{}, nn.NewLinear(2048, 512)})
		x := torch.RandN(1, 512)
		program, err := export.Export(model, []any{x})
		if err != nil {
			log.Fatal(err)
		}
		defer program.Close()
		compiled, err := export.Compile(program, export.CompileOptions{Weights: torch.Int8, Inference: true})
		if err != nil {
			log.Fatal(err)
		}
		defer compiled.Close()
		torch.Inference(func() {
			out, err := compiled.Run(x) // one call, from any number of goroutines
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(out[0].Sub(model.Forward(x)).Abs().Max().Float64() < 0.01)
		})
	})
	// Output: true
}
