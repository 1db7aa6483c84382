package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/models"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

// photo is a JPEG file.
func photo(t *testing.T, w, h int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, color.RGBA{uint8(x), uint8(y), uint8(x * y), 255})
		}
	}
	var file bytes.Buffer
	require.NoError(t, jpeg.Encode(&file, img, nil))
	return file.Bytes()
}

// start runs the service until the test ends or stop is called, which waits for its end.
func start(t *testing.T) (url string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, listener) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
		http.DefaultClient.CloseIdleConnections()
	})
	t.Cleanup(stop)
	return "http://" + listener.Addr().String(), stop
}

// ask posts a file to be classified.
func ask(t *testing.T, url string, file []byte) (status int, answer string) {
	t.Helper()
	r, err := http.Post(url+"/classify", "image/jpeg", bytes.NewReader(file))
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(text)
}

// What comes over HTTP is what the model says to the image.
func TestClassifies(t *testing.T) {
	torchtest.NoLeaks(t)
	*weights = filepath.Join(t.TempDir(), "resnet18.safetensors")
	defer func() { *weights = "" }()
	model := nn.Eval(models.ResNet18(1000))
	defer nn.Close(model)
	require.NoError(t, safetensors.Save(*weights, nn.StateDict(model)))
	file := photo(t, 300, 260)
	url, _ := start(t)
	status, text := ask(t, url, file)
	require.Equal(t, http.StatusOK, status, text)
	var top struct {
		Classes       []int
		Probabilities []float64
	}
	require.NoError(t, json.Unmarshal([]byte(text), &top))
	require.Len(t, top.Classes, 5)
	torch.Scope(func() {
		torch.Inference(func() {
			img, err := imageio.Decode(bytes.NewReader(file))
			require.NoError(t, err)
			p, class := model.Forward(transforms.ImageClassification{}.Apply(img)).Softmax(1).TopK(5)
			require.Equal(t, torch.Values[int](class)[0], top.Classes[0])
			for i, want := range torch.Values[float64](p) {
				require.InEpsilon(t, want, top.Probabilities[i], 1e-4, "channels_last rounds in another way")
			}
		})
	})
	r, err := http.Get(url + "/healthz")
	require.NoError(t, err)
	r.Body.Close()
	require.Equal(t, http.StatusOK, r.StatusCode)
}

func TestRefuses(t *testing.T) {
	url, _ := start(t)
	for want, c := range map[string]struct {
		file   []byte
		status int
	}{
		"expected a JPEG, PNG, GIF or WebP image": {[]byte("no image"), http.StatusBadRequest},
		"it is damaged":                    {photo(t, 300, 260)[:900], http.StatusBadRequest},
		"at most 64 times as long as wide": {photo(t, 400, 2), http.StatusBadRequest},
		"request body too large":           {make([]byte, 9<<20), http.StatusRequestEntityTooLarge},
	} {
		status, text := ask(t, url, c.file)
		require.Equal(t, c.status, status, text)
		require.Contains(t, text, want)
	}
	r, err := http.Get(url + "/classify")
	require.NoError(t, err)
	r.Body.Close()
	require.Equal(t, http.StatusMethodNotAllowed, r.StatusCode)
}

// A full queue answers at once, an old request is given up, and the end of the service waits for
// those that were taken.
func TestFullLateAndStopped(t *testing.T) {
	*batch, *queue, *timeout = 1, 1, 20*time.Second
	defer func() { *batch, *queue, *timeout = 8, 64, 5*time.Second }()
	url, stop := start(t)
	file := photo(t, 300, 260)
	var wait sync.WaitGroup
	got := make([]int, 24)
	for i := range got {
		wait.Go(func() { got[i], _ = ask(t, url, file) })
	}
	wait.Wait()
	counts := map[int]int{}
	for _, status := range got {
		counts[status]++
	}
	require.Len(t, counts, 2, "%v", counts)
	require.GreaterOrEqual(t, counts[http.StatusOK], 2)
	require.Positive(t, counts[http.StatusTooManyRequests])

	*timeout = time.Nanosecond
	status, text := ask(t, url, file)
	require.Equal(t, http.StatusGatewayTimeout, status, text)
	require.Contains(t, text, context.DeadlineExceeded.Error())

	*timeout = 20 * time.Second
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "POST /classify HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(file))
	answer := bufio.NewReader(conn)
	line, err := answer.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue", "it has begun")
	go stop()
	require.Eventually(t, func() bool {
		other, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err == nil {
			other.Close()
		}
		return err != nil
	}, 10*time.Second, 10*time.Millisecond, "nobody new is let in")
	_, err = conn.Write(file)
	require.NoError(t, err)
	_, err = answer.ReadString('\n') // the end of the header before
	require.NoError(t, err)
	line, err = answer.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "200 OK")
	conn.Close()
	stop()
}
