package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// unpacked is a request's body as it was before the client packed it; it fails where there is more than one request may have.
func (v *visit) unpacked(w http.ResponseWriter, r *http.Request) (io.Reader, error) {
	s := v.service
	if r.ContentLength > s.limits.body {
		return nil, &http.MaxBytesError{Limit: s.limits.body}
	}
	body := io.Reader(http.MaxBytesReader(w, r.Body, s.limits.body))
	var err error
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		body, err = gzip.NewReader(body)
	case "deflate":
		body, err = zlib.NewReader(body)
	default:
		return nil, badf("the content encoding is %q, expected gzip, deflate or none", r.Header.Get("Content-Encoding"))
	}
	if err != nil {
		return nil, badf("the body is not packed as it says: %v", err)
	}
	return io.LimitReader(v.count(body), s.limits.body+1), nil
}

// brief is how long a body may be that is read at once.
const brief = 16 << 10

// await waits for a turn to read a body. What is read, and what is made of it on the way to a tensor, takes memory; a thousand clients who
// ask at the same time need not have it all at the same time. Who is slow to send has no turn for long.
func (v *visit) await(ctx context.Context) error {
	const slow = 200 * time.Millisecond
	patience := time.NewTimer(v.service.limits.timeout / 2)
	defer patience.Stop()
	select {
	case v.service.turns <- struct{}{}:
		over := sync.OnceFunc(func() { <-v.service.turns })
		v.turn, v.late = over, time.AfterFunc(slow, over)
		return nil
	case <-patience.C:
		return errFull
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// all reads to the end, when it is this visit's turn. What it returns lasts until the visit's end, or until drop.
func (v *visit) all(r *http.Request, body io.Reader) ([]byte, error) {
	if r.ContentLength < 0 || r.ContentLength > brief || r.Header.Get("Content-Encoding") != "" {
		if err := v.await(r.Context()); err != nil {
			return nil, err
		}
		defer v.late.Stop()
	}
	b := v.buffer() // not while it waits
	if more := r.ContentLength - int64(b.Len()); more > 0 {
		b.Grow(int(min(more, soon)) + bytes.MinRead) // so that its end is read without growing
	}
	err := v.fill(b, body)
	return b.Bytes(), err
}

// fill reads to the end.
func (v *visit) fill(b *bytes.Buffer, body io.Reader) error {
	_, err := b.ReadFrom(body)
	if limit := v.service.limits.body; int64(b.Len()) > limit {
		return &http.MaxBytesError{Limit: limit}
	}
	return unread(err)
}

// unread is what a client hears of an error while its body was read.
func unread(err error) error {
	if err == nil {
		return nil
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) || errors.Is(err, errFull) {
		return err
	}
	return badf("the body could not be read: %v", err)
}

// soon is how much is taken of what a client says that it will send, before it does.
const soon = 1 << 20

// readBody reads a request's body, unpacked.
func (v *visit) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := v.unpacked(w, r)
	if err != nil {
		return nil, err
	}
	return v.all(r, body)
}

// receive reads a request for a model: JSON, and tensors behind it.
func (v *visit) receive(w http.ResponseWriter, r *http.Request) (q *inferRequest, inputs []input, err error) {
	m := v.service.repository.find(r.PathValue("model"))
	body, err := v.unpacked(w, r)
	if err != nil {
		return nil, nil, err
	}
	length, left := r.Header.Get(headerLength), int64(0)
	if n, err := strconv.Atoi(length); err == nil && 0 < n && n <= short && r.Header.Get("Content-Encoding") == "" {
		left = r.ContentLength - int64(n)
	}
	if left < 0 || left > soon {
		left = 0
	}
	if left > 0 {
		b := v.buffer()
		if err := v.fill(b, io.LimitReader(body, r.ContentLength-left)); err != nil {
			return nil, nil, err
		}
		if q, err := m.decode(b.Bytes()); err == nil && q.alone(left) {
			own, err := v.direct(q.Inputs[0], body)
			return q, []input{own}, err
		}
	}
	text, err := v.all(r, body)
	if err != nil {
		return nil, nil, err
	}
	return m.parse(text, length)
}

// alone tells whether all that is behind the JSON is one tensor, to be taken as it is.
func (q *inferRequest) alone(bytes int64) bool {
	if len(q.Inputs) != 1 || q.Inputs[0].Parameters["binary_data_size"] != float64(bytes) {
		return false
	}
	dtype, size, err := dtypeOf(q.Inputs[0].Datatype)
	if err != nil || dtype == torch.Bool {
		return false
	}
	n, err := elements(q.Inputs[0].Shape)
	return err == nil && int64(n)*int64(size) == bytes
}

// direct reads the body's rest, which is the elements of an input, to where they stay.
func (v *visit) direct(in inferInput, body io.Reader) (input, error) {
	dtype, _, _ := dtypeOf(in.Datatype)
	x, err := torch.Try1(func() torch.Tensor { return torch.TensorOptions{DType: dtype}.Empty(in.Shape...) })
	if err != nil {
		return input{}, err
	}
	v.tensor = x
	err = unread(bridge.Fill(x, func(memory []byte) error {
		_, err := io.ReadFull(body, memory)
		return err
	}))
	take := func() (x torch.Tensor, err error) {
		x, v.tensor = v.tensor, x
		return x, nil
	}
	return input{name: in.Name, datatype: in.Datatype, shape: in.Shape, make: take, texts: noTexts}, err
}

// parse reads a request that is all there.
func (m *model) parse(body []byte, length string) (q *inferRequest, inputs []input, err error) {
	head, tail, err := headAndTail(body, length)
	if err != nil {
		return nil, nil, err
	}
	if q, err = m.decode(head); err != nil {
		return nil, nil, err
	}
	inputs, err = q.inputs(tail)
	rest := *q
	rest.Inputs = nil // which may be long, and is needed no longer than they are
	return &rest, inputs, err
}

// headAndTail separates JSON from binary tensors.
func headAndTail(body []byte, length string) (head, tail []byte, err error) {
	if length == "" {
		return body, nil, nil
	}
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n > len(body) {
		return nil, nil, badf("%s is %.20q, expected a number up to the body's %d bytes", headerLength, length, len(body))
	}
	return body[:n], body[n:], nil
}
