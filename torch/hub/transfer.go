package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// transfer brings one file. What has come is in a file beside the target, which a later transfer continues.
type transfer struct {
	address, target string
	o               Options
	part            *os.File
	total           int64  // of the file, -1 where the server does not say
	tag             string // of the version that the part belongs to
}

// fatal is an error that another try does not help against.
type fatal struct{ error }

// Unwrap is the error itself.
func (f fatal) Unwrap() error { return f.error }

// ErrStalled is matched by the error for a server that sends nothing for too long.
var ErrStalled = errors.New("the server sends nothing any more")

func (t *transfer) run(ctx context.Context) (err error) {
	const private = 0o644
	if t.part, err = os.OpenFile(t.target+".partial", os.O_CREATE|os.O_RDWR, private); err != nil {
		return err
	}
	defer t.part.Close()
	if err := syscall.Flock(int(t.part.Fd()), syscall.LOCK_EX); err != nil { // another process may be at it
		return err
	}
	if _, err := os.Stat(t.target); err == nil {
		return nil // it was, and is done
	}
	tries := cmp.Or(t.o.Retries, 3) + 1
	for range tries {
		if err = t.try(ctx); err == nil {
			return t.finish()
		}
		var f fatal
		if errors.As(err, &f) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// try continues the transfer, or begins it.
func (t *transfer) try(ctx context.Context) error {
	have, err := t.part.Seek(0, io.SeekEnd)
	if err != nil {
		return fatal{err}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.address, nil)
	if err != nil {
		return fatal{err}
	}
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		if t.tag != "" {
			request.Header.Set("If-Range", t.tag)
		}
	}
	stall := cmp.Or(t.o.Stall, 30*time.Second)
	watch := time.AfterFunc(stall, func() { cancel(ErrStalled) })
	defer watch.Stop()
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return because(ctx, err)
	}
	defer reply.Body.Close()
	if err := t.begin(reply, have); err != nil {
		return err
	}
	return because(ctx, t.copy(reply.Body, func() { watch.Reset(stall) }))
}

// because is the reason why a context ended, or the error.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// begin looks at what the server is about to send.
func (t *transfer) begin(reply *http.Response, have int64) error {
	switch reply.StatusCode {
	case http.StatusOK:
		have = 0 // it sends all of it, whatever was asked for
		t.total = reply.ContentLength
	case http.StatusPartialContent:
		from, total, err := contentRange(reply.Header.Get("Content-Range"))
		if err != nil || from != have {
			return t.restart(fmt.Errorf("the server sends %q, asked for bytes from %d", reply.Header.Get("Content-Range"), have))
		}
		t.total = total
	case http.StatusRequestedRangeNotSatisfiable:
		return t.restart(errors.New("the server has less than what came before"))
	default:
		err := fmt.Errorf("the server answers %s", reply.Status)
		if reply.StatusCode >= http.StatusInternalServerError || reply.StatusCode == http.StatusTooManyRequests {
			return err
		}
		return fatal{err}
	}
	t.tag = reply.Header.Get("ETag")
	if strings.HasPrefix(t.tag, "W/") {
		t.tag = "" // a weak one says nothing of bytes
	}
	if err := t.part.Truncate(have); err != nil {
		return fatal{err}
	}
	_, err := t.part.Seek(have, io.SeekStart)
	return err
}

// restart throws away what has come, for the next try.
func (t *transfer) restart(why error) error {
	if err := t.part.Truncate(0); err != nil {
		return fatal{err}
	}
	return why
}

// contentRange reads "bytes 5-9/10".
func contentRange(text string) (from, total int64, err error) {
	span, size, ok := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	first, _, okSpan := strings.Cut(span, "-")
	if !ok || !okSpan {
		return 0, 0, fmt.Errorf("no range: %q", text)
	}
	if from, err = strconv.ParseInt(first, 10, 64); err != nil || size == "*" {
		return from, -1, err
	}
	total, err = strconv.ParseInt(size, 10, 64)
	return from, total, err
}

// copy writes what comes, and says so each time.
func (t *transfer) copy(from io.Reader, alive func()) error {
	buffer := make([]byte, 1<<18)
	have, err := t.part.Seek(0, io.SeekCurrent)
	if err != nil {
		return fatal{err}
	}
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			alive()
			if _, err := t.part.Write(buffer[:n]); err != nil {
				return fatal{err}
			}
			if have += int64(n); t.o.Progress != nil {
				t.o.Progress(have, t.total)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			if t.total >= 0 && have != t.total {
				return fmt.Errorf("%d of %d bytes came: %w", have, t.total, io.ErrUnexpectedEOF)
			}
			return nil
		case err != nil:
			return err
		}
	}
}

// finish checks the file and puts it into its place.
func (t *transfer) finish() error {
	if _, err := t.part.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, t.part); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); !strings.HasPrefix(got, t.o.SHA256) {
		return errors.Join(fmt.Errorf("%w: its SHA-256 is %s, expected it to begin with %s; nothing of it is kept", ErrHash, got, t.o.SHA256),
			os.Remove(t.part.Name()))
	}
	if err := t.part.Sync(); err != nil {
		return err
	}
	if err := os.Rename(t.part.Name(), t.target); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(t.target))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
