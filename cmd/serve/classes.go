package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// A class is one of the likeliest.
type class struct {
	Class       int     `json:"class"`
	Label       string  `json:"label,omitempty"`
	Score       float64 `json:"-"`
	Probability float64 `json:"probability"`
}

// best lists the k likeliest classes of each row of scores. It computes in Go: it is little, and no thread is taken for it.
func best(scores torch.Tensor, k int, labels []string) (rows [][]class) {
	n := scores.Size(-1)
	values := torch.Values[float64](scores)
	for row := range slices.Chunk(values, max(n, 1)) {
		list := make([]class, n)
		highest := slices.Max(row)
		sum := 0.0
		for i, v := range row {
			e := math.Exp(v - highest)
			sum += e
			list[i] = class{Class: i, Score: v, Probability: e}
			if i < len(labels) {
				list[i].Label = labels[i]
			}
		}
		slices.SortStableFunc(list, func(a, b class) int {
			switch {
			case a.Score > b.Score:
				return -1
			case a.Score < b.Score:
				return 1
			}
			return 0
		})
		list = list[:min(k, n)]
		for i := range list {
			if list[i].Probability /= sum; math.IsNaN(list[i].Probability) {
				list[i].Probability = 0 // JSON has no NaN
			}
		}
		rows = append(rows, list)
	}
	return rows
}

// classify is the protocol's extension that makes strings "score:class:label" of scores.
func classify(scores torch.Tensor, k int, labels []string) (names []string, shape []int, err error) {
	defer torch.Recover(&err)
	if scores.Dim() < 1 || scores.Size(-1) < 1 || scores.NumEl() < 1 {
		return nil, nil, badf("the output has no classes: its shape is %v", scores.Shape())
	}
	for _, row := range best(scores, k, labels) {
		for _, c := range row {
			name := fmt.Sprintf("%f:%d", c.Score, c.Class)
			if c.Label != "" {
				name += ":" + c.Label
			}
			names = append(names, name)
		}
	}
	shape = scores.Shape()
	shape[len(shape)-1] = min(k, shape[len(shape)-1])
	return names, shape, nil
}
