package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// made is a result with known figures: a network with a cell that ran out of memory, and
// the convolutions of another network.
func made(t *testing.T, axes string) *result {
	t.Helper()
	random := rand.New(rand.NewPCG(9, 10))
	r := &result{Complete: true, Rounds: 20, Machine: machine{Device: "cuda:0", Card: `Card <"&'>`, CUDNN: "9.19.0", CUDA: "13.0"},
		choices: choose(t, axes)}
	for _, task := range []*task{
		{Work: workload{Model: "resnet50", Batch: 32, Mode: "train"}},
		{Work: workload{Conv: "64x8x8,64x3x3", Batch: 1, Mode: "train"}, Of: "resnet18 b1 train", Count: 3},
		{Work: workload{Conv: "3x8x8,64x3x3", Batch: 1, Mode: "train"}, Of: "resnet18 b1 train", Count: 1},
	} {
		task.Rounds = 20
		task.Cells = madeUp(random, r.choices, 20, map[string]float64{"channels-last on": 2})
		if task.Of == "" {
			task.Cells[1].Failed = outOfMemory
		}
		r.add(task)
	}
	return r
}

func TestChartIsXML(t *testing.T) {
	r := made(t, "amp=off,bf16 channels-last=off,on")
	r.Tasks[0].Cells[2].Speed = estimate{Median: 1.1, Low: 0.5, High: 100}
	var b bytes.Buffer
	require.NoError(t, r.writeSVG(&b))
	count, width, texts := map[string]int{}, 0.0, ""
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			attributes := map[string]string{}
			for _, a := range e.Attr {
				attributes[a.Name.Local] = a.Value
			}
			count[e.Name.Local+" "+attributes["class"]]++
			if attributes["class"] == "best" {
				width, _ = strconv.ParseFloat(attributes["width"], 64)
			}
		case xml.CharData:
			texts += string(e)
		}
	}
	require.Equal(t, 2, count["rect bar"], "a setting without memory has no bar")
	require.Equal(t, 3, count["rect best"], "the best setting, and that of each convolution")
	require.Equal(t, 3*(2+2)-1, count["path whisker"], "the baseline has none, and one is cut off")
	require.Equal(t, 2, count["path one"])
	require.Greater(t, width, 100.0)
	for _, want := range []string{"resnet50 b32 train", "amp bf16, ch-last on", outOfMemory, "3x8x8,64x3x3", `Card <"&'>`,
		"prefers-color-scheme:dark"} {
		require.Contains(t, texts, want)
	}
}

// The tables of a card, with all that it can vary, fit into 100 columns.
func TestTablesFit(t *testing.T) {
	r := made(t, "benchmark=off,on deterministic=off,on tf32=off,on amp=off,fp16,bf16 channels-last=off,on graph=off,on")
	for _, task := range r.Tasks {
		for _, c := range task.Cells {
			c.Peak, c.Rate = 60_000<<20, 12_345
		}
	}
	var b bytes.Buffer
	for i, task := range r.Tasks {
		r.show(&b, task, i == len(r.Tasks)-1)
	}
	rows := 0
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "  ") {
			rows++
			require.LessOrEqual(t, utf8.RuneCountInString(line), 101, line)
		}
	}
	require.Equal(t, 1+64+1+2, rows, b.String())
	require.Contains(t, b.String(), "out of memory\n")
	require.Contains(t, b.String(), "resnet18 b1 train, its convolutions by their share of the time\n")
	require.Contains(t, b.String(), "\nall: ")
}

func TestIncompleteIsMarked(t *testing.T) {
	r := made(t, "amp=off,bf16 channels-last=off,on")
	r.Tasks[0].Rounds, r.Tasks[2].Rounds = 7, 3
	var b bytes.Buffer
	for i, task := range r.Tasks {
		r.show(&b, task, i == len(r.Tasks)-1)
	}
	require.Contains(t, b.String(), "resnet50 b32 train (incomplete: 7 of 20 rounds)\n")
	require.Contains(t, b.String(), "share of the time (incomplete: 3 of 20 rounds)\n")
	b.Reset()
	require.NoError(t, r.writeCSV(&b))
	require.Equal(t, 8, strings.Count(b.String(), ",false\n"))
}

func TestVersions(t *testing.T) {
	require.Equal(t, "9.19.0", dotted(91900, 10000, 100))
	require.Equal(t, "9.1.2", dotted(90102, 10000, 100))
	require.Equal(t, "13.0", dotted(13000, 1000, 10))
	require.Equal(t, "12.8", dotted(12080, 1000, 10))
	require.Equal(t, `Card <"&'>, cuDNN 9.19.0, CUDA 13.0; libtorch 2.11`,
		machine{Card: `Card <"&'>`, CUDNN: "9.19.0", CUDA: "13.0", Libtorch: "2.11"}.String())
}
