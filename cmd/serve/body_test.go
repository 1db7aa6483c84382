package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A tensor alone behind its JSON is read to where it stays, packed ones go by a buffer: the answers are the same, right and wrong.
func TestBodies(t *testing.T) {
	torchtest.NoLeaks(t)
	r := host(t, echo(torch.Float32), serve.Options{MaxBatch: 4})
	eight, many := []byte("\x00\x00\x80\x3f\x00\x00\x00\x40"), bytes.Repeat([]byte{0, 0, 128, 63}, 40_000)
	input := `{"name":"input","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}`
	cases := []struct {
		name, input string
		tail        []byte
		status      int
	}{
		{"right", input, eight, 200},
		{"two rows", strings.NewReplacer("1,2", "2,2", "8}", "16}").Replace(input), append(eight[:8:8], eight...), 200},
		{"many rows for a batch", strings.NewReplacer("1,2", "20000,2", "8}", "160000}").Replace(input), many, 400},
		{"another name", strings.Replace(input, "input", "other", 1), eight, 400},
		{"another datatype", strings.Replace(input, "FP32", "INT32", 1), eight, 400},
		{"no datatype", strings.Replace(input, "FP32", "FP31", 1), eight, 400},
		{"a truth value", strings.NewReplacer("FP32", "BOOL", "1,2", "8").Replace(input), eight, 400},
		{"another shape", strings.Replace(input, "1,2", "2", 1), eight, 400},
		{"a negative shape", strings.Replace(input, "1,2", "-1,-2", 1), eight, 400},
		{"too short for the shape", strings.Replace(input, "1,2", "2,2", 1), eight, 400},
		{"too short for the size", strings.Replace(input, "8}", "16}", 1), eight, 400},
		{"more than the size", strings.Replace(input, "8}", "4}", 1), eight, 400},
		{"two inputs", input + "," + input, append(eight[:8:8], eight...), 400},
		{"no size", strings.Replace(input, "binary_data_size", "size", 1), eight, 400},
		{"no JSON", input[1:], eight, 400},
	}
	for _, c := range cases {
		head := fmt.Sprintf(`{"inputs":[%s],"parameters":{"binary_data_output":true}}`, c.input)
		body := append([]byte(head), c.tail...)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write(body)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		for range 2 { // the second time the JSON is known
			status, plain := r.do("POST", "/v2/models/m/infer", body, headerLength, strconv.Itoa(len(head)))
			require.Equal(t, c.status, status, "%s: %s", c.name, plain)
			status, unpacked := r.do("POST", "/v2/models/m/infer", packed.Bytes(), headerLength, strconv.Itoa(len(head)), "Content-Encoding", "gzip")
			require.Equal(t, c.status, status, c.name)
			require.Equal(t, unpacked, plain, c.name)
			require.Equal(t, status == 200, strings.HasSuffix(plain, string(c.tail)), c.name)
		}
	}
}

// Clients that leave in the middle of a tensor leave nothing.
func TestTensorsBrokenOff(t *testing.T) {
	torchtest.NoLeaks(t)
	r := host(t, echo(torch.Float32), serve.Options{MaxBatch: 4})
	head := `{"inputs":[{"name":"input","datatype":"FP32","shape":[50000,2],"parameters":{"binary_data_size":400000}}]}`
	request := fmt.Sprintf("POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s: %d\r\n\r\n%s",
		len(head)+400000, headerLength, len(head), head)
	before := torch.Stats()
	for range 20 {
		r.dial(request + strings.Repeat("x", 1000)).Close()
	}
	require.Eventually(t, func() bool {
		return torch.Stats().HostBytes <= before.HostBytes && torch.Stats().Live() <= before.Live()
	},
		patience, time.Millisecond)
	status, _ := r.do("POST", "/v2/models/m/infer", []byte(`{"inputs":[{"name":"input","datatype":"FP32","shape":[1,2],"data":[1,2]}]}`))
	require.Equal(t, 200, status)
}
