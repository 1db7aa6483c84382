package checkpoint

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
)

// An asynchronous checkpoint of 400 MB holds the step up for as long as copying the tensors takes:
//
//	go test ./torch/checkpoint -run '^$' -bench Async -benchtime 10x
func BenchmarkAsyncSave(b *testing.B) {
	model := &struct{ W []torch.Tensor }{}
	for range 100 {
		model.W = append(model.W, torch.Zeros(1000, 1000))
	}
	defer torch.Close(model.W...)
	run, err := Open(b.TempDir(), Parts{"model": model}, Options{Async: true})
	require.NoError(b, err)
	var copying, stalled time.Duration
	copied := func() {
		began := time.Now()
		torch.Scope(func() {
			for _, w := range model.W {
				w.Clone()
			}
			copying += time.Since(began)
		})
	}
	for b.Loop() {
		copied()
		began := time.Now()
		require.NoError(b, run.Save(Point{}))
		stalled += time.Since(began)
		require.NoError(b, run.Wait())
	}
	b.ReportMetric(float64(stalled)/float64(copying), "stall/copy")
	b.ReportMetric(float64(copying.Milliseconds())/float64(b.N), "ms/copy")
}
