package main

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"connectrpc.com/connect"

	pb "github.com/libtorch-go/libtorch/cmd/serve/internal/inference"
	"github.com/libtorch-go/libtorch/torch"
)

// rpc answers the protocol in gRPC, on the port of HTTP.
type rpc struct{ *service }

// grpc is the handler of the protocol in gRPC, and its path.
func (s *service) grpc() (string, http.Handler) {
	most := connect.WithReadMaxBytes(int(s.limits.body))
	path, published := pb.NewGRPCInferenceServiceHandler(rpc{s}, most)
	next := rpc{s}.extend(published, most)
	failed := connect.NewErrorWriter()
	return path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := s.enter()
		if err != nil {
			_ = failed.Write(w, r, coded(err)) // whoever asked may have gone
			return
		}
		defer v.leave()
		r.Body = struct {
			io.Reader
			io.Closer
		}{v.count(r.Body), r.Body}
		next.ServeHTTP(w, r)
	})
}

func (rpc) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

func (s rpc) ServerReady(context.Context, *pb.ServerReadyRequest) (*pb.ServerReadyResponse, error) {
	return &pb.ServerReadyResponse{Ready: s.ready() == nil}, nil
}

func (s rpc) ModelReady(_ context.Context, q *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error) {
	m, err := s.repository.get(q.GetName(), q.GetVersion())
	return &pb.ModelReadyResponse{Ready: err == nil && m.server.Ready() == nil}, nil
}

func (rpc) ServerMetadata(context.Context, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse, error) {
	return &pb.ServerMetadataResponse{Name: serverName, Version: version(), Extensions: extensions}, nil
}

func (s rpc) ModelMetadata(_ context.Context, q *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	m, err := s.repository.get(q.GetName(), q.GetVersion())
	if err != nil {
		return nil, coded(err)
	}
	describe := func(specs []spec) (list []*pb.ModelMetadataResponse_TensorMetadata) {
		for _, t := range specs {
			list = append(list, &pb.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: datatypeOf(t.DType), Shape: shape64(t.Shape)})
		}
		return list
	}
	sig := m.server.Signature()
	return &pb.ModelMetadataResponse{Name: m.name, Versions: []string{m.version}, Platform: platform,
		Inputs: describe(sig.Inputs), Outputs: describe(sig.Outputs)}, nil
}

func (s rpc) ModelInfer(ctx context.Context, q *pb.ModelInferRequest) (answer *pb.ModelInferResponse, err error) {
	started := time.Now()
	var t *trace
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		ctx, t = s.tracer.begin(ctx, info.RequestHeader())
	}
	answer, err = s.modelInfer(ctx, q)
	t.end(pb.GRPCInferenceServiceName+"/ModelInfer", err, textOf("rpc.system", "grpc"))
	s.log.Debug("request", "method", "ModelInfer", "model", q.GetModelName(), "took", time.Since(started), "error", err)
	if err != nil {
		if status(err) == http.StatusInternalServerError {
			s.log.Error("request", "method", "ModelInfer", "model", q.GetModelName(), "error", err)
		}
		return nil, coded(err)
	}
	return answer, nil
}

func (s rpc) modelInfer(ctx context.Context, q *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	c := call{model: q.GetModelName(), version: q.GetModelVersion()}
	if err := parametersOf(q.GetParameters()).call(&c); err != nil {
		return nil, err
	}
	inputs, err := rpcInputs(q)
	if err != nil {
		return nil, err
	}
	result, err := s.infer(ctx, c, inputs)
	if err != nil {
		return nil, err
	}
	defer result.close()
	return rpcAnswer(q, result)
}

// rpcInputs reads the inputs, which are all raw or all typed.
func rpcInputs(q *pb.ModelInferRequest) (list []input, err error) {
	raws := q.GetRawInputContents()
	if len(raws) > 0 && len(raws) != len(q.GetInputs()) {
		return nil, badf("%d raw inputs, expected %d", len(raws), len(q.GetInputs()))
	}
	for i, in := range q.GetInputs() {
		own := input{name: in.GetName(), datatype: in.GetDatatype(), shape: shapeOf(in.GetShape())}
		if len(raws) > 0 {
			own.texts = func() ([][]byte, error) { return texts(raws[i]) }
		} else {
			own.texts = func() ([][]byte, error) { return in.GetContents().GetBytesContents(), nil }
		}
		own.make = func() (torch.Tensor, error) {
			raw, err := []byte(nil), error(nil)
			if len(raws) > 0 {
				raw = raws[i]
			} else if raw, err = typed(own.datatype, in.GetContents()); err != nil {
				return torch.Tensor{}, err
			}
			return fromBinary(own.datatype, own.shape, raw)
		}
		list = append(list, own)
	}
	return list, nil
}

