package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Pages of other origins may ask if the server is told so, and nobody else's; without the flag no header says anything of it.
func TestCORS(t *testing.T) {
	torchtest.NoLeaks(t)
	const friend, stranger = "https://friend.example", "https://stranger.example"
	for _, open := range []bool{true, false} {
		var args []string
		if open {
			args = []string{"-cors", friend + ",http://localhost:9"}
		}
		r := begin(t, args...)
		for _, c := range []struct {
			method, origin string
			status         int
			allowed        bool
		}{
			{"OPTIONS", friend, 204, true}, {"POST", friend, 200, true}, {"OPTIONS", stranger, 405, false}, {"POST", stranger, 403, false},
		} {
			req, err := http.NewRequest(c.method, r.url+"/v2/repository/index", strings.NewReader(""))
			require.NoError(t, err)
			req.Header.Set("Origin", c.origin)
			req.Header.Set("Sec-Fetch-Site", "cross-site")
			if c.method == "OPTIONS" {
				req.Header.Set("Access-Control-Request-Method", "POST")
			}
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			if !open {
				c.status, c.allowed = map[string]int{"OPTIONS": 405, "POST": 403}[c.method], false
			}
			require.Equal(t, c.status, resp.StatusCode, "%v %+v", open, c)
			want := ""
			if c.allowed {
				want = c.origin
			}
			require.Equal(t, want, resp.Header.Get("Access-Control-Allow-Origin"), "%v %+v", open, c)
			require.Equal(t, c.allowed && c.method == "OPTIONS", resp.Header.Get("Access-Control-Allow-Headers") != "")
		}
	}
}
