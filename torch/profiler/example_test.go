package profiler_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/profiler"
)

func Example() {
	o := profiler.Options{Activities: []profiler.Activity{profiler.CPU}, RecordShapes: true, ProfileMemory: true}
	r, err := profiler.Profile(func(*profiler.Profiler) {
		torch.Scope(func() {
			x := torch.Ones(64, 32)
			profiler.Record("model", func() { x.MatMul(x.T()).ReLU() })
		})
	}, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for _, a := range r.KeyAverages(profiler.AverageOptions{GroupByInputShapes: true}).Rows {
		if a.Name == "aten::mm" || a.Range {
			fmt.Println(a.Name, a.Shapes, a.Count, a.CPUMemory)
		}
	}
	// Output:
	// model [] 1 32768
	// aten::mm [[64 32] [32 64]] 1 16384
}

// Of a long run, a few steps are enough.
func ExampleSchedule() {
	dir, err := os.MkdirTemp("", "traces")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cycle := 0
	_, err = profiler.Profile(func(p *profiler.Profiler) {
		for range 20 {
			torch.Zeros(3).Close()
			if err := p.Step(); err != nil {
				fmt.Println(err)
			}
		}
	}, profiler.Options{
		Activities: []profiler.Activity{profiler.CPU},
		Schedule:   &profiler.Schedule{Wait: 2, Warmup: 1, Active: 2, Repeat: 2},
		OnTraceReady: func(r *profiler.Result) error {
			defer r.Close()
			cycle++
			fmt.Println("cycle", cycle, "has", len(r.Events()), "events")
			return r.ExportChromeTrace(filepath.Join(dir, fmt.Sprintf("%d.json.gz", cycle)))
		},
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// cycle 1 has 8 events
	// cycle 2 has 8 events
}
