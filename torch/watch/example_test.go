package watch_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/watch"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "runs")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	run, err := watch.Open(filepath.Join(dir, "first"))
	if err != nil {
		panic(err)
	}
	loss := &meter.Average{Name: "Loss"}
	progress := meter.NewProgress(os.Stdout, "Epoch: [0]", 4, loss)
	progress.Every, progress.Logs, progress.Tag = 2, []meter.Log{run}, "train/"
	for i := range 4 {
		torch.Scope(func() { loss.Add(torch.Ones(8).DivScalar(i+1).Mean(), 8) })
		progress.Step(8)
	}
	progress.Close()
	if err := run.Close(); err != nil { // the first error of all calls
		panic(err)
	}
	curves, err := watch.LoadCurves(filepath.Join(dir, "first"))
	if err != nil {
		panic(err)
	}
	fmt.Println(curves.Points("train/Loss"))
	// Output:
	// Epoch: [0][2/4]	Loss 5.0000e-01 (7.5000e-01)
	// Epoch: [0][4/4]	Loss 2.5000e-01 (5.2083e-01)
	// [{2 0.5} {4 0.25}]
}

func ExampleWriteSVG() {
	sgd, adam := &watch.Curves{Name: "sgd"}, &watch.Curves{Name: "adam"}
	for step := range 5 {
		_ = sgd.AddScalar("loss", 1/float64(step+1), step)
		_ = adam.AddScalar("loss", 1/float64(step*step+1), step)
	}
	var svg strings.Builder
	if err := watch.WriteSVG(&svg, sgd, adam); err != nil {
		panic(err)
	}
	fmt.Println(strings.Count(svg.String(), "<path"), "curves")
	// Output: 2 curves
}

func ExampleSensors() {
	sensors := watch.NewSensors() // of the host and all cards
	reading := sensors.Read()
	for _, card := range reading.Cards {
		log.Printf("%v: %d W of %d", card.Device, card.Power/1000, card.PowerLimit/1000)
	}
	fmt.Println("there is memory left:", reading.Host.Available > 0)
	// Output: there is memory left: true
}
