// Package watch follows a training while it runs: its figures go into a folder, with those of the machine beside them.
//
//	run, err := watch.Open("runs/first")
//	if err != nil {
//		return err
//	}
//	defer run.Close()
//	progress.Logs = []meter.Log{run} // of a meter.Progress
//
// The folder has
//
//	events.out.tfevents.…   for TensorBoard
//	scalars.jsonl           a line for each figure, which begins and goes on with the run
//	curves.svg              a chart for each figure, drawn once a minute and at the end, for any browser
//
// [Sensors] tell what the machine does meanwhile: how busy the processors are, how much memory there still is and, of each card, what
// nvidia-smi shows. A [Run] logs them every ten seconds, under tags such as "host/cpu_percent" and "cuda0/watts"; a machine without cards
// has none of theirs.
//
// [Curves] are the figures of a run in memory, kept while it runs or read from a file, and [WriteSVG] draws several runs into the same
// charts, as the command libtorch curves does.
package watch
