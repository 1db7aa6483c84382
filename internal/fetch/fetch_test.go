package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/fetch"
)

// file is what the server has.
var file = bytes.Repeat([]byte("0123456789abcdef"), 4096)

// answer is how the server replies to one request, whose first wanted byte is from.
type answer func(w http.ResponseWriter, from int)

// good sends what is asked for.
func good(w http.ResponseWriter, from int) { cut(len(file))(w, from) }

// cut sends what is asked for up to a byte, and breaks off.
func cut(end int) answer {
	return func(w http.ResponseWriter, from int) {
		w.Header().Set("Content-Length", strconv.Itoa(len(file)-from))
		w.Header().Set("ETag", `"one"`)
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(file)-1, len(file)))
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(file[from:max(from, end)])
		if end < len(file) {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

// status answers with a number and a range.
func status(code int, span string) answer {
	return func(w http.ResponseWriter, _ int) {
		w.Header().Set("Content-Range", span)
		w.WriteHeader(code)
	}
}

// all sends the whole file, whatever is asked for.
func all(w http.ResponseWriter, _ int) { _, _ = w.Write(file) }

// longer claims and sends more than the file is.
func longer(w http.ResponseWriter, _ int) { _, _ = w.Write(append(bytes.Clone(file), "more"...)) }

// endless says no length and does not stop.
func endless(w http.ResponseWriter, _ int) {
	for {
		if _, err := w.Write(file); err != nil {
			return
		}
	}
}

// silent sends a little and then nothing, for longer than the client waits.
func silent(w http.ResponseWriter, _ int) {
	_, _ = w.Write(file[:100])
	w.(http.Flusher).Flush()
	time.Sleep(300 * time.Millisecond)
}

// A transfer is what a client has and asks for, and what servers answer.
type transfer struct {
	have     []byte // in the part before
	answers  []answer
	transfer fetch.Transfer
	fails    string // part of the error
	asked    string // the first bytes that were asked for
	left     int    // in the part after a failure
}

func TestTransfers(t *testing.T) {
	size := len(file)
	for name, c := range map[string]transfer{
		"whole":                   {answers: []answer{good}, asked: "0"},
		"the rest of it":          {have: file[:1000], answers: []answer{good}, asked: "1000"},
		"broken off three times":  {answers: []answer{cut(10), cut(5000), cut(60000), good}, asked: "0 10 5000 60000"},
		"a server without ranges": {have: file[:1000], answers: []answer{all}, asked: "1000"},
		"nothing is missing":      {have: file, answers: []answer{status(416, fmt.Sprintf("bytes */%d", size))}, asked: strconv.Itoa(size)},
		"a part of something longer": {have: longerThan(file), answers: []answer{status(416, fmt.Sprintf("bytes */%d", size)), good},
			asked: strconv.Itoa(size+4) + " 0"},
		"another range": {have: file[:1000], answers: []answer{status(206, "bytes 5-9/10"), good},
			transfer: fetch.Transfer{Retries: 1}, asked: "1000 0"},
		"no range at all": {have: file[:1000], answers: []answer{status(206, "all of it"), good},
			transfer: fetch.Transfer{Retries: 1}, asked: "1000 0"},
		"an error that passes": {answers: []answer{status(503, ""), good}, transfer: fetch.Transfer{Retries: 1}, asked: "0 0"},
		"too many requests":    {answers: []answer{status(429, ""), good}, transfer: fetch.Transfer{Retries: 1}, asked: "0 0"},
		"an error that stays": {answers: []answer{status(503, ""), status(503, "")}, transfer: fetch.Transfer{Retries: 1},
			fails: "503", asked: "0 0"},
		"no such file": {answers: []answer{status(404, "")}, transfer: fetch.Transfer{Retries: 5}, fails: "404", asked: "0"},
		"more than there can be": {answers: []answer{longer}, transfer: fetch.Transfer{Most: int64(size), Retries: 5},
			fails: "more than", asked: "0"},
		"no end": {answers: []answer{endless}, transfer: fetch.Transfer{Most: int64(size), Retries: 5},
			fails: "more than", asked: "0"},
		"silence": {answers: []answer{silent, silent}, transfer: fetch.Transfer{Stall: 50 * time.Millisecond},
			fails: "sends nothing", asked: "0 100", left: 100},
		"nothing new, again and again": {answers: []answer{cut(10), cut(10), cut(10)}, transfer: fetch.Transfer{Retries: 1}, fails: "EOF",
			asked: "0 10 10", left: 10},
	} {
		t.Run(name, c.test)
	}
}

func (c transfer) test(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := 0
		if span := r.Header.Get("Range"); span != "" {
			_, err := fmt.Sscanf(span, "bytes=%d-", &from)
			require.NoError(t, err)
		}
		asked = append(asked, strconv.Itoa(from))
		require.LessOrEqual(t, len(asked), len(c.answers), "one request too many")
		c.answers[len(asked)-1](w, from)
	}))
	defer server.Close()
	part := partOf(t, c.have)
	var last int64
	c.transfer.URL = server.URL
	c.transfer.Progress = func(done, _ int64) { last = done }
	err := c.transfer.Run(context.Background(), part)
	got, readError := os.ReadFile(part.Name())
	require.NoError(t, readError)
	require.Equal(t, c.asked, strings.Join(asked, " "))
	if c.fails != "" {
		require.ErrorContains(t, err, c.fails)
		require.Len(t, got, c.left)
		return
	}
	require.NoError(t, err)
	require.True(t, bytes.Equal(file, got), "the file is another one")
	if last != 0 {
		require.EqualValues(t, len(file), last)
	}
}

func longerThan(b []byte) []byte { return append(bytes.Clone(b), "more"...) }

func partOf(t *testing.T, have []byte) *os.File {
	t.Helper()
	part, err := os.Create(filepath.Join(t.TempDir(), "part"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, part.Close()) })
	_, err = io.Copy(part, bytes.NewReader(have))
	require.NoError(t, err)
	return part
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(file[:100])
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	err := fetch.Transfer{URL: server.URL, Retries: 5}.Run(ctx, partOf(t, nil))
	require.True(t, errors.Is(err, context.Canceled), "%v", err)
}

func TestNoServer(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	var broken int
	err := fetch.Transfer{URL: server.URL, Retries: 2, Broken: func(error) { broken++ }}.Run(context.Background(), partOf(t, nil))
	require.ErrorContains(t, err, "refused")
	require.Equal(t, 2, broken)
}
