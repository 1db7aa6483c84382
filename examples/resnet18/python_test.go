package main

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// An epoch in Python, on the same batches from the same weights, ends with the same bits in all
// weights, and with the losses that the program prints.
func TestAnEpochEqualsPython(t *testing.T) {
	for _, bf16 := range []bool{false, true} {
		t.Run(fmt.Sprintf("bf16 %v", bf16), func(t *testing.T) {
			torchtest.NoLeaks(t)
			flags := tiny("-limit", "32", "-epochs", "1", "-j", "0", "-p", "4")
			if bf16 {
				flags = append(flags, "-amp")
			}
			var out bytes.Buffer
			tr := untrained(t, flags)
			tr.out = &out
			defer tr.sets.Close()
			defer func() { require.NoError(t, tr.Close()) }()
			torch.Scope(func() {
				inputs := peer.Tensors{}
				for name, weight := range nn.StateDict(tr.model) {
					inputs[name] = weight.Clone()
				}
				batches := 0
				for batch, err := range tr.train.Epoch(t.Context(), 0) {
					require.NoError(t, err)
					inputs[fmt.Sprint("images ", batches)] = batch.Input.Keep()
					inputs[fmt.Sprint("labels ", batches)] = batch.Target.Keep()
					batches++
				}
				defer func() { // what was kept belongs to no scope
					for i := range batches {
						torch.Close(inputs[fmt.Sprint("images ", i)], inputs[fmt.Sprint("labels ", i)])
					}
				}()
				_, err := tr.learn(t.Context())
				require.NoError(t, err)
				want := peer.Run(t, "testdata/epoch.py", inputs, "0.01", strconv.FormatBool(bf16))
				require.Contains(t, out.String(), fmt.Sprintf("Loss %.4e (%.4e)", want["loss"].Float64(), want["mean"].Float64()))
				for name, weight := range nn.StateDict(tr.model) {
					torchtest.Equal(t, weight, want[name])
				}
			})
		})
	}
}
