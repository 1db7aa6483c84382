package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/torch"
)

// headerLength is the header that tells where a request's or an answer's JSON ends and its binary tensors begin.
const headerLength = "Inference-Header-Content-Length"

// The protocol's request in JSON.
type (
	inferRequest struct {
		ID         string        `json:"id"`
		Parameters parameters    `json:"parameters"`
		Inputs     []inferInput  `json:"inputs"`
		Outputs    []inferOutput `json:"outputs"`
	}
	inferInput struct {
		Name       string          `json:"name"`
		Shape      []int           `json:"shape"`
		Datatype   string          `json:"datatype"`
		Parameters parameters      `json:"parameters"`
		Data       json.RawMessage `json:"data"`
	}
	inferOutput struct {
		Name       string     `json:"name"`
		Parameters parameters `json:"parameters"`
	}
	parameters map[string]any
)

// The protocol's answer in JSON.
type (
	inferResponse struct {
		ModelName    string         `json:"model_name"`
		ModelVersion string         `json:"model_version"`
		ID           string         `json:"id,omitempty"`
		Outputs      []outputTensor `json:"outputs"`
	}
	outputTensor struct {
		Name       string          `json:"name"`
		Datatype   string          `json:"datatype"`
		Shape      []int           `json:"shape"`
		Parameters *binarySize     `json:"parameters,omitempty"`
		Data       json.RawMessage `json:"data,omitempty"`
	}
	binarySize struct {
		Bytes int `json:"binary_data_size"`
	}
)

// number is a parameter that counts something.
func (p parameters) number(name string) (int, error) {
	switch v := p[name].(type) {
	case nil:
		return 0, nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v), nil
		}
	}
	return 0, badf("the parameter %s is %v, expected a whole number", name, p[name])
}

// flag is a parameter that is true or false.
func (p parameters) flag(name string, otherwise bool) bool {
	if v, ok := p[name].(bool); ok {
		return v
	}
	return otherwise
}

// call reads what parameters say of a request. Sequences and the rest are named as Triton names them.
func (p parameters) call(c *call) error {
	priority, err := p.number("priority")
	if err != nil {
		return err
	}
	micros, err := p.number("timeout")
	if err != nil {
		return err
	}
	c.request.Priority = -priority // in the protocol 1 is the highest
	c.timeout = time.Duration(micros) * time.Microsecond
	switch id := p["sequence_id"].(type) {
	case string:
		c.request.Sequence = id
	case float64:
		if id != 0 {
			c.request.Sequence = strconv.FormatFloat(id, 'f', -1, 64)
		}
	}
	c.request.Start, c.request.End = p.flag("sequence_start", false), p.flag("sequence_end", false)
	return nil
}

// handleInfer is POST …/infer.
func (s *service) handleInfer(w http.ResponseWriter, r *http.Request) error {
	v, err := s.enter()
	if err != nil {
		return err
	}
	defer v.leave()
	q, inputs, err := v.receive(w, r)
	if err != nil {
		return err
	}
	c := call{model: r.PathValue("model"), version: r.PathValue("version"), arranged: v.drop}
	if err := q.Parameters.call(&c); err != nil {
		return err
	}
	result, err := s.infer(r.Context(), c, inputs)
	if err != nil {
		return err
	}
	defer result.close()
	answer, tensors, err := q.answer(result)
	if err != nil {
		return err
	}
	text, err := result.model.encode(answer)
	if err != nil {
		return err
	}
	writeParts(w, r, text, tensors)
	return nil
}

// said is a request in JSON, and what was read there; told an answer, and what was written.
type (
	said struct {
		text    string
		request *inferRequest
	}
	told struct {
		answer *inferResponse
		text   []byte
	}
)

// short is how long JSON may be that is kept for the next request.
const short = 4096

// decode reads a request in JSON, which nobody changes. Clients say the same again and again, with other tensors behind it: what came last
// for a model is not read another time.
func (m *model) decode(head []byte) (*inferRequest, error) {
	if m != nil {
		if last := m.said.Load(); last != nil && last.text == string(head) {
			return last.request, nil
		}
	}
	q := new(inferRequest)
	if err := json.Unmarshal(head, q); err != nil {
		return nil, badf("the request is no JSON of the protocol: %v", err)
	}
	if m != nil && len(head) <= short {
		m.said.Store(&said{string(head), q})
	}
	return q, nil
}

// encode writes an answer in JSON. With its tensors behind it, it is mostly the one before.
func (m *model) encode(a *inferResponse) ([]byte, error) {
	if last := m.told.Load(); last != nil && last.answer.equal(a) {
		return last.text, nil
	}
	text, err := json.Marshal(a)
	if err == nil && len(text) <= short {
		m.told.Store(&told{a, text})
	}
	return text, err
}

func (a *inferResponse) equal(b *inferResponse) bool {
	return a.ModelName == b.ModelName && a.ModelVersion == b.ModelVersion && a.ID == b.ID &&
		slices.EqualFunc(a.Outputs, b.Outputs, outputTensor.equal)
}

