package main

import (
	"bufio"
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
)

// launch starts the server as a process of its own. Its stop is SIGTERM, and returns how the process has ended.
func launch(t *testing.T, args ...string) *running {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, append([]string{"-addr", "localhost:0", "-log", "debug"}, args...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r := &running{t: t, log: &clitest.Console{}}
	cmd.Stderr = r.log
	require.NoError(t, cmd.Start())
	r.pid = cmd.Process.Pid
	r.stop = sync.OnceValue(func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return cmd.Wait()
	})
	t.Cleanup(func() { require.NoError(t, r.stop(), "%v", r.log) })
	address := regexp.MustCompile(`msg=serving address=(\S+)`)
	require.Eventually(t, func() bool {
		found := address.FindStringSubmatch(r.log.String())
		if found != nil {
			r.url = "http://" + found[1]
		}
		return found != nil
	}, patience, 10*time.Millisecond, "%v", r.log)
	return r
}

// post is a request that has begun: its body is still to come.
func (r *running) post(path string, length int) (net.Conn, *bufio.Reader) {
	conn := r.dial(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", path, length))
	answer := bufio.NewReader(conn)
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		line, err := answer.ReadString('\n')
		require.NoError(r.t, err)
		require.Equal(r.t, want, line)
	}
	return conn, answer
}

// SIGTERM under load: whatever the process has accepted is answered, nobody new is let in, and it ends with 0.
func TestTerminated(t *testing.T) {
	r := launch(t, patient...)
	const path = "/v2/models/cifar10/classify"
	file := photo(t)
	var answered atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				status, text := r.do("POST", path, file)
				if status == 0 { // nobody listens any more
					return
				}
				require.Equal(t, http.StatusOK, status, text)
				answered.Add(1)
			}
		})
	}
	type begun struct {
		conn   net.Conn
		answer *bufio.Reader
	}
	var late []begun
	for range 20 {
		conn, answer := r.post(path, len(file))
		late = append(late, begun{conn, answer})
	}
	require.Eventually(t, func() bool { return answered.Load() >= 50 }, patience, time.Millisecond)
	ended := make(chan error, 1)
	go func() { ended <- r.stop() }()
	all.Wait()
	require.Contains(t, r.log.String(), "msg=ending")
	_, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	for _, l := range late {
		require.Empty(t, ended, "it waits for those who have begun")
		_, err := l.conn.Write(file)
		require.NoError(t, err)
		resp, err := http.ReadResponse(l.answer, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		resp.Body.Close()
		l.conn.Close()
		answered.Add(1)
	}
	require.NoError(t, <-ended, "%v", r.log)
	text := r.log.String()
	require.EqualValues(t, answered.Load(), strings.Count(text, "path="+path+" status=200"), "each that was computed has arrived")
	require.Equal(t, strings.Count(text, "path="+path), strings.Count(text, "path="+path+" status=200"))
}

// Tensors have a hard limit: a request that wants more is refused, the process goes on, and where not even the model fits, it is not
// ready and says why.
func TestMemoryOfProcess(t *testing.T) {
	r := launch(t, append(patient, "-max-memory", fmt.Sprint(40<<20))...)
	require.Equal(t, http.StatusOK, r.get("/v2/health/ready"), "%v", r.log)
	var huge bytes.Buffer
	require.NoError(t, jpeg.Encode(&huge, image.NewRGBA(image.Rect(0, 0, 6000, 6000)), nil))
	const path = "/v2/models/cifar10/classify"
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			if i%2 == 0 {
				status, text := r.do("POST", path, huge.Bytes())
				require.Equal(t, http.StatusInsufficientStorage, status, text)
				return
			}
			status, text := r.do("POST", path, photo(t))
			require.Contains(t, []int{http.StatusOK, http.StatusInsufficientStorage}, status, text)
		})
	}
	all.Wait()
	status, text := r.do("POST", path, photo(t))
	require.Equal(t, http.StatusOK, status, text)
	require.Equal(t, http.StatusOK, r.get("/v2/health/ready"))
	require.NoError(t, r.stop())

	r = launch(t, "-max-memory", "100000")
	status, text = r.do("GET", "/v2/health/ready", nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, text, "would pass the limit")
	require.Equal(t, http.StatusOK, r.get("/v2/health/live"))
	status, _ = r.do("POST", path, photo(t))
	require.Equal(t, http.StatusServiceUnavailable, status)
}
