package parity

import (
	"os"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestGradCheck(t *testing.T) {
	torchtest.NoLeaks(t)
	quiet(t)
	n, _ := strconv.Atoi(os.Getenv("N"))
	pass, left := 0, map[string]int{}
	ops := map[string]bool{}
	tried := 0
	var spent time.Duration
	for e, c := range Record(t, Options{Mode: "calls", DTypes: []string{os.Getenv("D")}, Samples: n, Inner: 0, Names: *names}) {
		for i := range c.cases {
			k := &c.cases[i]
			if k.Inner || k.Error != nil || k.Grads == nil || k.GradError != nil || k.isOut() {
				continue
			}
			tried++
			start := time.Now()
			torch.Scope(func() {
				if _, err := prepare(c, k); err != nil {
					left["no form"]++
					return
				}
				fn, in := c.differentiable(k)
				if err := torchtest.CheckGradients(fn, in, torchtest.GradCheckOptions{Fast: true}); err != nil {
					s := err.Error()
					if len(s) > 400 { s = s[:400] }
					fmt.Printf("FAIL %s #%d %s: %s\n", e.Name, i, k.Op, s)
					return
				}
				pass++
				ops[k.Op] = true
			})
			if d := time.Since(start); d > time.Second {
				fmt.Println("SLOW", e.Name, k.Op, d)
			}
			spent += time.Since(start)
		}
	}
	fmt.Println(tried, pass, len(ops), left, spent)
}