func (t outputTensor) equal(o outputTensor) bool {
	return t.Name == o.Name && t.Datatype == o.Datatype && slices.Equal(t.Shape, o.Shape) && bytes.Equal(t.Data, o.Data) &&
		(t.Parameters == o.Parameters || t.Parameters != nil && o.Parameters != nil && *t.Parameters == *o.Parameters)
}

// inputs reads the inputs, those in JSON and those behind it.
func (q *inferRequest) inputs(tail []byte) (list []input, err error) {
	for _, in := range q.Inputs {
		own := input{name: in.Name, datatype: in.Datatype, shape: in.Shape}
		size, binary := in.Parameters["binary_data_size"]
		if binary {
			n, ok := size.(float64)
			if !ok || n < 0 || n > float64(len(tail)) {
				return nil, badf("binary_data_size of %q is %v, and %d bytes are left", in.Name, size, len(tail))
			}
			raw := tail[:int(n)]
			tail = tail[int(n):]
			own.make = func() (torch.Tensor, error) { return fromBinary(in.Datatype, in.Shape, raw) }
			own.texts = func() ([][]byte, error) { return texts(raw) }
		} else {
			own.make = func() (torch.Tensor, error) { return fromJSON(in.Datatype, in.Shape, in.Data) }
			own.texts = noTexts
		}
		list = append(list, own)
	}
	if len(tail) > 0 {
		return nil, badf("%d bytes belong to no input", len(tail))
	}
	return list, nil
}

func noTexts() ([][]byte, error) { return nil, badf("BYTES are sent as binary data") }

// answer is the JSON of a result, and the binary tensors behind it.
func (q *inferRequest) answer(r *result) (answer *inferResponse, tensors []byte, err error) {
	answer = &inferResponse{ModelName: r.model.name, ModelVersion: r.model.version, ID: q.ID, Outputs: []outputTensor{}}
	specs, wanted := r.model.server.Signature().Outputs, q.Outputs
	if len(wanted) == 0 {
		for i := range r.outputs {
			wanted = append(wanted, inferOutput{Name: specs[i].Name})
		}
	}
	for _, o := range wanted {
		i := slices.IndexFunc(specs, func(s spec) bool { return s.Name == o.Name })
		if i < 0 || i >= len(r.outputs) {
			return nil, nil, badf("there is no output %q", o.Name)
		}
		before := len(tensors)
		dtype := r.outputs[i].DType()
		out := outputTensor{Name: o.Name, Shape: r.outputs[i].Shape(), Datatype: datatypeOf(dtype)}
		binary := o.Parameters.flag("binary_data", q.Parameters.flag("binary_data_output", false))
		classes, bad := o.Parameters.number("classification")
		switch {
		case bad != nil:
			err = bad
		case classes > 0:
			var names []string
			if names, out.Shape, err = classify(r.outputs[i], classes, r.model.config.Labels); err != nil {
				break
			}
			out.Datatype = textType
			if binary {
				for _, name := range names {
					tensors = appendText(tensors, name)
				}
			} else {
				out.Data, err = json.Marshal(names)
			}
		case binary:
			tensors = appendBinary(tensors, r.outputs[i], out.Shape, dtype.Size())
		default:
			out.Data, err = toJSON(nil, r.outputs[i])
		}
		if err != nil {
			return nil, nil, fmt.Errorf("output %q: %w", o.Name, err)
		}
		if binary {
			out.Parameters = &binarySize{len(tensors) - before}
		}
		answer.Outputs = append(answer.Outputs, out)
	}
	return answer, tensors, nil
}

// write sends an answer.
func write(w http.ResponseWriter, r *http.Request, answer any) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	writeParts(w, r, text, nil)
	return nil
}

// writeParts sends JSON and the tensors behind it, packed if the client wants that and there is enough of it.
func writeParts(w http.ResponseWriter, r *http.Request, head, tensors []byte) {
	w.Header().Set("Content-Type", "application/json")
	if len(tensors) > 0 {
		w.Header().Set(headerLength, strconv.Itoa(len(head)))
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	const worthPacking = 2048
	packed := io.Writer(w)
	var flush func() error
	if accepts := r.Header.Get("Accept-Encoding"); len(head)+len(tensors) >= worthPacking {
		switch {
		case strings.Contains(accepts, "gzip"):
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level exists
			packed, flush = z, z.Close
			w.Header().Set("Content-Encoding", "gzip")
		case strings.Contains(accepts, "deflate"):
			z, _ := zlib.NewWriterLevel(w, zlib.BestSpeed)
			packed, flush = z, z.Close
			w.Header().Set("Content-Encoding", "deflate")
		}
	}
	w.Header().Add("Vary", "Accept-Encoding")
	if flush == nil {
		w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(tensors)))
	}
	_, err := packed.Write(head)
	if err == nil {
		_, err = packed.Write(tensors)
	}
	if err == nil && flush != nil {
		err = flush()
	}
	_ = err // whoever asked may have gone, and the status is sent
}
