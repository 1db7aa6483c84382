package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/libtorch-go/libtorch/internal/fetch"
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

// download writes the whole file into part, beginning where an earlier call stopped. A connection that breaks is
// opened again as long as each one brings something.
func (a remote) download(ctx context.Context, part string, most int64, logf logFunc) error {
	f, err := os.OpenFile(part, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	name := path.Base(a.url)
	var report *progress
	err = fetch.Transfer{
		URL: a.url, Most: most, Stall: cmp.Or(a.patience, 20*time.Second),
		Begin:    func(have, total int64) { report = newProgress(name, have, total, logf) },
		Progress: func(have, _ int64) { report.at(have) },
		Broken:   func(err error) { logf("%s: broken off (%v), going on", name, err) },
	}.Run(ctx, f)
	if info, failed := f.Stat(); failed == nil && info.Size() == 0 {
		return errors.Join(err, os.Remove(part)) // nothing that a later run could go on with
	}
	return err
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
