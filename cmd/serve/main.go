// Serve is a server of models: a folder of programs of torch.export, of weights, of TorchScript and of AOTInductor, or without a folder a
// small network that knows airplanes from frogs, over the Open Inference Protocol in HTTP and gRPC.
//
//	go run ./cmd/serve                      # the page is at http://localhost:8000
//	go run ./cmd/serve -models FOLDER
//
// README.md says what is in a folder, and what clients can ask.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/cli"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
)

func main() {
	jit.InspectChild()
	cli.Main("serve", run)
}

// flags are the command line.
type flags struct {
	models, addr, cert, key, tokens, log string
	cors                                 []string
	traces                               string
	traceRatio                           float64
	control                              bool
	trusted                              trusted
	memory                               int64
	lanes                                int
	warmUp                               time.Duration
	drain                                time.Duration
	limits                               limits
}

const intro = `usage: serve [flags]

Serves models over the Open Inference Protocol, HTTP and gRPC on one port. Without -models it serves a small network for pictures.
`

func (f *flags) parse(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.StringVar(&f.models, "models", "", "the `folder` of the models")
	fs.StringVar(&f.addr, "addr", "localhost:8000", "the `address` to listen on; :8000 is for everybody")
	fs.StringVar(&f.cert, "cert", "", "the `file` of a TLS certificate; with -key the port speaks TLS alone")
	fs.StringVar(&f.key, "key", "", "the `file` of its key")
	fs.StringVar(&f.tokens, "tokens", "", "a `file` of bearer tokens, one a line, of which clients need one")
	fs.StringVar(&f.log, "log", "info", "the least `level` that is logged: debug (each request), info, warn, error")
	fs.Func("cors", "`origins`, such as https://example.org,https://example.com, whose pages may ask (default: none)", f.addOrigins)
	fs.Func("traces", "the `address` of a collector of OpenTelemetry's (OTLP/HTTP), such as http://localhost:4318 (default: no traces)",
		func(base string) (err error) { f.traces, err = collectorURL(base); return err })
	fs.Float64Var(&f.traceRatio, "trace-ratio", 1, "the `part` of requests that are traced where clients say nothing of it (traceparent)")
	fs.BoolVar(&f.control, "model-control", false, "clients may load and unload models")
	fs.BoolVar(&f.trusted.packages, "aoti", false, "packages of AOTInductor (.pt2) are served: machine code that can do what this server can")
	fs.BoolVar(&f.trusted.scripts, "torchscript", false, "models of TorchScript (.pt) are served: programs, which can do what this server can")
	fs.BoolVar(&f.trusted.confined, "confine", false,
		"models of TorchScript (.pt) are served by child processes, which may do nothing but compute")
	fs.IntVar(&f.lanes, "lanes", 0, "batches that are computed at the same time, of all models (default: as many as threads, at most 4)")
	fs.Int64Var(&f.limits.body, "max-body", 64<<20, "`bytes` of a request")
	fs.Int64Var(&f.limits.memory, "max-bodies", 1<<30, "`bytes` of all requests at the same time; what comes then is refused with 429")
	fs.Int64Var(&f.memory, "max-memory", 0, "`bytes` of all tensors; what wants more is refused with 507 (default: no limit)")
	fs.IntVar(&f.limits.concurrent, "max-requests", 1024, "requests at the same time; what comes then is refused with 429")
	fs.DurationVar(&f.limits.timeout, "timeout", 30*time.Second, "how long a request may take")
	fs.DurationVar(&f.warmUp, "warm-up", 5*time.Minute, "how long a model may compute before it is ready; one that takes longer is not served")
	fs.DurationVar(&f.drain, "drain", 30*time.Second, "how long requests may take that are there when the server is told to end")
	if err := cli.Parse(fs, args, out, intro); err != nil {
		return err
	}
	if (f.cert == "") != (f.key == "") {
		return cli.Usagef("-cert and -key belong together")
	}
	return errors.Join(cli.Positive("max-body", float64(f.limits.body)), cli.Positive("max-bodies", float64(f.limits.memory)),
		cli.Positive("max-requests", float64(f.limits.concurrent)),
		cli.Positive("timeout", f.limits.timeout.Seconds()), cli.Positive("warm-up", f.warmUp.Seconds()),
		cli.NotNegative("lanes", float64(f.lanes)),
		cli.NotNegative("trace-ratio", f.traceRatio), cli.NotNegative("max-memory", float64(f.memory)))
}

