package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/serve"
)

// handleMetrics is for Prometheus. Where Triton has a figure that means the same, it has Triton's name.
func (s *service) handleMetrics(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	type sample struct {
		labels string
		value  any
	}
	family := func(name, kind, help string, samples ...sample) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		for _, x := range samples {
			fmt.Fprintf(w, "%s%s %v\n", name, x.labels, x.value)
		}
	}
	models := s.repository.all()
	each := func(name, kind, help string, value func(st *serve.Stats) any) {
		var samples []sample
		for _, m := range models {
			if m.server != nil {
				st := m.server.Stats()
				samples = append(samples, sample{labelsOf(m), value(&st)})
			}
		}
		family(name, kind, help, samples...)
	}
	each("nv_inference_request_success", "counter", "Number of requests that were answered", func(st *serve.Stats) any { return st.Answered })
	s.writeFailures(w)
	each("nv_inference_count", "counter", "Number of rows that were computed", func(st *serve.Stats) any { return st.Rows })
	each("nv_inference_exec_count", "counter", "Number of batches that were computed", func(st *serve.Stats) any { return st.Batches })
	for _, name := range slices.Sorted(maps.Keys(durations)) {
		d := durations[name]
		sum := func(st *serve.Stats) any { return d.of(st).Sum.Microseconds() }
		each("nv_inference_"+name+"_duration_us", "counter", "Microseconds in all: "+d.help, sum)
	}
	each("nv_inference_pending_request_count", "gauge", "Number of requests that wait", func(st *serve.Stats) any { return st.Waiting })
	each("libtorch_running_requests", "gauge", "Number of requests that are being computed", func(st *serve.Stats) any { return st.Running })
	each("libtorch_sequences", "gauge", "Number of open sequences", func(st *serve.Stats) any { return st.Sequences })
	fmt.Fprintf(w, "# HELP libtorch_request_seconds From a request to its answer\n# TYPE libtorch_request_seconds summary\n")
	for _, m := range models {
		if m.server == nil {
			continue
		}
		total := m.server.Stats().Total
		for _, q := range quantiles {
			fmt.Fprintf(w, "libtorch_request_seconds{model=%q,version=%q,quantile=\"%g\"} %g\n",
				m.name, m.version, q, total.Quantile(q).Seconds())
		}
		fmt.Fprintf(w, "libtorch_request_seconds_sum%s %g\n", labelsOf(m), total.Sum.Seconds())
		fmt.Fprintf(w, "libtorch_request_seconds_count%s %d\n", labelsOf(m), total.Count)
	}
	memory := torch.Stats()
	family("libtorch_host_bytes", "gauge", "Bytes of tensors on the host", sample{"", memory.HostBytes})
	family("libtorch_open_tensors", "gauge", "Number of tensors", sample{"", memory.Live()})
	if s.tracer != nil {
		family("libtorch_dropped_spans", "counter", "Number of spans that were not sent", sample{"", s.tracer.dropped.Load()})
	}
	family("go_goroutines", "gauge", "Number of goroutines", sample{"", runtime.NumGoroutine()})
	return nil
}

// labelsOf are the labels of a model's figures.
func labelsOf(m *model) string { return fmt.Sprintf("{model=%q,version=%q}", m.name, m.version) }

// writeFailures writes how many requests had no answer, and why.
func (s *service) writeFailures(w io.Writer) {
	fmt.Fprint(w, "# HELP nv_inference_request_failure Number of requests that were not answered\n")
	fmt.Fprint(w, "# TYPE nv_inference_request_failure counter\n")
	for _, m := range s.repository.all() {
		if m.server == nil {
			continue
		}
		st := m.server.Stats()
		for _, f := range []struct {
			reason string
			n      int64
		}{{"REJECTED", st.Refused}, {"CANCELED", st.Cancelled}, {"BACKEND", st.Failed}, {"OTHER", st.Invalid}} {
			fmt.Fprintf(w, "nv_inference_request_failure{model=%q,version=%q,reason=%q} %d\n", m.name, m.version, f.reason, f.n)
		}
	}
}

var quantiles = []float64{0.5, 0.9, 0.95, 0.99}

// durations are the parts of a request's time, by Triton's names.
var durations = map[string]struct {
	help string
	of   func(*serve.Stats) *serve.Durations
}{
	"request":        {"from requests to their answers", func(st *serve.Stats) *serve.Durations { return &st.Total }},
	"queue":          {"that requests waited", func(st *serve.Stats) *serve.Durations { return &st.Queue }},
	"compute_input":  {"making batches", func(st *serve.Stats) *serve.Durations { return &st.Gather }},
	"compute_infer":  {"running models", func(st *serve.Stats) *serve.Durations { return &st.Compute }},
	"compute_output": {"making answers", func(st *serve.Stats) *serve.Durations { return &st.Split }},
}

// asked are the models of a request for statistics: one, or all if it names none.
func (s *service) asked(name, version string) ([]*model, error) {
	if name == "" {
		return slices.DeleteFunc(s.repository.all(), func(m *model) bool { return m.server == nil }), nil
	}
	m, err := s.repository.get(name, version)
	return []*model{m}, err
}

// handleStats is Triton's extension for statistics, with the percentiles that it has not.
func (s *service) handleStats(w http.ResponseWriter, r *http.Request) error {
	models, err := s.asked(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return err
	}
	list := []map[string]any{}
	for _, m := range models {
		list = append(list, m.statistics())
	}
	return write(w, r, map[string]any{"model_stats": list})
}

// statistics are the figures of a model, as JSON has them.
func (m *model) statistics() map[string]any {
	st := m.server.Stats()
	count := func(d serve.Durations) map[string]any {
		out := map[string]any{"count": d.Count, "ns": d.Sum.Nanoseconds()}
		for _, q := range quantiles {
			out["p"+strconv.Itoa(int(100*q))+"_us"] = d.Quantile(q).Microseconds()
		}
		return out
	}
	var batches []map[string]any
	for rows, n := range st.Sizes {
		if n > 0 {
			batches = append(batches, map[string]any{"batch_size": rows, "compute_infer": map[string]int64{"count": n}})
		}
	}
	return map[string]any{
		"name": m.name, "version": m.version, "inference_count": st.Rows, "execution_count": st.Batches,
		"inference_stats": map[string]any{
			"success": count(st.Total), "fail": map[string]int64{"count": st.Failed}, "queue": count(st.Queue),
			"compute_input": count(st.Gather), "compute_infer": count(st.Compute), "compute_output": count(st.Split),
		},
		"batch_stats": batches,
		"waiting":     st.Waiting, "running": st.Running, "refused": st.Refused, "cancelled": st.Cancelled, "invalid": st.Invalid,
	}
}
