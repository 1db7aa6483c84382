package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/libtorch-go/libtorch/cmd/serve/internal/inference"
	"github.com/libtorch-go/libtorch/torch/serve"
)

// What becomes of a field of Triton's config.pbtxt: it is read, it is looked into, or it only tunes what is the same without it. All
// other fields change what clients get, and are refused.
type use int

const (
	read use = 1 + iota
	inside
	tunes
)

var tritonFields = map[string]use{
	"name": read, "platform": read, "backend": read, "max_batch_size": read,
	"version_policy": inside, "version_policy.latest": inside, "version_policy.latest.num_versions": read,
	"version_policy.specific": inside, "version_policy.specific.versions": read,
	"input": inside, "input.name": read, "input.data_type": read, "input.dims": read, "input.format": tunes,
	"output": inside, "output.name": read, "output.data_type": read, "output.dims": read, "output.label_filename": read,
	"dynamic_batching": inside, "dynamic_batching.preferred_batch_size": read, "dynamic_batching.max_queue_delay_microseconds": read,
	"dynamic_batching.preserve_ordering": tunes, "dynamic_batching.default_queue_policy": inside,
	"dynamic_batching.default_queue_policy.max_queue_size": read,
	"instance_group": inside, "instance_group.count": read, "instance_group.name": tunes, "instance_group.kind": tunes,
	"instance_group.gpus": tunes, "instance_group.rate_limiter": tunes, "instance_group.host_policy": tunes,
	"optimization": tunes, "model_warmup": tunes, "parameters": tunes, "metric_tags": tunes, "model_metrics": tunes, "response_cache": tunes,
	"runtime": tunes, "cc_model_filenames": tunes,
}

// sortFields sorts the fields of a message that are set into those that tune and those that are refused, by their paths.
func sortFields(m protoreflect.Message, prefix string, found map[use]map[string]bool) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		path := prefix + string(f.Name())
		switch kind := tritonFields[path]; {
		case kind != inside:
			found[kind][path] = true
		case f.IsList():
			for i := range v.List().Len() {
				sortFields(v.List().Get(i).Message(), path+".", found)
			}
		default:
			sortFields(v.Message(), path+".", found)
		}
		return true
	})
}

// readTriton reads a config.pbtxt of Triton's, where there is one.
func readTriton(path, name string, c *config) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	own := new(pb.ModelConfig)
	if err == nil {
		err = prototext.Unmarshal(text, own)
	}
	if err == nil {
		err = c.fromTriton(own, name, filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// fromTriton takes over what Triton's configuration says.
func (c *config) fromTriton(own *pb.ModelConfig, name, dir string) (err error) {
	found := map[use]map[string]bool{0: {}, read: {}, tunes: {}}
	sortFields(own.ProtoReflect(), "", found)
	if refused := slices.Sorted(maps.Keys(found[0])); len(refused) > 0 {
		return fmt.Errorf("%s: this server has nothing that does the same; take it out", strings.Join(refused, ", "))
	}
	c.ignored = slices.Sorted(maps.Keys(found[tunes]))
	if own.GetName() != "" && own.GetName() != name {
		return fmt.Errorf("the name is %q, expected that of the folder, %q", own.GetName(), name)
	}
	if b, p := own.GetBackend(), own.GetPlatform(); b != "" && b != "pytorch" || p != "" && p != platform {
		return fmt.Errorf("the backend is %q and the platform %q, expected \"pytorch\" and %q, or none", b, p, platform)
	}
	if c.version, err = tritonVersion(own.GetVersionPolicy()); err != nil {
		return err
	}
	if err := c.tritonBatches(own); err != nil {
		return err
	}
	for _, g := range own.GetInstanceGroup() {
		if g.GetCount() < 0 {
			return fmt.Errorf("instance_group.count is %d, expected 1 or more", g.GetCount())
		}
		c.Lanes += max(1, int(g.GetCount()))
	}
	for _, o := range own.GetOutput() {
		if o.GetLabelFilename() == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.Base(o.GetLabelFilename())))
		if err != nil {
			return err
		}
		c.Labels = strings.Split(strings.TrimRight(string(text), "\r\n"), "\n")
		for i, label := range c.Labels {
			c.Labels[i] = strings.TrimRight(label, "\r")
		}
	}
	c.triton = own
	return nil
}

