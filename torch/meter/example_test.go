package meter_test

import (
	"fmt"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/meter"
)

func ExampleProgress() {
	loss := &meter.Average{Name: "Loss"}
	top1 := &meter.Average{Name: "Acc@1", Format: "%6.2f", Summary: true}
	progress := meter.NewProgress(os.Stdout, "Epoch: [0]", 4, loss, top1)
	defer progress.Close()
	progress.Every = 2
	for i := range 4 {
		torch.Scope(func() {
			loss.Add(torch.Ones(8).DivScalar(i+1).Mean(), 8)
			top1.Update(25*float64(i), 8)
		})
		progress.Step(8)
	}
	progress.Summary()
	// Output:
	// Epoch: [0][2/4]	Loss 5.0000e-01 (7.5000e-01)	Acc@1  25.00 ( 12.50)
	// Epoch: [0][4/4]	Loss 2.5000e-01 (5.2083e-01)	Acc@1  75.00 ( 37.50)
	//  * Acc@1 37.500
}

func ExampleAverage() {
	var miss meter.Average
	miss.Update(0.5, 30)
	miss.Update(0.1, 10) // a smaller batch counts less
	fmt.Println(miss.Val(), miss.Avg(), miss.Count())
	// Output: 0.1 0.4 40
}
