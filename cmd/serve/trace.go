package main

import (
	"bytes"
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/libtorch-go/libtorch/torch/serve"
)

// A tracer tells a collector of OpenTelemetry's, over OTLP/HTTP, what happened to requests. A nil one tells nothing.
type tracer struct {
	url     string
	header  http.Header
	about   *resource.Resource
	ratio   float64 // of the requests whose clients say nothing of it
	log     *slog.Logger
	spans   chan *otlp.Span
	dropped atomic.Int64
	quit    chan struct{}
	ended   chan struct{}
}

const (
	spansWaiting = 4096 // those that come then are dropped
	spansAtOnce  = 512
	sendEvery    = time.Second
	sendTimeout  = 10 * time.Second
)

// collectorURL is where traces go: the path of OTLP/HTTP behind the address of a collector.
func collectorURL(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%q is no address of a collector, such as http://localhost:4318", base)
	}
	return u.JoinPath("v1", "traces").String(), nil
}

// newTracer starts a tracer. The environment says what OpenTelemetry has it say: the service's name, and headers such as a token.
func newTracer(address string, ratio float64, log *slog.Logger) *tracer {
	t := &tracer{url: address, header: http.Header{}, ratio: ratio, log: log, spans: make(chan *otlp.Span, spansWaiting),
		quit: make(chan struct{}), ended: make(chan struct{})}
	name := cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), "libtorch-serve")
	t.about = &resource.Resource{Attributes: []*common.KeyValue{textOf("service.name", name), textOf("service.version", version())}}
	for pair := range strings.SplitSeq(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			if plain, err := url.PathUnescape(strings.TrimSpace(value)); err == nil {
				t.header.Set(strings.TrimSpace(key), plain)
			}
		}
	}
	t.header.Set("Content-Type", "application/x-protobuf")
	go t.run()
	return t
}

// close sends what is left.
func (t *tracer) close() {
	if t != nil {
		close(t.quit)
		<-t.ended
	}
}

// run sends spans, many at once.
func (t *tracer) run() {
	defer close(t.ended)
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	var list []*otlp.Span
	failing := false
	send := func() {
		if len(list) == 0 {
			return
		}
		err := t.send(list)
		if err != nil {
			t.dropped.Add(int64(len(list)))
			if !failing {
				t.log.Warn("traces are not sent", "collector", t.url, "error", err)
			}
		}
		list, failing = nil, err != nil
	}
	for {
		select {
		case s := <-t.spans:
			if list = append(list, s); len(list) >= spansAtOnce {
				send()
			}
		case <-tick.C:
			send()
		case <-t.quit:
			for len(t.spans) > 0 {
				list = append(list, <-t.spans)
			}
			send()
			return
		}
	}
}

func (t *tracer) send(list []*otlp.Span) error {
	scope := &otlp.ScopeSpans{Scope: &common.InstrumentationScope{Name: serverName}, Spans: list}
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{
		ResourceSpans: []*otlp.ResourceSpans{{Resource: t.about, ScopeSpans: []*otlp.ScopeSpans{scope}}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = t.header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answered %s", resp.Status)
	}
	return nil
}

// A trace is what happens to one request; a nil one is that of a request that nobody traces. It belongs to the request's goroutine.
type trace struct {
	tracer *tracer
	root   *otlp.Span
	parts  []*otlp.Span
}

type traceKey struct{}

// traceOf is the trace of a request.
func traceOf(ctx context.Context) *trace {
	t, _ := ctx.Value(traceKey{}).(*trace)
	return t
}

// begin begins a request's trace, or goes on with the client's (W3C's traceparent), which says whether it is recorded.
func (t *tracer) begin(ctx context.Context, h http.Header) (context.Context, *trace) {
	if t == nil {
		return ctx, nil
	}
	id, parent, sampled, ok := parseTraceparent(h.Get("Traceparent"))
	if !ok {
		id, parent, sampled = random(16), nil, rand.Float64() < t.ratio
	}
	if !sampled {
		return ctx, nil
	}
	own := &trace{tracer: t, root: &otlp.Span{TraceId: id, ParentSpanId: parent, SpanId: random(8), Kind: otlp.Span_SPAN_KIND_SERVER,
		StartTimeUnixNano: nanos(time.Now())}}
	if ok {
		own.root.TraceState = h.Get("Tracestate")
	}
	return context.WithValue(ctx, traceKey{}, own), own
}

// parseTraceparent reads W3C's header: 00-TRACE-PARENT-FLAGS; later versions may have more behind it.
func parseTraceparent(s string) (id, parent []byte, sampled, ok bool) {
	parts := strings.Split(s, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || parts[0] == "00" && len(parts) != 4 || s != strings.ToLower(s) {
		return nil, nil, false, false
	}
	var bytes [4][]byte
	for i, size := range []int{1, 16, 8, 1} {
		b, err := hex.DecodeString(parts[i])
		if err != nil || len(b) != size {
			return nil, nil, false, false
		}
		bytes[i] = b
	}
	if zeros(bytes[1]) || zeros(bytes[2]) {
		return nil, nil, false, false
	}
	return bytes[1], bytes[2], bytes[3][0]&1 == 1, true
}

func zeros(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = crand.Read(b) // never fails
	return b
}

// part adds something that was done for the request.
func (t *trace) part(name string, from, to time.Time, attributes ...*common.KeyValue) {
	if t == nil || from.IsZero() {
		return
	}
	t.parts = append(t.parts, &otlp.Span{TraceId: t.root.TraceId, ParentSpanId: t.root.SpanId, SpanId: random(8), Name: name,
		Kind: otlp.Span_SPAN_KIND_INTERNAL, StartTimeUnixNano: nanos(from), EndTimeUnixNano: nanos(to), Attributes: attributes})
}

// computed adds the parts of a computation, by Triton's names.
func (t *trace) computed(m *model, x *serve.Times) {
	if t == nil {
		return
	}
	t.root.Attributes = append(t.root.Attributes, textOf("model.name", m.name), textOf("model.version", m.version))
	t.part("queue", x.Arrived, x.Begun)
	t.part("compute_input", x.Begun, x.Gathered)
	t.part("compute_infer", x.Gathered, x.Computed, numberOf("batch.rows", x.Rows))
	t.part("compute_output", x.Computed, x.Answered)
}

// end ends the trace, and has it sent if there is room.
func (t *trace) end(name string, err error, attributes ...*common.KeyValue) {
	if t == nil {
		return
	}
	t.root.Name, t.root.EndTimeUnixNano = name, nanos(time.Now())
	t.root.Attributes = append(t.root.Attributes, attributes...)
	if err != nil {
		t.root.Attributes = append(t.root.Attributes, textOf("error.type", fmt.Sprint(status(err))))
		if status(err) >= http.StatusInternalServerError {
			t.root.Status = &otlp.Status{Code: otlp.Status_STATUS_CODE_ERROR, Message: err.Error()}
		}
	}
	for _, s := range append(t.parts, t.root) {
		select {
		case t.tracer.spans <- s:
		default:
			t.tracer.dropped.Add(1)
		}
	}
}

func nanos(t time.Time) uint64 { return uint64(t.UnixNano()) }

func textOf(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func numberOf(key string, value int) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: int64(value)}}}
}
