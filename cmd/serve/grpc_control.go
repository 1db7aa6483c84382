package main

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/libtorch-go/libtorch/cmd/serve/internal/inference"
	"github.com/libtorch-go/libtorch/torch/serve"
)

// extend adds the procedures of Triton's extensions to those of the protocol, whose service they belong to.
func (s rpc) extend(published http.Handler, options ...connect.HandlerOption) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", published)
	procedure(mux, "ModelConfig", s.modelConfig, options)
	procedure(mux, "ModelStatistics", s.modelStatistics, options)
	procedure(mux, "RepositoryIndex", s.repositoryIndex, options)
	procedure(mux, "RepositoryModelLoad", s.repositoryModelLoad, options)
	procedure(mux, "RepositoryModelUnload", s.repositoryModelUnload, options)
	return mux
}

func procedure[Q, A any](mux *http.ServeMux, name string, answer func(context.Context, *Q) (*A, error), options []connect.HandlerOption) {
	path := "/" + pb.GRPCInferenceServiceName + "/" + name
	mux.Handle(path, connect.NewUnaryHandlerSimple(path, func(ctx context.Context, q *Q) (*A, error) {
		a, err := answer(ctx, q)
		if err != nil {
			return nil, coded(err)
		}
		return a, nil
	}, options...))
}

func (s rpc) modelConfig(_ context.Context, q *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	m, err := s.repository.get(q.GetName(), q.GetVersion())
	if err != nil {
		return nil, err
	}
	return &pb.ModelConfigResponse{Config: m.tritonConfig()}, nil
}

func (s rpc) repositoryIndex(_ context.Context, q *pb.RepositoryIndexRequest) (*pb.RepositoryIndexResponse, error) {
	list, err := s.index(q.GetReady())
	if err != nil {
		return nil, err
	}
	answer := &pb.RepositoryIndexResponse{}
	for _, e := range list {
		own := &pb.RepositoryIndexResponse_ModelIndex{Name: e.Name, Version: e.Version, State: e.State, Reason: e.Reason}
		answer.Models = append(answer.Models, own)
	}
	return answer, nil
}

// controlled is the model of a request to load or unload one. Two definitions of these procedures are published: KServe's has the name
// where Triton's has that of a repository, of which there is one here.
func controlled(q interface {
	GetModelName() string
	GetRepositoryName() string
}) string {
	if name := q.GetModelName(); name != "" {
		return name
	}
	return q.GetRepositoryName()
}

// done is the answer that something was done to a model: Triton's has nothing in it, KServe's the name and a flag.
func done(answer proto.Message, name string) {
	raw := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
	raw = protowire.AppendVarint(protowire.AppendTag(raw, 2, protowire.VarintType), 1)
	answer.ProtoReflect().SetUnknown(raw)
}

func (s rpc) repositoryModelLoad(ctx context.Context, q *pb.RepositoryModelLoadRequest) (*pb.RepositoryModelLoadResponse, error) {
	name := controlled(q)
	if err := s.load(ctx, name, slices.Sorted(maps.Keys(q.GetParameters()))); err != nil {
		return nil, err
	}
	answer := &pb.RepositoryModelLoadResponse{}
	done(answer, name)
	return answer, nil
}

func (s rpc) repositoryModelUnload(ctx context.Context, q *pb.RepositoryModelUnloadRequest) (*pb.RepositoryModelUnloadResponse, error) {
	if !s.control {
		return nil, errControl
	}
	name := controlled(q)
	if err := s.repository.unload(ctx, name); err != nil {
		return nil, err
	}
	answer := &pb.RepositoryModelUnloadResponse{}
	done(answer, name)
	return answer, nil
}

func (s rpc) modelStatistics(_ context.Context, q *pb.ModelStatisticsRequest) (*pb.ModelStatisticsResponse, error) {
	models, err := s.asked(q.GetName(), q.GetVersion())
	if err != nil {
		return nil, err
	}
	answer := &pb.ModelStatisticsResponse{}
	for _, m := range models {
		st := m.server.Stats()
		own := &pb.ModelStatistics{Name: m.name, Version: m.version, InferenceCount: uint64(st.Rows), ExecutionCount: uint64(st.Batches),
			InferenceStats: &pb.InferStatistics{Success: durationOf(st.Total), Fail: &pb.StatisticDuration{Count: uint64(st.Failed)},
				Queue: durationOf(st.Queue), ComputeInput: durationOf(st.Gather), ComputeInfer: durationOf(st.Compute),
				ComputeOutput: durationOf(st.Split)}}
		for rows, n := range st.Sizes {
			if n > 0 {
				own.BatchStats = append(own.BatchStats, &pb.InferBatchStatistics{BatchSize: uint64(rows),
					ComputeInfer: &pb.StatisticDuration{Count: uint64(n)}})
			}
		}
		answer.ModelStats = append(answer.ModelStats, own)
	}
	return answer, nil
}

func durationOf(d serve.Durations) *pb.StatisticDuration {
	return &pb.StatisticDuration{Count: uint64(d.Count), Ns: uint64(d.Sum / time.Nanosecond)}
}
