package datasets

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"time"
)

// An archive is a source: a .tar.gz on a web server.
type archive struct{ remote }

func (a archive) fetch(ctx context.Context, r *release, root, dst string, logf logFunc) error {
	return a.use(ctx, r, root, logf, func(part string) error {
		logf("%s: unpacking", path.Base(a.url))
		return r.unpack(ctx, part, dst)
	})
}

// A folder is a source: a folder on a web server that has each file of a release as .gz.
type folder struct{ remote }

func (g folder) fetch(ctx context.Context, r *release, root, dst string, logf logFunc) error {
	for _, f := range r.files() {
		name := f.name + ".gz"
		err := remote{g.url + name, g.patience}.use(ctx, r, root, logf, func(part string) error {
			packed, err := os.Open(part)
			if err != nil {
				return err
			}
			defer packed.Close()
			if err := r.take(name, packed, dst); err != nil {
				return err
			}
			_, err = f.read(dst)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A remote is a file on a web server.
type remote struct {
	url string
	// patience is how long the server may send nothing; zero means 20 seconds.
	patience time.Duration
}

// use downloads the file and lets do read it. It goes on where an earlier run stopped; if that
// spoils the file, which may have changed since, all of it is fetched once more.
func (a remote) use(ctx context.Context, r *release, root string, logf logFunc, do func(path string) error) error {
	id := fnv.New32a()
	id.Write([]byte(a.url))
	part := filepath.Join(root, fmt.Sprintf("%s%s%08x", r.folder, partMark, id.Sum32()))
	for {
		_, err := os.Stat(part)
		resumed := err == nil
		if err := a.download(ctx, part, r.most(), logf); err != nil {
			return err
		}
		err = do(part)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := errors.Join(err, os.Remove(part)); err == nil || !resumed {
			return err
		}
		logf("%s: %v; fetching all of it again", path.Base(a.url), err)
	}
}

// download writes the whole file into part, beginning where an earlier call stopped.
// A connection that breaks is opened again as long as each one brings something, ten
// times at most.
func (a remote) download(ctx context.Context, part string, most int64, logf logFunc) error {
	var have int64
	if info, err := os.Stat(part); err == nil {
		have = info.Size()
	}
	for attempt := 1; ; attempt++ {
		now, err := a.resume(ctx, part, have, most, logf)
		if err == nil || ctx.Err() != nil || now <= have || attempt == 10 {
			return err
		}
		logf("%s: broken off (%v), going on", path.Base(a.url), err)
		have = now
	}
}

// resume requests the bytes from have on, appends them to part and returns the size of
// part. A server that has more than most bytes has something else.
func (a remote) resume(ctx context.Context, part string, have, most int64, logf logFunc) (int64, error) {
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
	tooMuch := fmt.Errorf("the server sends more than the %d bytes that can be", most)
	if total > most {
		return have, tooMuch
	}
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
		if have+int64(n) > most {
			return 0, errors.Join(tooMuch, os.Remove(part))
		}
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

// open requests the file from offset have on. It returns the total size (-1
// if unknown) and where the body really begins: a server that knows no ranges
// starts again at 0. A nil body means that nothing is missing.
func (a remote) open(ctx context.Context, have int64) (body io.ReadCloser, total, start int64, err error) {
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
		var from int64
		if _, err := fmt.Sscanf(response.Header.Get("Content-Range"), "bytes %d-", &from); err != nil || from != have {
			response.Body.Close()
			return nil, 0, have, fmt.Errorf("the server sends the range %q where bytes from %d on are expected",
				response.Header.Get("Content-Range"), have)
		}
		if total >= 0 {
			total += have
		}
		return response.Body, total, have, nil
	case http.StatusRequestedRangeNotSatisfiable:
		return nil, have, have, response.Body.Close() // what is in it decides whether it is right
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
