package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// What a client says again is not read again; another model, other words and long ones are.
func TestDecode(t *testing.T) {
	m := new(model)
	text := `{"id":"1","inputs":[{"name":"x","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}}]}`
	first, err := m.decode([]byte(text))
	require.NoError(t, err)
	require.Equal(t, "x", first.Inputs[0].Name)
	again, err := m.decode([]byte(text))
	require.NoError(t, err)
	require.Same(t, first, again)
	_, err = m.decode([]byte(text[1:]))
	require.ErrorContains(t, err, "the request is no JSON of the protocol: ")
	require.ErrorIs(t, err, errRequest)
	for name, other := range map[string]struct {
		model *model
		text  string
		kept  bool
	}{
		"other words":   {m, strings.Replace(text, `"1"`, `"2"`, 1), true},
		"another model": {new(model), text, true},
		"no model":      {nil, text, false},
		"long":          {m, text + strings.Repeat(" ", 5000), false},
	} {
		q, err := other.model.decode([]byte(other.text))
		require.NoError(t, err, name)
		require.NotSame(t, first, q, name)
		require.Equal(t, first.Inputs, q.Inputs, name)
		again, err = other.model.decode([]byte(other.text))
		require.NoError(t, err, name)
		require.Equal(t, other.kept, q == again, name)
	}
}

// An answer that only its tensors tell from the one before is not written again; any other is.
func TestEncode(t *testing.T) {
	m := new(model)
	answer := func(change func(a *inferResponse, o *outputTensor)) *inferResponse {
		a := &inferResponse{ModelName: "m", ModelVersion: "1", ID: "7",
			Outputs: []outputTensor{{Name: "y", Datatype: "FP32", Shape: []int{1, 2}, Parameters: &binarySize{8}}}}
		change(a, &a.Outputs[0])
		return a
	}
	same := func(*inferResponse, *outputTensor) {}
	for _, change := range []func(*inferResponse, *outputTensor){
		same,
		func(a *inferResponse, _ *outputTensor) { a.ModelName = "n" },
		func(a *inferResponse, _ *outputTensor) { a.ModelVersion = "2" },
		func(a *inferResponse, _ *outputTensor) { a.ID = "" },
		func(a *inferResponse, o *outputTensor) { a.Outputs = append(a.Outputs, *o) },
		func(_ *inferResponse, o *outputTensor) { o.Name = `"` },
		func(_ *inferResponse, o *outputTensor) { o.Datatype = "BF16" },
		func(_ *inferResponse, o *outputTensor) { o.Shape = []int{2, 1} },
		func(_ *inferResponse, o *outputTensor) { o.Parameters = &binarySize{4} },
		func(_ *inferResponse, o *outputTensor) { o.Parameters, o.Data = nil, json.RawMessage("[1,2]") },
		func(_ *inferResponse, o *outputTensor) { o.Parameters, o.Data = nil, json.RawMessage("[1,3]") },
		func(_ *inferResponse, o *outputTensor) { o.Name = strings.Repeat("y", 5000) },
	} {
		first, err := m.encode(answer(same))
		require.NoError(t, err)
		again, err := m.encode(answer(same))
		require.NoError(t, err)
		require.Same(t, &first[0], &again[0])
		for range 2 {
			got, err := m.encode(answer(change))
			require.NoError(t, err)
			want, err := json.Marshal(answer(change))
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		}
	}
}

func TestAppendBinary(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Arange(6).View(2, 3).To(torch.Int16)
		for _, y := range []torch.Tensor{x, x.T(), x.Narrow(0, 0, 0), torch.Full([]int{}, 3.5), torch.Zeros(1).Expand(1<<20 + 1)} {
			want := append([]byte("before"), y.Bytes()...)
			require.Equal(t, want, appendBinary([]byte("before"), y, y.Shape(), y.DType().Size()), "%v", y.Shape())
		}
		require.Panics(t, func() { appendBinary(nil, torch.Zeros(1).Expand(1<<40), []int{1 << 40}, 4) })
	})
}