// tritonBatches takes over how requests share batches: as they may not without dynamic_batching.
func (c *config) tritonBatches(own *pb.ModelConfig) error {
	most, d := int(own.GetMaxBatchSize()), own.GetDynamicBatching()
	if most < 0 || d != nil && most < 1 {
		return fmt.Errorf("max_batch_size is %d, expected 0 or more, and for dynamic_batching at least 1", most)
	}
	c.maxRows = most
	if d == nil {
		return nil
	}
	c.MaxBatch = most
	c.MaxDelay = duration(time.Duration(min(d.GetMaxQueueDelayMicroseconds(), 1e9)) * time.Microsecond)
	c.Queue = int(d.GetDefaultQueuePolicy().GetMaxQueueSize())
	for _, n := range d.GetPreferredBatchSize() {
		c.Preferred = append(c.Preferred, int(n))
	}
	return nil
}

// tritonVersion is the version that a policy wants; 0 is the newest.
func tritonVersion(p *pb.ModelVersionPolicy) (int, error) {
	if list := p.GetSpecific().GetVersions(); len(list) == 1 && list[0] > 0 {
		return int(list[0]), nil
	}
	if p.GetSpecific() != nil || p.GetLatest().GetNumVersions() > 1 {
		return 0, errors.New("version_policy: one version is served at a time; expected latest with num_versions: 1, or a specific one")
	}
	return 0, nil
}

// tritonTensor is an input or an output as Triton's configuration has it.
type tritonTensor interface {
	GetName() string
	GetDataType() pb.DataType
	GetDims() []int64
}

// renamed is a model by the names and the shapes that Triton's configuration has.
type renamed struct {
	serve.Model
	signature serve.Signature
}

// Signature is what the configuration says.
func (r renamed) Signature() serve.Signature { return r.signature }

// fit gives a model the names and shapes that its configuration says, or tells why they are not this model's.
func (c *config) fit(m serve.Model) (serve.Model, error) {
	sig := m.Signature()
	var err error
	if in := c.triton.GetInput(); len(in) > 0 {
		if len(in) != len(sig.Inputs) {
			return nil, fmt.Errorf("config.pbtxt has %d inputs, the model has %d: %v", len(in), len(sig.Inputs), sig.Inputs)
		}
		sig.Inputs, err = fitSpecs(c, "input", in, sig.Inputs)
	}
	if err == nil {
		sig.Outputs, err = fitSpecs(c, "output", c.triton.GetOutput(), sig.Outputs)
	}
	return renamed{m, sig}, err
}

var byPlace = regexp.MustCompile(`__(\d+)$`)

// fitSpecs compares inputs or outputs of the configuration with the model's. They are the same by their names, or, as Triton has it for
// PyTorch's models, by the number behind two underscores.
func fitSpecs[T tritonTensor](c *config, what string, list []T, specs []spec) ([]spec, error) {
	fitted := slices.Clone(specs)
	for _, t := range list {
		i := slices.IndexFunc(specs, func(s spec) bool { return s.Name == t.GetName() })
		if number := byPlace.FindStringSubmatch(t.GetName()); i < 0 && number != nil {
			if i, _ = strconv.Atoi(number[1]); i >= len(specs) { // digits; too many of them are a large number
				i = -1
			}
		}
		if i < 0 {
			return nil, fmt.Errorf("config.pbtxt has an %s %q, the model has %v", what, t.GetName(), specs)
		}
		var shape []int
		if c.maxRows > 0 {
			shape = append(shape, -1)
		}
		for _, n := range t.GetDims() {
			shape = append(shape, int(n))
		}
		fits := t.GetDataType().String() == "TYPE_"+datatypeOf(specs[i].DType) && len(shape) == len(specs[i].Shape)
		for d := 0; fits && d < len(shape); d++ {
			fits = specs[i].Shape[d] == -1 && shape[d] != 0 && shape[d] >= -1 || specs[i].Shape[d] == shape[d]
		}
		if !fits {
			return nil, fmt.Errorf("config.pbtxt says that the %s %q is %v%v (with max_batch_size, a first size of -1), the model has %v", what,
				t.GetName(), t.GetDataType(), shape, specs[i])
		}
		fitted[i] = spec{Name: t.GetName(), DType: specs[i].DType, Shape: shape}
	}
	return fitted, nil
}
