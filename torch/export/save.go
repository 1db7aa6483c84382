package export

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/libtorch-go/libtorch/internal/archive"
	"github.com/libtorch-go/libtorch/internal/atomicfile"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// Save writes a program as torch.export.save does, whole or not at all; Python's torch.export.load reads it. A program that
// is not sound is not written. Tensors that share memory share it in the file.
func (p *Program) Save(path string) error {
	if err := atomicfile.Write(path, p.Write); err != nil {
		return fmt.Errorf("export: cannot write %s: %w", path, err)
	}
	return nil
}

// Write writes a program as [Program.Save] does. Where it cannot be written it writes nothing and returns an error.
func (p *Program) Write(w io.Writer) (err error) {
	if err := p.Verify(); err != nil {
		return err
	}
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() { err = p.write(w) })
		})
	})
	return cmp.Or(err, broken)
}

func (p *Program) write(w io.Writer) error {
	e := &encoder{}
	model, err := text(e.program(p))
	weights := storages(p.StateDict)
	constants := storages(p.Constants)
	weightsConfig, err2 := e.config(weights, "weight_", p.parameters())
	constantsConfig, err3 := e.config(constants, "tensor_", nil)
	if err := errors.Join(e.err, err, err2, err3); err != nil {
		return err
	}
	a := archive.NewWriter(w, "model")
	a.Text("archive_format", "pt2")
	a.Text("byteorder", "little")
	writeStorages(a, "data/weights/weight_", weights)
	a.Text("data/weights/model_weights_config.json", string(weightsConfig))
	writeStorages(a, "data/constants/tensor_", constants)
	a.Text("data/constants/model_constants_config.json", string(constantsConfig))
	a.Text("models/model.json", string(model))
	a.Record("data/sample_inputs/model.pt", int64(len(p.samples)), func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(p.samples))
		return err
	})
	a.Text("archive_version", "0")
	a.Text(".data/version", "6\n")
	a.Text(".data/serialization_id", a.ID())
	return a.Finish()
}

// parameters are the names of the tensors that are parameters.
func (p *Program) parameters() map[string]bool {
	all := map[string]bool{}
	for _, s := range p.Signature.Inputs {
		if s.Kind == Parameter {
			all[s.Target] = true
		}
	}
	return all
}

// storage is the memory of some tensors that share it and are of one dtype.
type storage struct {
	tensors   []named
	low, high int // the elements that they reach
}

type named struct {
	name string
	torch.Tensor
	size, stride []int
	low, high    int
}

// storages groups tensors by the memory that they share.
func storages(tensors map[string]torch.Tensor) []*storage {
	type key struct {
		id    uint64
		dtype torch.DType
	}
	at, list := map[key]*storage{}, []*storage{}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name].Detach()
		if t.IsConj() || t.IsNeg() || t.Layout() != torch.Strided {
			t = tensors[name].Detach().ToDense().ResolveConj().ResolveNeg()
		}
		own := named{name: name, Tensor: t, size: t.Shape(), stride: t.Stride(), low: t.StorageOffset()}
		end, _ := farthest(own.size, own.stride, own.low)
		own.high = int(end)
		k := key{t.Storage().ID, t.DType()}
		s := at[k]
		if s == nil {
			s = &storage{low: own.low, high: own.high}
			at[k], list = s, append(list, s)
		}
		s.low, s.high = min(s.low, own.low), max(s.high, own.high)
		s.tensors = append(s.tensors, own)
	}
	return list
}

// config is the list of a folder's tensors.
func (e *encoder) config(list []*storage, prefix string, parameters map[string]bool) ([]byte, error) {
	all := object{}
	for i, s := range list {
		for _, t := range s.tensors {
			integers := func(list []int) []Expr { return each(list, func(n int) Expr { return integer(int64(n)) }) }
			meta := TensorMeta{DType: t.DType(), Sizes: integers(t.size), Strides: integers(t.stride),
				StorageOffset: integer(int64(t.low - s.low)), RequiresGrad: parameters[t.name], Device: t.Device(), Layout: torch.Strided}
			all[t.name] = object{"path_name": fmt.Sprint(prefix, i), "is_param": parameters[t.name], "use_pickle": false,
				"tensor_meta": e.tensorMeta(meta)}
		}
	}
	return text(object{"config": all})
}

// writeStorages writes the bytes of storages, so much at a time.
func writeStorages(a *archive.Writer, prefix string, list []*storage) {
	const piece = 1 << 20
	buffer := make([]byte, piece)
	for i, s := range list {
		item := s.tensors[0].DType().Size()
		size := (s.high - s.low) * item
		a.Record(fmt.Sprint(prefix, i), int64(size), func(w io.Writer) (err error) {
			t := s.tensors[0]
			whole := torch.TensorOptions{DType: torch.Uint8, Device: t.Device()}.Empty(0)
			whole = whole.SetTensorOffsetInPlace(t.AsStrided([]int{0}, []int{1}, 0), s.low*item, []int{size}, 1)
			for at := 0; at < size && err == nil; at += piece {
				n := min(piece, size-at)
				torch.Scope(func() { bridge.Bytes(whole.Narrow(0, at, n), buffer[:n]) })
				_, err = w.Write(buffer[:n])
			}
			return err
		})
	}
}
