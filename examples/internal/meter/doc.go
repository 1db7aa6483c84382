// Package meter shows the progress of a training run, in the words of PyTorch's own
// ImageNet example:
//
//	Epoch: [0][ 10/196]	Time  0.050 ( 0.060)	Data  0.001 ( 0.002)	Loss 2.1325e+00 (2.2018e+00)	Acc@1  21.88 ( 18.36)
//	 * Acc@1 45.120
//
// An [AverageMeter] collects one figure: its last value and its mean so far. A
// [ProgressMeter] prints several of them as such lines; on a terminal it also keeps a
// bar with the percentage, the images a second and the time left below them, which is
// absent where the output goes to a file or a pipe.
//
//	losses := meter.NewAverageMeter("Loss", "%.4e", meter.None)
//	top1 := meter.NewAverageMeter("Acc@1", "%6.2f", meter.Average)
//	progress := meter.NewProgressMeter(os.Stdout, loader.Len(), "Epoch: [0]", losses, top1)
//	defer progress.Close()
//	i := 0
//	for batch, err := range loader.Epoch(ctx, 0) {
//		…
//		losses.Add(loss, batch.Len())
//		if i++; i%10 == 0 {
//			progress.Display(i)
//		}
//		progress.Advance(i, batch.Len())
//	}
//	progress.DisplaySummary()
//
// Neither type may be used from two goroutines at once.
package meter
