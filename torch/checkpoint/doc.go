// Package checkpoint keeps trainings from being lost. One call saves all that a run consists of, one call brings
// it back, and what a crash leaves behind is never taken for a checkpoint:
//
//	run, err := checkpoint.Open("checkpoints", checkpoint.Parts{
//		"model": model, "optimizer": opt, "schedule": schedule, "scaler": scaler, "average": ema,
//	}, checkpoint.Options{Every: 500, Keep: 3, Async: true})
//	defer run.Close()
//	at, err := run.Resume(nil)
//	ctx, cancel := checkpoint.OnTerm(context.Background())
//	defer cancel()
//	for step := at.Step; step < steps; step++ {
//		…
//		if stop, err := run.Step(ctx, checkpoint.Point{Step: step + 1}); stop || err != nil {
//			return err
//		}
//	}
//
// A checkpoint is a folder, step-0000000500.1, with checkpoint.pt, which Python's torch.load(weights_only=True) reads,
// and manifest.json with sums of the file and of every tensor. It is written beside its place, flushed to the
// disk and renamed; so there is all of it or nothing. Random generators are part of it: a run that was killed and
// resumed has the numbers of one that was not.
package checkpoint
