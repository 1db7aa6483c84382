package main

import (
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	pb "github.com/libtorch-go/libtorch/cmd/serve/internal/inference"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// collected is a collector of OpenTelemetry's, and what was sent to it.
type collected struct {
	*httptest.Server
	mu      sync.Mutex
	header  http.Header
	service string
	spans   []*otlp.Span
}

func collect(t *testing.T) *collected {
	c := &collected{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		var q collector.ExportTraceServiceRequest
		require.NoError(t, proto.Unmarshal(body, &q))
		c.mu.Lock()
		defer c.mu.Unlock()
		require.Equal(t, "POST /base/v1/traces", r.Method+" "+r.URL.Path)
		c.header = r.Header
		for _, list := range q.GetResourceSpans() {
			c.service = list.GetResource().GetAttributes()[0].GetValue().GetStringValue()
			c.spans = append(c.spans, list.GetScopeSpans()[0].GetSpans()...)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func attribute(s *otlp.Span, key string) *common.AnyValue {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue()
		}
	}
	return nil
}

const (
	clientTrace  = "0af7651916cd43dd8448eb211c80319c"
	clientParent = "00-" + clientTrace + "-b7ad6b7169203331-"
)

// Requests that clients trace are told to the collector, as parts of the clients' traces; others by the ratio.
func TestTraces(t *testing.T) {
	torchtest.NoLeaks(t)
	t.Setenv("OTEL_SERVICE_NAME", "pictures")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x,other=1")
	to := collect(t)
	r := begin(t, "-traces", to.URL+"/base", "-trace-ratio", "0")
	classify, file := "/v2/models/cifar10/classify", photo(t)
	for parent, want := range map[string]int{clientParent + "01": 200, clientParent + "00": 200, "nonsense": 200, "": 200} {
		status, text := r.do("POST", classify, file, "Traceparent", parent, "Tracestate", "a=b")
		require.Equal(t, want, status, text)
	}
	status, _ := r.do("POST", "/v2/models/nothing/infer", []byte("{}"), "Traceparent", clientParent+"01")
	require.Equal(t, http.StatusNotFound, status)
	call := connect.NewClient[pb.ModelInferRequest, pb.ModelInferResponse](http.DefaultClient,
		r.url+pb.GRPCInferenceServiceModelInferProcedure)
	q := connect.NewRequest(&pb.ModelInferRequest{ModelName: "cifar10", RawInputContents: [][]byte{make([]byte, 4*3*32*32)},
		Inputs: []*pb.ModelInferRequest_InferInputTensor{{Name: "image", Datatype: "FP32", Shape: []int64{1, 3, 32, 32}}}})
	q.Header().Set("Traceparent", clientParent+"01")
	_, err := call.CallUnary(t.Context(), q)
	require.NoError(t, err)
	_, metrics := r.do("GET", "/metrics", nil)
	require.Contains(t, metrics, "libtorch_dropped_spans 0")
	require.NoError(t, r.stop(), "which sends the rest")

	require.Equal(t, "pictures", to.service)
	require.Equal(t, "Bearer x", to.header.Get("Authorization"))
	parts := map[string][]string{} // of the span that they belong to
	roots := map[string]*otlp.Span{}
	for _, s := range to.spans {
		require.Equal(t, clientTrace, hex.EncodeToString(s.GetTraceId()))
		require.Less(t, s.GetStartTimeUnixNano(), s.GetEndTimeUnixNano()+1)
		if s.GetKind() == otlp.Span_SPAN_KIND_SERVER {
			require.Equal(t, "b7ad6b7169203331", hex.EncodeToString(s.GetParentSpanId()))
			roots[s.GetName()] = s
		} else {
			parts[string(s.GetParentSpanId())] = append(parts[string(s.GetParentSpanId())], s.GetName())
		}
	}
	require.Len(t, roots, 3)
	all := "inputs queue compute_input compute_infer compute_output"
	for name, want := range map[string]string{
		"POST /v2/models/{model}/classify": all, pb.GRPCInferenceServiceName + "/ModelInfer": all, "POST /v2/models/{model}/infer": "",
	} {
		require.Contains(t, roots, name)
		require.Equal(t, want, strings.Join(parts[string(roots[name].GetSpanId())], " "), name)
	}
	require.Equal(t, "a=b", roots["POST /v2/models/{model}/classify"].GetTraceState())
	require.Equal(t, "cifar10", attribute(roots["POST /v2/models/{model}/classify"], "model.name").GetStringValue())
	require.EqualValues(t, 404, attribute(roots["POST /v2/models/{model}/infer"], "http.response.status_code").GetIntValue())
}

// A collector that is not there costs a warning, not a request; what it was to get is counted.
func TestNoCollector(t *testing.T) {
	torchtest.NoLeaks(t)
	to := collect(t)
	to.Close()
	r := begin(t, "-traces", to.URL)
	status, text := r.do("POST", "/v2/models/cifar10/classify", photo(t))
	require.Equal(t, http.StatusOK, status, text)
	require.NoError(t, r.stop())
	require.Contains(t, r.log.String(), "traces are not sent")

	broken := newTracer("http://localhost:0", 1, slog.New(slog.DiscardHandler))
	broken.close()
	for range spansWaiting + 5 {
		_, own := broken.begin(t.Context(), nil)
		own.end("x", nil)
	}
	require.EqualValues(t, 5, broken.dropped.Load())
}

func TestTraceparent(t *testing.T) {
	for s, want := range map[string][2]bool{ // sampled, understood
		clientParent + "01":                                 {true, true},
		clientParent + "00":                                 {false, true},
		clientParent + "03":                                 {true, true},
		"01" + clientParent[2:] + "01-more":                 {true, true},
		clientParent + "01-more":                            {},
		"ff" + clientParent[2:] + "01":                      {},
		strings.ToUpper(clientParent) + "01":                {},
		clientParent + "1":                                  {},
		"00-" + strings.Repeat("0", 32) + clientParent[35:]: {},
		"00-" + clientTrace + "-0000000000000000-01":        {},
		"00-" + clientTrace + "-01":                         {},
		"":                                                  {},
	} {
		_, _, sampled, ok := parseTraceparent(s)
		require.Equal(t, want, [2]bool{sampled, ok}, s)
	}
}
