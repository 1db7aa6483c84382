package main

import (
	"net/http"
	"slices"
)

// What pages of other origins may send and read, if they may ask at all: what the protocol and its gRPC-Web and Connect need.
const (
	corsHeaders = "Authorization, Content-Type, Content-Encoding, " + headerLength + ", Traceparent, Tracestate, " +
		"Connect-Protocol-Version, Connect-Timeout-Ms, Grpc-Timeout, X-Grpc-Web, X-User-Agent"
	corsExposed = headerLength + ", Retry-After, Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin"
)

// cors lets the pages of those origins ask; without any no header is sent.
func cors(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if !slices.Contains(origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", corsExposed)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" { // may I?
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			h.Set("Access-Control-Allow-Headers", corsHeaders)
			h.Set("Access-Control-Max-Age", "7200")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}
