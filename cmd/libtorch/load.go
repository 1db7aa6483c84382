package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/libtorch-go/libtorch/internal/cli"
	"github.com/libtorch-go/libtorch/internal/proc"
)

const loadIntro = `usage: libtorch load [-c CLIENTS | -rate R] [-d TIME] [-data FILE] URL

Asks a server again and again, and says how long its answers take. With -c that many clients ask, each as soon as it has its
answer; with -rate requests are sent at a fixed rate, whether answers come or not, and a request that had to wait for others
counts from when it should have been sent. A URL that ends in /v2/models/NAME is a model behind the Open Inference Protocol: it is sent
random numbers.
`

// loadFlags are what and how to ask.
type loadFlags struct {
	clients, rows, pid    int
	rate                  float64
	length, timeout, warm time.Duration
	data, kind, token     string
	csv, svg              string

	url, method, header string // header is where JSON ends in the body
	body                []byte
}

// load is the verb.
func load(ctx context.Context, args []string, out io.Writer) error {
	var f loadFlags
	fs := flag.NewFlagSet("load", flag.ContinueOnError)
	fs.IntVar(&f.clients, "c", 16, "clients; with -rate the most requests that are on their way")
	fs.Float64Var(&f.rate, "rate", 0, "requests a second")
	fs.DurationVar(&f.length, "d", 10*time.Second, "how long")
	fs.DurationVar(&f.warm, "warm", time.Second, "how long before that, for warming up")
	fs.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long a request may take")
	fs.StringVar(&f.data, "data", "", "the `file` that is posted (default: GET, or random numbers for a model)")
	fs.StringVar(&f.kind, "type", "application/octet-stream", "its content `type`")
	fs.IntVar(&f.rows, "b", 1, "rows of a request to a model")
	fs.StringVar(&f.token, "token", "", "a bearer `token`")
	fs.IntVar(&f.pid, "pid", 0, "the server's `process`, if it is on this machine: how much of the processors an answer takes")
	fs.StringVar(&f.csv, "csv", "", "a `file` for a line of figures of each second")
	fs.StringVar(&f.svg, "svg", "", "a `file` for a chart of them")
	found, err := parse(fs, args, out, loadIntro, "URL")
	if err != nil {
		return err
	}
	f.url = found[0]
	if err := errors.Join(cli.Positive("c", float64(f.clients)), cli.NotNegative("rate", f.rate), cli.Positive("d", f.length.Seconds()),
		cli.Positive("b", float64(f.rows))); err != nil {
		return err
	}
	client := &http.Client{Timeout: f.timeout, Transport: &http.Transport{MaxIdleConnsPerHost: f.clients, DisableCompression: true}}
	defer client.CloseIdleConnections()
	if err := f.prepare(ctx, client); err != nil {
		return err
	}
	if f.warm > 0 {
		f.run(ctx, client, f.warm)
	}
	if f.pid != 0 && proc.Busy(f.pid) == 0 {
		return fmt.Errorf("load: there is no process %d", f.pid)
	}
	before := proc.Busy(f.pid)
	r := f.run(ctx, client, f.length)
	r.busy = proc.Busy(f.pid) - before
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.print(out); err != nil {
		return err
	}
	return r.write(f.csv, f.svg)
}

// prepare makes the request's body.
func (f *loadFlags) prepare(ctx context.Context, client *http.Client) (err error) {
	f.method = http.MethodGet
	if f.data != "" {
		f.method = http.MethodPost
		f.body, err = os.ReadFile(f.data)
		return err
	}
	if _, model, ok := strings.Cut(f.url, "/v2/models/"); !ok || strings.Contains(strings.Trim(model, "/"), "/") {
		return nil
	}
	return f.prepareModel(ctx, client)
}

