// Package meter shows how a training run goes, in the words of PyTorch's own ImageNet example:
//
//	Epoch: [0][ 10/196]	Time  0.050 ( 0.060)	Loss 2.1325e+00 (2.2018e+00)	Acc@1  21.88 ( 18.36)
//	 * Acc@1 45.120
//
// An [Average] collects one figure: its last value and its mean so far. A [Progress] prints
// several of them as such lines; on a terminal it also keeps a bar with the percentage, the
// samples a second and the time left below them, which is absent where the output goes to a
// file or a pipe.
//
//	loss := &meter.Average{Name: "Loss"}
//	top1 := &meter.Average{Name: "Acc@1", Format: "%6.2f", Summary: true}
//	progress := meter.NewProgress(os.Stdout, "Epoch: [0]", loader.Len(), loss, top1)
//	defer progress.Close()
//	for batch, err := range loader.Epoch(ctx, 0) {
//		…
//		loss.Add(l, batch.Len())
//		top1.Update(percent, batch.Len())
//		progress.Step(batch.Len())
//	}
//	progress.Summary()
//
// A Progress with Logs also hands its figures to TensorBoard ([NewJSONLines] and [NewCSV] are other places, and package
// torch/watch has a folder with all of them):
//
//	progress.Logs, progress.Tag, progress.First = []meter.Log{writer}, "train/", epoch*loader.Len()
//
// Neither type may be used from two goroutines at once.
package meter