// addOrigins reads a list of origins.
func (f *flags) addOrigins(list string) error {
	for origin := range strings.SplitSeq(list, ",") {
		if err := http.NewCrossOriginProtection().AddTrustedOrigin(origin); err != nil {
			return err
		}
		f.cors = append(f.cors, origin)
	}
	return nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var f flags
	if err := f.parse(args, out); err != nil {
		return err
	}
	if err := torch.Load(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.log)); err != nil {
		return cli.Usagef("-log: %w", err)
	}
	return f.serve(ctx, listener, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
}

// serve answers until ctx ends, and then what was asked before.
func (f *flags) serve(ctx context.Context, listener net.Listener, log *slog.Logger) error {
	tokens, err := readTokens(f.tokens)
	if err != nil {
		return err
	}
	if f.memory > 0 {
		before := torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{Hard: f.memory})
		defer torch.SetMemoryLimits(torch.CPU, before)
	}
	if f.lanes == 0 {
		f.lanes = min(torch.NumThreads(), 4)
	}
	lanes, images := torch.NewLanes(f.lanes), torch.NewLanes(max(1, min(runtime.GOMAXPROCS(0), 4)), torch.LanesOptions{Threads: 1})
	defer lanes.Close()
	defer images.Close()
	s := newService(&repository{dir: f.models, lanes: lanes, log: log, trusted: f.trusted, patience: f.warmUp,
		models: map[string]*model{}}, f.limits, images)
	s.control, s.origins = f.control, f.cors
	if f.traces != "" {
		s.tracer = newTracer(f.traces, f.traceRatio, log)
		defer s.tracer.close()
	}
	if err := s.repository.loadAll(ctx); err != nil {
		return err
	}
	defer s.thrifty()()
	web, err := f.web(s.handler(tokens), log)
	if err != nil {
		return err
	}
	log.Info("serving", "address", listener.Addr().String(), "models", len(s.repository.models), "tls", f.cert != "", "tokens", len(tokens))
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		log.Info("ending")
		late, cancel := context.WithTimeout(context.Background(), f.drain)
		defer cancel()
		stopped <- errors.Join(web.Shutdown(late), s.empty(late), s.repository.close(late))
	})
	if f.cert == "" {
		err = web.Serve(listener)
	} else {
		err = web.ServeTLS(listener, f.cert, f.key)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, s.repository.close(ctx))
	}
	return <-stopped
}

// web is the HTTP server: HTTP/1.1 and HTTP/2, which gRPC needs, with limits on how slowly a client may speak.
func (f *flags) web(h http.Handler, log *slog.Logger) (*http.Server, error) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(f.cert == "")
	web := &http.Server{
		Handler: h, Protocols: protocols, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: f.limits.timeout / 6, ReadTimeout: f.limits.timeout, WriteTimeout: 3 * f.limits.timeout,
		IdleTimeout:    3 * time.Minute, // longer than clients keep a connection: when they close it, no request is on its way
		MaxHeaderBytes: 64 << 10, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 256},
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, err
		}
		web.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	return web, nil
}

// readTokens reads a file with a token on each line.
func readTokens(path string) (tokens []string, err error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if token := strings.TrimSpace(lines.Text()); token != "" {
			tokens = append(tokens, token)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%s has no token in it", path)
	}
	return tokens, nil
}
