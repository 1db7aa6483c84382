package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
)

func TestLoad(t *testing.T) {
	var asked, bodies atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/v2/models/m":
			io.WriteString(w, `{"inputs":[{"name":"x","datatype":"FP32","shape":[-1,3]},{"name":"n","datatype":"INT64","shape":[-1]}]}`)
		case r.Method == http.MethodPost && r.URL.Path == "/v2/models/m/infer":
			bodies.Add(int64(len(body)))
			if asked.Add(1)%10 == 0 {
				http.Error(w, "busy", http.StatusTooManyRequests)
			}
		default:
			time.Sleep(20 * time.Millisecond)
		}
	}))
	defer server.Close()
	csv, svg := filepath.Join(t.TempDir(), "load.csv"), filepath.Join(t.TempDir(), "load.svg")
	text := clitest.Run(t, run, "load", "-c", "4", "-b", "2", "-d", "1200ms", "-warm", "0", "-csv", csv, "-svg", svg,
		server.URL+"/v2/models/m")
	require.Regexp(t, `^\d+ answers in 1\.\d s, \d+\.\d a second\n\d+ x 429 Too Many Requests\n +50 %  +\d+\.\d\d ms\n`, text)
	require.Greater(t, bodies.Load()/asked.Load(), int64(2*3*4+2*8))
	lines, err := os.ReadFile(csv)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(lines), "second,answers,p50_ms,p90_ms,p99_ms\n0,"), string(lines))
	drawing, err := os.ReadFile(svg)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(drawing, new(struct{})))

	text = clitest.Run(t, run, "load", "-rate", "50", "-d", "1s", "-warm", "0", server.URL)
	require.Regexp(t, `^(4|5)\d answers`, text)
	text = clitest.Run(t, run, "load", "-rate", "100", "-c", "1", "-d", "1s", "-warm", "0", server.URL)
	require.Regexp(t, `100 %  +[3-9]\d\d\.`, text, "what had to wait counts from when it was due")
	clitest.Fails(t, "libtorch", 1, "load: "+server.URL+"/v2/models/other: 200 OK", "load", server.URL+"/v2/models/other")
	text = clitest.Run(t, run, "load", "-c", "2", "-d", "200ms", "-warm", "0", "-pid", fmt.Sprint(os.Getpid()), server.URL+"/v2/models/m")
	require.Regexp(t, `server +\d+\.\d{3} ms of processors for each answer\n$`, text)
	clitest.Fails(t, "libtorch", 1, "there is no process 2147483647", "load", "-warm", "0", "-pid", "2147483647", server.URL)
	clitest.Fails(t, "libtorch", 2, "-c is 0", "load", "-c", "0", server.URL)
}

func TestPercentile(t *testing.T) {
	require.Zero(t, percentile(nil, 50))
	list := []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	require.EqualValues(t, 5, percentile(list, 50))
	require.EqualValues(t, 10, percentile(list, 99))
	require.EqualValues(t, 10, percentile(list, 100))
}
