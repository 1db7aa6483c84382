// Command speed reads lines of a name and a number, does what the name says so many times, and answers with the nanoseconds of
// one: on the clock and of the processor. It compiles against gotorch as against compat/gotorch.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	torch "github.com/wangkuiyi/gotorch"
	"github.com/wangkuiyi/gotorch/nn"
	F "github.com/wangkuiyi/gotorch/nn/functional"
	"github.com/wangkuiyi/gotorch/nn/initializer"
	"github.com/wangkuiyi/gotorch/vision/models"
)

// trainer makes a step of a network, with the collection at its head that gotorch needs.
func trainer(params []torch.Tensor, loss func() torch.Tensor) func() {
	opt := torch.SGD(0.01, 0.9, 0, 0, false)
	opt.AddParameters(params)
	return func() {
		torch.GC()
		opt.ZeroGrad()
		l := loss()
		l.Backward()
		opt.Step()
	}
}

// labels are n classes.
func labels(n int) torch.Tensor {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i % 10)
	}
	return torch.NewTensor(list)
}

// adder adds two elements to two, with a collection every thousand times.
func adder() func() {
	x, y, n := torch.Ones([]int64{2}, false), torch.Ones([]int64{2}, false), 0
	return func() {
		if n++; n%1000 == 0 {
			torch.GC()
		}
		torch.Add(x, y, 1)
	}
}

// small is the network of gotorch's own ExampleSGD.
func small() func() {
	first, second := nn.Linear(100, 200, false), nn.Linear(200, 10, false)
	return trainer(append(first.Parameters(), second.Parameters()...), func() torch.Tensor {
		return torch.Sum(second.Forward(first.Forward(torch.RandN([]int64{32, 100}, false))))
	})
}

func mlp() func() {
	m, x, y := models.MLP(), torch.RandN([]int64{64, 1, 28, 28}, false), labels(64)
	return trainer(m.Parameters(), func() torch.Tensor { return F.NllLoss(m.Forward(x), y, torch.Tensor{}, -100, "mean") })
}

func resnet18() func() {
	m, x, y := models.Resnet18(), torch.RandN([]int64{4, 3, 224, 224}, false), labels(4)
	return trainer(m.Parameters(), func() torch.Tensor { return F.CrossEntropy(m.Forward(x), y, torch.Tensor{}, -100, "mean") })
}

func main() {
	torch.SetNumThreads(1)
	initializer.ManualSeed(1)
	makers := map[string]func() func(){"add": adder, "small": small, "mlp": mlp, "resnet18": resnet18}
	steps := map[string]func(){}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		n, err := strconv.Atoi(words[1])
		if err != nil {
			panic(err)
		}
		step := steps[words[0]]
		if step == nil {
			step = makers[words[0]]()
			steps[words[0]] = step
		}
		var before, after syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &before)
		start := time.Now()
		for i := 0; i < n; i++ {
			step()
		}
		clock := time.Since(start)
		syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		torch.FinishGC() // or gotorch's next GC waits for the parameters of the next network, for ever
		cpu := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
		fmt.Println(clock.Nanoseconds()/int64(n), cpu/int64(n))
	}
}