// typed makes the bytes of a tensor of the numbers of a message.
func typed(datatype string, c *pb.InferTensorContents) (raw []byte, err error) {
	put := func(size int, bits uint64) { raw = append(raw, binary.LittleEndian.AppendUint64(nil, bits)[:size]...) }
	_, size, err := dtypeOf(datatype)
	if err != nil {
		return nil, err
	}
	fits := true
	signed := func(n int64) {
		unused := 64 - 8*size
		fits = fits && n<<unused>>unused == n
		put(size, uint64(n))
	}
	unsigned := func(n uint64) {
		fits = fits && (size == 8 || n>>(8*size) == 0)
		put(size, n)
	}
	switch datatype {
	case "BOOL":
		for _, v := range c.GetBoolContents() {
			raw = append(raw, map[bool]byte{true: 1}[v])
		}
	case "INT8", "INT16", "INT32":
		for _, v := range c.GetIntContents() {
			signed(int64(v))
		}
	case "INT64":
		for _, v := range c.GetInt64Contents() {
			signed(v)
		}
	case "UINT8", "UINT16", "UINT32":
		for _, v := range c.GetUintContents() {
			unsigned(uint64(v))
		}
	case "UINT64":
		for _, v := range c.GetUint64Contents() {
			unsigned(v)
		}
	case "FP32":
		for _, v := range c.GetFp32Contents() {
			put(size, uint64(math.Float32bits(v)))
		}
	case "FP64":
		for _, v := range c.GetFp64Contents() {
			put(size, math.Float64bits(v))
		}
	default:
		return nil, badf("%s is sent raw", datatype)
	}
	if !fits {
		return nil, badf("a number does not fit %s", datatype)
	}
	return raw, nil
}

// rpcAnswer is the message of a result, with raw outputs.
func rpcAnswer(q *pb.ModelInferRequest, r *result) (*pb.ModelInferResponse, error) {
	answer := &pb.ModelInferResponse{ModelName: r.model.name, ModelVersion: r.model.version, Id: q.GetId()}
	wanted := q.GetOutputs()
	if len(wanted) == 0 {
		for i := range r.outputs {
			wanted = append(wanted, &pb.ModelInferRequest_InferRequestedOutputTensor{Name: r.spec(i).Name})
		}
	}
	for _, o := range wanted {
		i := slices.IndexFunc(r.model.server.Signature().Outputs, func(s spec) bool { return s.Name == o.GetName() })
		if i < 0 || i >= len(r.outputs) {
			return nil, badf("there is no output %q", o.GetName())
		}
		out := &pb.ModelInferResponse_InferOutputTensor{Name: o.GetName(), Datatype: datatypeOf(r.outputs[i].DType()),
			Shape: shape64(r.outputs[i].Shape())}
		classes, err := parametersOf(o.GetParameters()).number("classification")
		if err != nil {
			return nil, err
		}
		raw := r.outputs[i].Bytes()
		if classes > 0 {
			names, shape, err := classify(r.outputs[i], classes, r.model.config.Labels)
			if err != nil {
				return nil, err
			}
			out.Datatype, out.Shape, raw = textType, shape64(shape), nil
			for _, name := range names {
				raw = appendText(raw, name)
			}
		}
		answer.Outputs, answer.RawOutputContents = append(answer.Outputs, out), append(answer.RawOutputContents, raw)
	}
	return answer, nil
}

// parametersOf brings parameters into the form that they have in JSON.
func parametersOf(list map[string]*pb.InferParameter) parameters {
	p := parameters{}
	for name, v := range list {
		switch v := v.GetParameterChoice().(type) {
		case *pb.InferParameter_BoolParam:
			p[name] = v.BoolParam
		case *pb.InferParameter_StringParam:
			p[name] = v.StringParam
		case *pb.InferParameter_Int64Param:
			if p[name] = float64(v.Int64Param); name == "sequence_id" { // not rounded
				p[name] = strconv.FormatInt(v.Int64Param, 10)
			}
		case *pb.InferParameter_Uint64Param:
			if p[name] = float64(v.Uint64Param); name == "sequence_id" {
				p[name] = strconv.FormatUint(v.Uint64Param, 10)
			}
		case *pb.InferParameter_DoubleParam:
			p[name] = v.DoubleParam
		}
	}
	if p["sequence_id"] == "0" {
		delete(p, "sequence_id") // belongs to none
	}
	return p
}

func shape64(shape []int) []int64 {
	out := make([]int64, len(shape))
	for i, n := range shape {
		out[i] = int64(n)
	}
	return out
}

// coded gives an error gRPC's code.
func coded(err error) error {
	code, text := connect.CodeInternal, err
	switch status(err) {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		code = connect.CodeInvalidArgument
	case http.StatusForbidden:
		code = connect.CodePermissionDenied
	case http.StatusNotFound:
		code = connect.CodeNotFound
	case http.StatusTooManyRequests, http.StatusInsufficientStorage:
		code = connect.CodeResourceExhausted
	case http.StatusServiceUnavailable:
		code = connect.CodeUnavailable
	case http.StatusGatewayTimeout:
		code = connect.CodeDeadlineExceeded
	case http.StatusInternalServerError:
		text = errModel
	default:
		code = connect.CodeCanceled
	}
	return connect.NewError(code, text)
}