// prepareModel asks for a model's inputs and makes some.
func (f *loadFlags) prepareModel(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url, nil)
	if err != nil {
		return err
	}
	f.sign(req)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var meta struct {
		Error  string
		Inputs []struct {
			Name, Datatype string
			Shape          []int
		}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&meta); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("load: %s: %s %s", f.url, resp.Status, meta.Error)
	}
	type tensor struct {
		Name       string         `json:"name"`
		Datatype   string         `json:"datatype"`
		Shape      []int          `json:"shape"`
		Parameters map[string]int `json:"parameters"`
	}
	var list []tensor
	var tail []byte
	for _, in := range meta.Inputs {
		n := 1
		for d, size := range in.Shape {
			if size < 0 {
				in.Shape[d] = 1
			}
			if size < 0 && d == 0 {
				in.Shape[d] = f.rows
			}
			n *= in.Shape[d]
		}
		raw, err := randomTensor(in.Datatype, n)
		if err != nil {
			return err
		}
		list, tail = append(list, tensor{in.Name, in.Datatype, in.Shape, map[string]int{"binary_data_size": len(raw)}}), append(tail, raw...)
	}
	head, err := json.Marshal(map[string]any{"inputs": list, "parameters": map[string]bool{"binary_data_output": true}})
	if err != nil {
		return err
	}
	f.method, f.url = http.MethodPost, strings.TrimSuffix(f.url, "/")+"/infer"
	f.header, f.body = strconv.Itoa(len(head)), append(head, tail...)
	return nil
}

// randomTensor is the bytes of n small numbers.
func randomTensor(datatype string, n int) ([]byte, error) {
	sizes := map[string]int{"BOOL": 1, "UINT8": 1, "INT8": 1, "INT16": 2, "UINT16": 2, "INT32": 4, "UINT32": 4, "INT64": 8, "UINT64": 8,
		"FP16": 2, "BF16": 2, "FP32": 4, "FP64": 8}
	size, ok := sizes[datatype]
	if !ok {
		return nil, fmt.Errorf("load: the model takes %s; give the request's body with -data", datatype)
	}
	raw := make([]byte, n*size)
	low := make([]byte, n)
	rand.Read(low) //nolint:errcheck // it never fails
	for i, b := range low {
		if strings.Contains(datatype, "FP") || datatype == "BF16" {
			raw[(i+1)*size-2], raw[(i+1)*size-1] = b, 0x3c // between 0 and 2
		} else {
			raw[i*size] = b & 1
		}
	}
	return raw, nil
}

// sign adds what every request has.
func (f *loadFlags) sign(req *http.Request) {
	if f.token != "" {
		req.Header.Set("Authorization", "Bearer "+f.token)
	}
	if f.header != "" {
		req.Header.Set("Inference-Header-Content-Length", f.header)
	}
	if f.body != nil {
		req.Header.Set("Content-Type", f.kind)
	}
}

// run asks for a while.
func (f *loadFlags) run(ctx context.Context, client *http.Client, length time.Duration) *loadResult {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	r := &loadResult{started: time.Now(), errors: map[string]int{}}
	due := f.schedule(ctx)
	var all sync.WaitGroup
	for range f.clients {
		all.Go(func() {
			for {
				at, ok := <-due
				if !ok {
					return
				}
				if at.IsZero() {
					at = time.Now()
				}
				r.add(at, f.ask(client))
			}
		})
	}
	all.Wait()
	r.took = time.Since(r.started)
	return r
}

// schedule says when requests are due: at a rate, or, the zero time, as soon as somebody is free.
func (f *loadFlags) schedule(ctx context.Context) <-chan time.Time {
	due := make(chan time.Time)
	go func() {
		defer close(due)
		var at time.Time
		if f.rate > 0 {
			at = time.Now()
		}
		for {
			if wait := time.Until(at); f.rate > 0 && wait > 0 {
				select {
				case <-time.After(wait):
				case <-ctx.Done():
					return
				}
			}
			select {
			case due <- at:
			case <-ctx.Done():
				return
			}
			if f.rate > 0 {
				at = at.Add(time.Duration(float64(time.Second) / f.rate))
			}
		}
	}()
	return due
}

// ask sends one request; the text says what went wrong.
func (f *loadFlags) ask(client *http.Client) (wrong string) {
	req, err := http.NewRequest(f.method, f.url, bytes.NewReader(f.body))
	if err != nil {
		return err.Error()
	}
	f.sign(req)
	resp, err := client.Do(req)
	if err != nil {
		var late interface{ Timeout() bool }
		if errors.As(err, &late) && late.Timeout() {
			return "timeout"
		}
		return "no connection"
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "the answer broke off"
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return resp.Status
	}
	return ""
}
