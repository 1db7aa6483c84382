package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// What the test is told by: the photograph to upload, and where pictures of the page go.
const (
	photoVariable    = "PAGE_PHOTO"
	picturesVariable = "PAGE_PICTURES"
)

// serve starts the server with the network that comes with it and tells where it is.
func serve(t *testing.T) (url string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "serve")
	build := exec.Command("go", "build", "-o", program, "./cmd/serve")
	build.Dir = filepath.Join("..", "..", "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(program, "-addr", "localhost:0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait())
	})
	address := regexp.MustCompile(`msg=serving address=(\S+)`)
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if found := address.FindStringSubmatch(lines.Text()); found != nil {
			go func() {
				for lines.Scan() {
				}
			}()
			return "http://" + found[1]
		}
	}
	require.Fail(t, "the server has ended before it served")
	return ""
}

// class is a row of the server's answer.
type class struct {
	Label       string
	Probability float64
}

// classes are the server's answer to who asks without a page.
func classes(t *testing.T, url string, photo []byte) []class {
	t.Helper()
	r, err := http.Post(url+"/v2/models/cifar10/classify", "image/jpeg", bytes.NewReader(photo))
	require.NoError(t, err)
	defer r.Body.Close()
	var answer struct{ Classes []class }
	require.NoError(t, json.NewDecoder(r.Body).Decode(&answer))
	require.Len(t, answer.Classes, 5)
	return answer.Classes
}

// chromium is a browser without a window, and the addresses that its pages ask for.
func chromium(t *testing.T) (ctx context.Context, asked func() []string) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	var mu sync.Mutex
	var urls []string
	chromedp.ListenTarget(ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok {
			mu.Lock()
			defer mu.Unlock()
			urls = append(urls, e.Request.URL)
		}
	})
	require.NoError(t, chromedp.Run(ctx, network.Enable()))
	return ctx, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return urls
	}
}

// The page opens, takes a photograph, shows its classes as the server tells them and answers JSON, on a desk and on a
// telephone 400 pixels wide; nothing comes from anywhere else.
func TestPage(t *testing.T) {
	photo, err := filepath.Abs(os.Getenv(photoVariable))
	require.NoError(t, err)
	data, err := os.ReadFile(photo)
	require.NoError(t, err, "%s names the photograph to upload", photoVariable)
	url := serve(t)
	want := classes(t, url, data)
	ctx, asked := chromium(t)
	for name, width := range map[string]int64{"desk": 1280, "telephone": 400} {
		var rows []string
		var answer, load string
		var wide int64
		var picture []byte
		require.NoError(t, chromedp.Run(ctx,
			emulation.SetDeviceMetricsOverride(width, 800, 1, width < 500),
			chromedp.Navigate(url),
			chromedp.Poll(`document.querySelectorAll("section h2").length == 1`, nil),
			chromedp.SetUploadFiles("input[type=file]", []string{photo}),
			chromedp.Poll(`document.querySelectorAll(".bar").length == 5`, nil),
			chromedp.Evaluate(`[...document.querySelectorAll(".bar")].map(b => b.innerText.replace(/\s+/g, " "))`, &rows),
			chromedp.Click("summary"),
			chromedp.Poll(`document.querySelector("textarea").value != ""`, nil),
			chromedp.Click("details button"),
			chromedp.Poll(`document.querySelector("pre").textContent.length > 0`, nil),
			chromedp.Text("pre", &answer),
			chromedp.Poll(`document.querySelector(".load").textContent.includes("in all")`, nil),
			chromedp.Text(".load", &load),
			chromedp.Evaluate("document.documentElement.scrollWidth", &wide),
			chromedp.FullScreenshot(&picture, 100),
		), name)
		require.Len(t, rows, 5, name)
		for i, row := range rows {
			require.Contains(t, row, want[i].Label, name)
		}
		require.Contains(t, answer, `"scores"`, name)
		require.Regexp(t, `requests a second, \d+ in all; half within .* ms`, load, name)
		require.LessOrEqual(t, wide, width, "%s: the page is wider than the window", name)
		t.Logf("%s: %v; %s", name, rows, load)
		if dir := os.Getenv(picturesVariable); dir != "" {
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644))
		}
	}
	require.NotEmpty(t, asked())
	for _, address := range asked() {
		require.True(t, strings.HasPrefix(address, url) || strings.HasPrefix(address, "blob:"+url), "the page asks for %s", address)
	}
}
