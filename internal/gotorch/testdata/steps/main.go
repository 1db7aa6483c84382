// Command steps trains without a call of GC. After each quarter it prints the tensors that are left when the garbage is gone,
// and at the end the most memory it ever held, in megabytes.
package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"

	core "github.com/libtorch-go/libtorch/torch"
	torch "github.com/wangkuiyi/gotorch"
	F "github.com/wangkuiyi/gotorch/nn/functional"
	"github.com/wangkuiyi/gotorch/nn/initializer"
	"github.com/wangkuiyi/gotorch/vision/models"
)

// peak is the process's largest size so far.
func peak() int {
	status, _ := os.ReadFile("/proc/self/status")
	n, _ := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s+(\d+)`).FindSubmatch(status)[1]))
	return n >> 10
}

func main() {
	steps, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	torch.SetNumThreads(1)
	initializer.ManualSeed(1)
	model := models.MLP()
	opt := torch.Adam(1e-3, 0.9, 0.999, 0)
	opt.AddParameters(model.Parameters())
	labels := make([]int64, 32)
	for i := range labels {
		labels[i] = int64(i % 10)
	}
	for range 4 {
		for range steps / 4 {
			x := torch.RandN([]int64{32, 1, 28, 28}, false)
			opt.ZeroGrad()
			loss := F.NllLoss(model.Forward(x), torch.NewTensor(labels), torch.Tensor{}, -100, "mean")
			loss.Backward()
			opt.Step()
		}
		most := peak()
		core.GC()
		fmt.Println(core.Stats().Unscoped, most)
	}
}
