package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// ErrStalled is matched by the error for a server that sends nothing for too long.
var ErrStalled = errors.New("the server sends nothing any more")

// errStale is the error for a part that cannot be of this file.
var errStale = errors.New("the server has less than what came before")

// Transfer says what is fetched and how.
type Transfer struct {
	URL      string
	Most     int64                   // bytes that the file can have; a server that sends more has something else; default: any
	Retries  int                     // how often in a row a try may bring nothing new before it is given up; default: never again
	Stall    time.Duration           // how long the server may send nothing; default 30 s
	Begin    func(done, total int64) // is told how many bytes there are when a connection begins; total is -1 where nobody knows
	Progress func(done, total int64) // is told after each piece
	Broken   func(err error)         // is told why another try begins
}

// state is where a transfer stands.
type state struct {
	Transfer
	client *http.Client
	part   *os.File
	total  int64  // of the file, -1 where the server does not say
	tag    string // of the version that the part belongs to
	fresh  bool   // begin anew: what has come is of no use
}

// fatal is an error that another try does not help against.
type fatal struct{ error }

// Unwrap is the error itself.
func (f fatal) Unwrap() error { return f.error }

// Run appends to a part what it lacks, until the file is whole. What has come stays in it, for a later Run, unless
// the server begins anew.
func (t Transfer) Run(ctx context.Context, part *os.File) error {
	s := &state{Transfer: t, client: newClient(), part: part}
	most, err := part.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	for left, stale := t.Retries, false; ; {
		have, err := s.try(ctx)
		var f fatal
		if err == nil || errors.As(err, &f) || ctx.Err() != nil {
			return err
		}
		switch {
		case have > most:
			most, left = have, t.Retries
		case errors.Is(err, errStale) && !stale:
			stale = true // no fault of the server's
		case left == 0:
			return err
		default:
			left--
		}
		if t.Broken != nil {
			t.Broken(err)
		}
	}
}

// newClient gives up early on a machine without a network instead of hanging.
func newClient() *http.Client {
	const patience = 5 * time.Second
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: patience}).DialContext,
		TLSHandshakeTimeout: patience,
		DisableKeepAlives:   true,
	}}
}

// try continues the transfer, or begins it, and returns how much there is.
func (s *state) try(ctx context.Context) (have int64, err error) {
	if !s.fresh {
		if have, err = s.part.Seek(0, io.SeekEnd); err != nil {
			return 0, fatal{err}
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		return have, fatal{err}
	}
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		if s.tag != "" {
			request.Header.Set("If-Range", s.tag)
		}
	}
	stall := cmp.Or(s.Stall, 30*time.Second)
	watch := time.AfterFunc(stall, func() { cancel(fmt.Errorf("%w: it sent nothing for %v", ErrStalled, stall)) })
	defer watch.Stop()
	reply, err := s.client.Do(request)
	if err != nil {
		return have, because(ctx, err)
	}
	defer reply.Body.Close()
	have, whole, err := s.begin(reply, have)
	if err != nil || whole {
		return have, err
	}
	have, err = s.copy(reply.Body, have, func() { watch.Reset(stall) })
	return have, because(ctx, err)
}

// because is the reason why a context ended, or the error without the address, which the caller names.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// begin looks at what the server is about to send, and makes the part as long as what comes before it.
func (s *state) begin(reply *http.Response, have int64) (from int64, whole bool, err error) {
	span := reply.Header.Get("Content-Range")
	switch reply.StatusCode {
	case http.StatusOK: // it sends all of it, whatever was asked for
		s.total = reply.ContentLength
	case http.StatusPartialContent:
		if from, s.total, err = contentRange(span); err != nil || from != have {
			s.fresh = true
			return have, false, fmt.Errorf("the server sends the range %q where bytes from %d on are expected", span, have)
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if span == fmt.Sprintf("bytes */%d", have) {
			return have, true, nil // nothing is missing
		}
		s.fresh = true
		return have, false, fmt.Errorf("%w: %d bytes", errStale, have)
	default:
		err := fmt.Errorf("the server answers %s", reply.Status)
		if reply.StatusCode >= http.StatusInternalServerError || reply.StatusCode == http.StatusTooManyRequests {
			return have, false, err
		}
		return have, false, fatal{err}
	}
	if s.Most > 0 && s.total > s.Most {
		return have, false, s.tooMuch()
	}
	s.fresh = false
	s.tag = reply.Header.Get("ETag")
	if strings.HasPrefix(s.tag, "W/") {
		s.tag = "" // a weak one says nothing of bytes
	}
	if s.Begin != nil {
		s.Begin(from, s.total)
	}
	if err := s.part.Truncate(from); err != nil {
		return from, false, fatal{err}
	}
	if _, err = s.part.Seek(from, io.SeekStart); err != nil {
		return from, false, fatal{err}
	}
	return from, false, nil
}

// tooMuch is the error for a server that has something else, of which nothing is kept.
func (s *state) tooMuch() error {
	return fatal{errors.Join(fmt.Errorf("the server sends more than the %d bytes that can be", s.Most), s.part.Truncate(0))}
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
func (s *state) copy(from io.Reader, have int64, alive func()) (int64, error) {
	buffer := make([]byte, 1<<18)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			alive()
			if s.Most > 0 && have+int64(n) > s.Most {
				return 0, s.tooMuch()
			}
			if _, err := s.part.Write(buffer[:n]); err != nil {
				return have, fatal{err}
			}
			if have += int64(n); s.Progress != nil {
				s.Progress(have, s.total)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			if s.total >= 0 && have != s.total {
				return have, fmt.Errorf("%d of %d bytes came: %w", have, s.total, io.ErrUnexpectedEOF)
			}
			return have, nil
		case err != nil:
			return have, err
		}
	}
}
