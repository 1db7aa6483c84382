package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/libtorch-go/libtorch/cmd/serve/internal/inference"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// dial opens a connection and says something.
func (r *running) dial(text string) net.Conn {
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	require.NoError(r.t, err)
	_, err = io.WriteString(conn, text)
	require.NoError(r.t, err)
	return conn
}

// Clients that are slow, vanish, lie about lengths or speak something else cost others nothing.
func TestHostileConnections(t *testing.T) {
	torchtest.NoLeaks(t)
	r := begin(t)
	post := "POST /v2/models/cifar10/infer HTTP/1.1\r\nHost: x\r\n"
	before := torch.Stats().HostBytes
	var slow []net.Conn
	for range 100 {
		slow = append(slow, r.dial("GET /v2/health/live HTTP/1.1\r\nHos"), r.dial(post+"Content-Length: 1000\r\n\r\n{"),
			r.dial(post+"Content-Length: 60000\r\n\r\n{")) // more than the turns to read long bodies
	}
	for range 50 {
		r.dial(post + "Content-Length: 60000\r\n\r\n{\"inputs\":[").Close()                    // vanishes
		r.dial("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff").Close() // no HTTP/2 after all
		r.dial("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").Close()                         // TLS
		r.dial(strings.Repeat("A", 70000)).Close()
	}
	claims := r.dial(post + "Content-Length: 1073741824\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(claims), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestEntityTooLarge, answer.StatusCode)
	claims.Close()

	half := r.dial("GET /v2/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	require.NoError(t, half.(*net.TCPConn).CloseWrite())
	line, err := bufio.NewReader(half).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "200 OK")
	half.Close()

	pipelined := r.dial(strings.Repeat("GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n", 20))
	from := bufio.NewReader(pipelined)
	for range 20 {
		answer, err := http.ReadResponse(from, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode)
	}
	pipelined.Close()

	for _, more := range []int{0, 100_000} { // a short body, a long one
		status, text := r.do("POST", "/v2/models/cifar10/classify", append(photo(t), make([]byte, more)...))
		require.Equal(t, http.StatusOK, status, text)
	}
	require.Less(t, torch.Stats().HostBytes-before, int64(32<<20), "what was claimed was not allocated")
	for _, conn := range slow {
		conn.Close()
	}
	require.Eventually(t, func() bool { return r.get("/v2/health/ready") == http.StatusOK }, patience, 10*time.Millisecond)
}

// bend changes bytes by chance: some are others, missing, there twice.
func bend(r *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + r.IntN(4) {
		if len(b) == 0 {
			break
		}
		i := r.IntN(len(b))
		switch r.IntN(4) {
		case 0:
			b[i] = byte(r.Uint32())
		case 1:
			b = b[:i]
		case 2:
			b = append(b[:i], b[min(len(b), i+1+r.IntN(8)):]...)
		case 3:
			b = append(b[:i:i], append([]byte(fmt.Sprint(r.Int64())), b[i:]...)...)
		}
	}
	return b
}

// Requests that are bent by chance, in HTTP and gRPC, get an answer or a refusal with a sentence, never a failure of the server's.
func TestBentRequests(t *testing.T) {
	torchtest.NoLeaks(t)
	r := begin(t)
	raw := make([]byte, 4*3*32*32)
	head := []byte(`{"id":"1","parameters":{"priority":1,"binary_data_output":true},"inputs":[{"name":"image","datatype":"FP32",` +
		`"shape":[1,3,32,32],"parameters":{"binary_data_size":12288}}],"outputs":[{"name":"scores","parameters":{"classification":2}}]}`)
	message, err := proto.Marshal(&pb.ModelInferRequest{ModelName: "cifar10", RawInputContents: [][]byte{raw},
		Inputs: []*pb.ModelInferRequest_InferInputTensor{{Name: "image", Datatype: "FP32", Shape: []int64{1, 3, 32, 32}}}})
	require.NoError(t, err)
	file := photo(t)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	two := &http.Transport{Protocols: protocols}
	defer two.CloseIdleConnections()
	goroutines := runtime.NumGoroutine()
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			chance := rand.New(rand.NewPCG(1, uint64(worker)))
			for range reliability.Size(12500, 250) {
				switch chance.IntN(4) {
				case 0:
					status, text := r.do("POST", "/v2/models/cifar10/classify", bend(chance, file))
					require.Contains(t, []int{200, 400}, status, text)
				case 1:
					bent := bend(chance, message)
					frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(bent))), bent...)
					req, err := http.NewRequest("POST", r.url+pb.GRPCInferenceServiceModelInferProcedure, bytes.NewReader(frame))
					require.NoError(t, err)
					req.Header.Set("Content-Type", "application/grpc")
					resp, err := (&http.Client{Transport: two}).Do(req)
					require.NoError(t, err)
					_, err = io.Copy(io.Discard, resp.Body)
					require.NoError(t, err)
					resp.Body.Close()
					code := resp.Trailer.Get("Grpc-Status") + resp.Header.Get("Grpc-Status")
					require.Contains(t, []string{"0", "3", "5"}, code, resp.Trailer) // fine, a bad argument, not found
				default:
					bent := bend(chance, head)
					status, text := r.do("POST", "/v2/models/cifar10/infer", append(bent, raw...), headerLength, fmt.Sprint(len(bent)))
					require.Contains(t, []int{200, 400}, status, "%s\n%s", bent, text)
				}
			}
		})
	}
	all.Wait()
	require.NotContains(t, r.log.String(), "level=ERROR")
	require.Equal(t, http.StatusOK, r.get("/v2/health/ready"))
	two.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() < goroutines+16 }, patience, 10*time.Millisecond)
}

// Bodies that are each within the limit are refused where all of them are too much.
func TestManyBodies(t *testing.T) {
	torchtest.NoLeaks(t)
	r := begin(t, "-max-body", "60000", "-max-bodies", "100000")
	head := "POST /v2/models/cifar10/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n"
	held := []net.Conn{r.dial(head + strings.Repeat(" ", 45000))}
	require.Eventually(t, func() bool {
		held = append(held, r.dial(head+strings.Repeat(" ", 45000))) // one that came beside the body below was refused itself
		status, _ := r.do("POST", "/v2/models/cifar10/infer", bytes.Repeat([]byte(" "), 30000))
		return status == http.StatusTooManyRequests
	}, patience, 10*time.Millisecond)
	for _, c := range held {
		c.Close()
	}
	require.Eventually(t, func() bool {
		status, _ := r.do("POST", "/v2/models/cifar10/infer", bytes.Repeat([]byte(" "), 30000))
		return status == http.StatusBadRequest
	}, patience, 10*time.Millisecond)
}
