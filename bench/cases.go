package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// benchmark is a case that exists under the same name on both sides.
type benchmark struct {
	name  string
	group group
	n     int // iterations of one round
	make  func(file string) (workload, error)
}

// group is the kind of measurement that a case is.
type group string

const (
	tinyGroup      group = "tiny operators"
	optimizerGroup group = "optimizer steps"
	smallGroup     group = "small training steps"
	trainingGroup  group = "training steps"
	cardGroup      group = "on a card"
	fileGroup      group = "files"
	imageGroup     group = "images"
	startGroup     group = "start"
	programGroup   group = "programs"
)

// catalogue lists all cases in the order of the report.
var catalogue = concat(tinyCases(), optimizerCases(), mlpCases(), trainingCases(), fileCases(), photoCases(), cardCases(),
	programCases())

func concat(lists ...[]benchmark) (all []benchmark) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// digest is SHA-256 over the shape and the elements of each tensor: equal digests are equal
// bits. python/tensors.py computes the same.
func digest(list ...torch.Tensor) string {
	h := sha256.New()
	for _, t := range list {
		fmt.Fprint(h, strings.ReplaceAll(fmt.Sprint(t.Shape()), " ", ", "))
		h.Write(t.Bytes())
	}
	return hex.EncodeToString(h.Sum(nil))
}
