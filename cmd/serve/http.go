package main

import (
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/serve"
)

type spec = serve.Spec

//go:embed page.html
var page []byte

// A handler answers, or returns why it does not.
type handler func(w http.ResponseWriter, r *http.Request) error

// handler is the whole service.
func (s *service) handler(tokens []string) http.Handler {
	mux := http.NewServeMux()
	add := func(pattern string, h handler) { mux.Handle(pattern, s.answering(h)) }
	add("GET "+pathLive, func(w http.ResponseWriter, r *http.Request) error {
		return write(w, r, map[string]bool{"live": true})
	})
	add("GET "+pathReady, func(w http.ResponseWriter, r *http.Request) error {
		if err := s.ready(); err != nil {
			return fmt.Errorf("%w: %w", errUnloaded, err)
		}
		return write(w, r, map[string]bool{"live": true, "ready": true})
	})
	add("GET /v2", s.handleServer)
	add("GET /v2/{$}", s.handleServer)
	add("GET /v2/models/stats", s.handleStats)
	add("POST /v2/repository/index", s.handleIndex)
	add("POST /v2/repository/models/{model}/load", s.handleLoad)
	add("POST /v2/repository/models/{model}/unload", s.handleUnload)
	for _, path := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		add("GET "+path, s.handleModel)
		add("GET "+path+"/ready", s.handleModelReady)
		add("GET "+path+"/stats", s.handleStats)
		add("GET "+path+"/config", s.handleConfig)
		add("POST "+path+"/infer", s.handleInfer)
		add("POST "+path+"/classify", s.handleClassify)
	}
	add("GET /metrics", s.handleMetrics)
	mux.Handle(s.grpc())
	protection := http.NewCrossOriginProtection() // no page of another site's
	for _, origin := range s.origins {
		_ = protection.AddTrustedOrigin(origin) // but these; it is one, as the flag was told
	}
	locked := protection.Handler(authorised(tokens, mux))
	return cors(s.origins, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			switch r.URL.Path { // as it came: nothing else may pass for one of these
			case "/":
				showPage(w)
				return
			case pathLive, pathReady: // probes have no tokens
				mux.ServeHTTP(w, r)
				return
			}
		}
		locked.ServeHTTP(w, r)
	}))
}

// Where probes ask.
const pathLive, pathReady = "/v2/health/live", "/v2/health/ready"

// showPage sends the page, which asks for the rest by itself.
func showPage(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; form-action 'none'; connect-src 'self'; img-src blob:")
	_, _ = w.Write(page) // whoever asked may have gone
}

// answering makes an http.Handler of ours: errors are JSON, and a panic is one.
func (s *service) answering(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("panic", "path", r.URL.Path, "value", fmt.Sprint(p), "stack", string(debug.Stack()))
				fail(w, http.StatusInternalServerError, "internal error")
			}
		}()
		t := (*trace)(nil)
		if s.tracer != nil && r.Method != http.MethodGet { // whoever only looks is of no interest
			ctx := r.Context()
			ctx, t = s.tracer.begin(ctx, r.Header)
			r = r.WithContext(ctx)
		}
		err := h(w, r)
		level := slog.LevelDebug
		code := http.StatusOK
		if err != nil {
			code = status(err)
			text := err.Error()
			if code == http.StatusInternalServerError {
				level, text = slog.LevelError, errModel.Error()
			}
			fail(w, code, text)
		}
		if t != nil {
			t.end(r.Pattern, err, textOf("http.request.method", r.Method), textOf("url.path", r.URL.Path),
				numberOf("http.response.status_code", code))
		}
		if s.log.Enabled(r.Context(), level) {
			s.log.Log(r.Context(), level, "request", "method", r.Method, "path", r.URL.Path, "status", code, "took", time.Since(started),
				"error", err)
		}
	})
}

// fail answers with an error.
func fail(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Length")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text}) // whoever asked may have gone
}

// authorised lets requests pass that bring one of the tokens; all, if there are none.
func authorised(tokens []string, next http.Handler) http.Handler {
	if len(tokens) == 0 {
		return next
	}
	sums := make([][sha256.Size]byte, len(tokens)) // of equal length, whatever is guessed
	for i, t := range tokens {
		sums[i] = sha256.Sum256([]byte(t))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		sum := sha256.Sum256([]byte(token))
		right := 0
		for _, want := range sums {
			right |= subtle.ConstantTimeCompare(sum[:], want[:])
		}
		if !ok || right == 0 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "expected a bearer token")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *service) handleServer(w http.ResponseWriter, r *http.Request) error {
	return write(w, r, map[string]any{"name": serverName, "version": version(), "extensions": extensions})
}

// What the server says of itself.
const serverName = "libtorch-go"

var extensions = []string{"binary_tensor_data", "classification", "model_configuration", "model_repository", "schedule_policy", "sequence",
	"statistics"}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}

// metadata describes an input or an output.
type metadata struct {
	Name     string `json:"name"`
	Datatype string `json:"datatype"`
	Shape    []int  `json:"shape"`
}

func describe(specs []spec) []metadata {
	list := []metadata{}
	for _, s := range specs {
		list = append(list, metadata{s.Name, datatypeOf(s.DType), s.Shape})
	}
	return list
}

func (s *service) handleModel(w http.ResponseWriter, r *http.Request) error {
	m, err := s.repository.get(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return err
	}
	sig := m.server.Signature()
	return write(w, r, map[string]any{"name": m.name, "versions": []string{m.version}, "platform": platform, "inputs": describe(sig.Inputs),
		"outputs": describe(sig.Outputs), "image": m.config.Image != nil})
}

const platform = "pytorch_libtorch"

func (s *service) handleModelReady(w http.ResponseWriter, r *http.Request) error {
	m, err := s.repository.get(r.PathValue("model"), r.PathValue("version"))
	if err == nil {
		err = m.server.Ready()
	}
	if err != nil {
		return err
	}
	return write(w, r, map[string]any{"name": m.name, "ready": true})
}

// handleClassify is POST …/classify: a picture in, the five likeliest classes out.
func (s *service) handleClassify(w http.ResponseWriter, r *http.Request) error {
	v, err := s.enter()
	if err != nil {
		return err
	}
	defer v.leave()
	m, err := s.repository.get(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return err
	}
	if m.config.Image == nil {
		return badf("model %s takes no pictures: its config.json has no \"image\"", m.name)
	}
	body, err := v.readBody(w, r)
	if err != nil {
		return err
	}
	name := m.server.Signature().Inputs[0].Name
	in := input{name: name, datatype: textType, texts: func() ([][]byte, error) { return [][]byte{body}, nil }}
	c := call{model: m.name, version: r.PathValue("version"), arranged: v.drop}
	result, err := s.infer(r.Context(), c, []input{in})
	if err != nil {
		return err
	}
	defer result.close()
	var top []class
	if err := torch.Try(func() { top = best(result.outputs[0], 5, m.config.Labels)[0] }); err != nil {
		return err
	}
	return write(w, r, map[string]any{"model_name": m.name, "model_version": result.model.version, "classes": top})
}
