package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// header says what will be computed, from which images, on which device.
func (t *trainer) header() {
	precision := t.ampDType.String()
	if t.amp {
		precision += " autocast"
	}
	t.printf("resnet18: %v with %d threads and %d workers, libtorch %s, %s, %v",
		t.device, torch.NumThreads(), t.workers, torch.Version(), precision, t.format())
	t.printf("data: %s: %s of %s images to train on, %s of %s to validate on", t.sets.source,
		thousands(t.sets.train.len()), thousands(t.sets.train.of), thousands(t.sets.val.len()), thousands(t.sets.val.of))
	t.printf("model: ResNet-18 with a stem for 32x32 images, %s parameters", thousands(nn.NumParameters(t.model)))
	if !t.evaluate {
		t.printf("plan: %d x %d batches of %d, SGD with momentum %v and weight decay %v, one-cycle learning rate up to %v",
			t.Epochs, t.train.Len(), t.Batch, t.Momentum, t.WeightDecay, t.LR)
	}
	if t.group != nil {
		t.printf("processes: %d, each with its part of the images", t.ranks)
	}
	if !t.given["limit"] && t.sets.train.len() < t.sets.train.of {
		t.printf("note: a CPU gets a short run on a part of the images by default; -limit 0 takes them all")
	}
}

// summary is the last line of a run.
func (t *trainer) summary(accuracy float64) {
	text := fmt.Sprintf("done: Acc@1 %.2f %%", accuracy)
	if t.best > accuracy {
		text += fmt.Sprintf(" (best %.2f %%)", t.best)
	}
	if t.images > 0 {
		text += fmt.Sprintf(", %.1f images/s in training", float64(t.images)/t.busy.Seconds())
	}
	if bytes, of := t.peakMemory(); bytes > 0 {
		text += fmt.Sprintf(", peak memory %s MB %s", thousands(int(bytes>>20)), of)
	}
	t.printf("%s, %v in all", text, time.Since(t.start).Round(time.Second))
}

// drawGraph shows TensorBoard the network.
func (t *trainer) drawGraph() error {
	nn.Eval(t.model)
	image := torch.TensorOptions{Device: t.device}.Zeros(1, 3, 32, 32)
	defer image.Close()
	program, err := export.Export(t.model, []any{image})
	if err != nil {
		return err
	}
	defer program.Close()
	return t.log.TensorBoard().AddGraph(program)
}

func (t *trainer) printf(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// peakMemory is the run's peak memory: the card's, or this process's if the system tells
// it; otherwise 0.
func (t *trainer) peakMemory() (bytes int64, of string) {
	if t.device.IsCUDA() {
		return cuda.Memory(max(0, t.device.Index())).PeakAllocated, "of the card"
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, ""
	}
	for line := range strings.Lines(string(status)) {
		if kilobytes, found := strings.CutPrefix(line, "VmHWM:"); found {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kilobytes), " kB"), 10, 64)
			return n << 10, "of the host"
		}
	}
	return 0, ""
}

// thousands writes 11173962 as 11,173,962.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
