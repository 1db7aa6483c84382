package datasets

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"time"
)

// An archive is a source: a .tar.gz of the official files on a web server.
type archive struct {
	url string
	md5 string
	// patience is how long the server may send nothing; zero means 20 seconds.
	patience time.Duration
}

func (a archive) title() string { return a.url }

func (a archive) fetch(ctx context.Context, r *release, root, dst string, logf logFunc) error {
	name := path.Base(a.url)
	part := filepath.Join(root, name+".part")
	if err := a.download(ctx, part, logf); err != nil {
		return err
	}
	if err := checkSum(part, md5.New(), a.md5); err != nil {
		// A broken part would spoil every later try as well.
		return errors.Join(err, os.Remove(part))
	}
	logf("%s: unpacking", name)
	if err := unpack(ctx, part, dst, func(string) bool { return true }); err != nil {
		return err
	}
	return os.Remove(part)
}

// download writes the whole archive into part, beginning where an earlier call stopped.
// A connection that breaks is opened again as long as each one brings something, ten
// times at most.
func (a archive) download(ctx context.Context, part string, logf logFunc) error {
	var have int64
	if info, err := os.Stat(part); err == nil {
		have = info.Size()
	}
	for attempt := 1; ; attempt++ {
		now, err := a.resume(ctx, part, have, logf)
		if err == nil || ctx.Err() != nil || now <= have || attempt == 10 {
			return err
		}
		logf("%s: broken off (%v), going on", path.Base(a.url), err)
		have = now
	}
}

// resume requests the bytes from have on, appends them to part and returns the size of
// part.
func (a archive) resume(ctx context.Context, part string, have int64, logf logFunc) (int64, error) {
	patience := a.patience
	if patience == 0 {
		patience = 20 * time.Second
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(patience, func() {
		cancel(fmt.Errorf("the server sent nothing for %v", patience))
	})
	defer watch.Stop()

	body, total, have, err := a.open(ctx, have)
	if err != nil || body == nil {
		return have, err
	}
	defer body.Close()
	f, err := openAt(part, have)
	if err != nil {
		return have, err
	}
	defer f.Close()
	report := newProgress(path.Base(a.url), have, total, logf)
	buf := make([]byte, 256<<10)
	for {
		n, err := body.Read(buf)
		watch.Reset(patience)
		if _, err := f.Write(buf[:n]); err != nil {
			return have, err
		}
		have += int64(n)
		report.at(have)
		switch {
		case err == io.EOF:
			return have, nil
		case ctx.Err() != nil:
			return have, context.Cause(ctx)
		case err != nil:
			return have, err
		}
	}
}

// openAt opens a file to write from offset on, of which it keeps what is before.
func openAt(path string, offset int64) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	_, seekErr := f.Seek(offset, io.SeekStart)
	if err := errors.Join(f.Truncate(offset), seekErr); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// open requests the archive from offset have on. It returns the total size (-1
// if unknown) and where the body really begins: a server that knows no ranges
// starts again at 0. A nil body means that nothing is missing.
func (a archive) open(ctx context.Context, have int64) (body io.ReadCloser, total, start int64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url, nil)
	if err != nil {
		return nil, 0, have, err
	}
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	response, err := httpClient().Do(request)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the address, which the caller names
		}
		return nil, 0, have, err
	}
	total = response.ContentLength
	switch response.StatusCode {
	case http.StatusOK:
		return response.Body, total, 0, nil
	case http.StatusPartialContent:
		if total >= 0 {
			total += have
		}
		return response.Body, total, have, nil
	case http.StatusRequestedRangeNotSatisfiable:
		return nil, have, have, response.Body.Close() // the checksum decides whether it is right
	}
	response.Body.Close()
	return nil, 0, have, fmt.Errorf("the server answers %s", response.Status)
}

// httpClient gives up early on a machine without a network instead of hanging.
func httpClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: 15 * time.Second,
		DisableKeepAlives:     true,
	}}
}

// progress tells a logFunc, every tenth of the way, how far a download is.
type progress struct {
	name        string
	total, next int64
	start       time.Time
	first       int64
	logf        logFunc
}

func newProgress(name string, have, total int64, logf logFunc) *progress {
	const mb = 1e6
	switch {
	case total < 0:
		logf("%s: downloading", name)
	case have > 0:
		logf("%s: downloading %.1f MB, going on at %.1f MB", name, float64(total)/mb, float64(have)/mb)
	default:
		logf("%s: downloading %.1f MB", name, float64(total)/mb)
	}
	return &progress{name: name, total: total, next: have + total/10, start: time.Now(), first: have, logf: logf}
}

func (p *progress) at(have int64) {
	if p.total <= 0 || have < p.next {
		return
	}
	p.next = have + p.total/10
	rate := float64(have-p.first) / 1e6 / time.Since(p.start).Seconds()
	p.logf("%s: %3d %%, %.1f MB/s", p.name, 100*have/p.total, rate)
}
