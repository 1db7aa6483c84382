package main

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/libtorch-go/libtorch/cmd/serve/internal/inference"
)

// What clients see and do to the repository, whichever way they ask: Triton's extensions of the protocol.

// An entry is a model of the repository.
type entry struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
}

// index lists the models, those of the folder that were never loaded too, or only those that are ready.
func (s *service) index(ready bool) ([]entry, error) {
	list := []entry{}
	for _, m := range s.repository.all() {
		e := entry{m.name, m.version, "READY", ""}
		if m.server == nil {
			e.State, e.Reason = "UNAVAILABLE", m.reason
		}
		list = append(list, e)
	}
	places, err := s.repository.index()
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		if !slices.ContainsFunc(list, func(e entry) bool { return e.Name == p.name }) {
			list = append(list, entry{Name: p.name, State: "UNAVAILABLE", Reason: "never loaded"})
		}
	}
	if ready {
		list = slices.DeleteFunc(list, func(e entry) bool { return e.State != "READY" })
	}
	return list, nil
}

// load loads a model, or its newest version, for a client.
func (s *service) load(ctx context.Context, name string, parameters []string) error {
	if !s.control {
		return errControl
	}
	if len(parameters) > 0 { // a configuration, or files
		return badf("models are loaded as they are in the folder, got the parameters %q", parameters)
	}
	if err := s.repository.load(ctx, name); err != nil {
		s.log.Error("model not loaded", "model", name, "error", err)
		return badf("%v", err)
	}
	return nil
}

// handled reads a request for the repository, which may have no body.
func (s *service) handled(w http.ResponseWriter, r *http.Request, q any) error {
	v, err := s.enter()
	if err != nil {
		return err
	}
	defer v.leave()
	body, err := v.readBody(w, r)
	if err != nil || len(body) == 0 {
		return err
	}
	if err := json.Unmarshal(body, q); err != nil {
		return badf("the request is no JSON of the protocol: %v", err)
	}
	return nil
}

func (s *service) handleIndex(w http.ResponseWriter, r *http.Request) error {
	var q struct{ Ready bool }
	if err := s.handled(w, r, &q); err != nil {
		return err
	}
	list, err := s.index(q.Ready)
	if err != nil {
		return err
	}
	return write(w, r, list)
}

func (s *service) handleLoad(w http.ResponseWriter, r *http.Request) error {
	var q struct{ Parameters map[string]any }
	err := s.handled(w, r, &q)
	if err == nil {
		err = s.load(r.Context(), r.PathValue("model"), slices.Sorted(maps.Keys(q.Parameters)))
	}
	if err != nil {
		return err
	}
	return write(w, r, struct{}{})
}

func (s *service) handleUnload(w http.ResponseWriter, r *http.Request) error {
	if !s.control {
		return errControl
	}
	if err := s.repository.unload(r.Context(), r.PathValue("model")); err != nil {
		return err
	}
	return write(w, r, struct{}{})
}

// handleConfig is Triton's extension for the configuration of a model.
func (s *service) handleConfig(w http.ResponseWriter, r *http.Request) error {
	m, err := s.repository.get(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return err
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m.tritonConfig())
	if err != nil {
		return err
	}
	return write(w, r, json.RawMessage(text))
}

// tritonConfig is a model's configuration in Triton's words: that of the folder, with what it leaves out.
func (m *model) tritonConfig() *pb.ModelConfig {
	own := new(pb.ModelConfig)
	if m.config.triton != nil {
		own = proto.CloneOf(m.config.triton)
	}
	o := m.config.options()
	own.Name, own.Platform, own.Backend = m.name, platform, "pytorch"
	latest := &pb.ModelVersionPolicy_Latest{NumVersions: 1}
	own.VersionPolicy = &pb.ModelVersionPolicy{PolicyChoice: &pb.ModelVersionPolicy_Latest_{Latest: latest}}
	own.MaxBatchSize = int32(max(m.config.maxRows, o.MaxBatch))
	if o.MaxBatch > 0 && own.GetDynamicBatching() == nil {
		own.SchedulingChoice = &pb.ModelConfig_DynamicBatching{DynamicBatching: &pb.ModelDynamicBatching{
			MaxQueueDelayMicroseconds: uint64(o.MaxDelay.Microseconds())}}
	}
	sig := m.server.Signature()
	own.Input, own.Output = nil, nil
	for _, t := range sig.Inputs {
		own.Input = append(own.Input, &pb.ModelInput{Name: t.Name, DataType: tritonType(t), Dims: m.dims(t)})
	}
	for _, t := range sig.Outputs {
		own.Output = append(own.Output, &pb.ModelOutput{Name: t.Name, DataType: tritonType(t), Dims: m.dims(t)})
	}
	return own
}

func tritonType(s spec) pb.DataType {
	return pb.DataType(pb.DataType_value["TYPE_"+datatypeOf(s.DType)])
}

// dims are the sizes of a tensor, without that of a batch.
func (m *model) dims(s spec) []int64 {
	if max(m.config.maxRows, m.config.MaxBatch) > 0 && len(s.Shape) > 0 {
		return shape64(s.Shape[1:])
	}
	return shape64(s.Shape)
}
