package profiler_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/profiler"
)

// A server is recorded between two requests of its operator.
func ExampleStart() {
	p, err := profiler.Start(profiler.Options{Activities: []profiler.Activity{profiler.CPU}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = profiler.Start()
	fmt.Println(errors.Is(err, profiler.ErrRunning)) // there is one in a process
	torch.Ones(2).Close()
	r, err := p.Stop()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	fmt.Println(r.Events()[0].Name)
	// Output:
	// true
	// aten::ones
}

// Ranges may stay in the code: without a profiler they cost next to nothing.
func ExampleRecord() {
	r, err := profiler.Profile(func(*profiler.Profiler) {
		torch.Scope(func() {
			profiler.Record("forward", func() { torch.Ones(4, 4).MatMul(torch.Ones(4, 4)) })
		})
	}, profiler.Options{Activities: []profiler.Activity{profiler.CPU}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for _, e := range r.Events() {
		if e.Name == "aten::mm" {
			fmt.Println(e.Parent.Name, "in", e.Parent.Parent.Name)
		}
	}
	// Output: aten::matmul in forward
}

// A table as PyTorch prints it.
func ExampleTableOptions() {
	r, err := profiler.Profile(func(*profiler.Profiler) {
		torch.Scope(func() { torch.Ones(4).Exp() })
	}, profiler.Options{Activities: []profiler.Activity{profiler.CPU}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	table := r.Table(profiler.TableOptions{SortBy: profiler.ByCPUTimeTotal, Header: "one operator", TopLevelOnly: true})
	fmt.Println(strings.Contains(table, "one operator"), strings.Contains(table, "aten::exp"))
	// Output: true true
}
