package nn

import (
	"maps"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// LoadStateDict copies the tensors of a state dict into those of m of the same names, which
// keep their dtype and device unless Assign is set:
//
//	err := nn.LoadStateDict(model, file.Tensors)
//	err := nn.LoadStateDict(student, maps.Collect(nn.StateDict(teacher)))
//
// Where names, shapes or values do not fit it changes nothing and returns a *[StateDictError]
// with all that is wrong.
func LoadStateDict(m any, dict map[string]torch.Tensor, opts ...LoadOptions) (err error) {
	v := option.One(opts)
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() { err = load(m, dict, v) })
		})
	})
	if broken != nil {
		return broken
	}
	return err
}

func load(m any, dict map[string]torch.Tensor, v LoadOptions) error {
	wrong, pairs := match(m, dict)
	if v.NonStrict {
		if v.Skipped != nil {
			*v.Skipped = StateDictError{Missing: wrong.Missing, Unexpected: wrong.Unexpected}
		}
		wrong.Missing, wrong.Unexpected = nil, nil
	}
	t := trials{assign: v.Assign, copied: map[copied]error{}, own: map[uint64]bool{}}
	for _, p := range pairs {
		if plain(p.to) {
			t.own[p.to.Storage().ID] = true
		}
	}
	for i := range pairs {
		if err := torch.Try(func() { t.try(&pairs[i]) }); err != nil {
			wrong.Refused = append(wrong.Refused, Refusal{pairs[i].name, err})
		}
	}
	if len(wrong.Missing)+len(wrong.Unexpected)+len(wrong.Mismatched)+len(wrong.Refused) > 0 {
		return wrong
	}
	for _, p := range pairs {
		if v.Assign {
			p.to.SetData(p.from)
		} else {
			p.to.CopyInPlace(p.from)
		}
	}
	return nil
}

// pair is a tensor of a module and that of a state dict which goes into it.
type pair struct {
	name     string
	to, from torch.Tensor
}

// match finds the tensors of a module and those of a state dict that go into them.
func match(m any, dict map[string]torch.Tensor) (wrong *StateDictError, pairs []pair) {
	wrong = &StateDictError{}
	known := map[string]bool{}
	for s := range slots(m) {
		if s.transient {
			continue
		}
		known[s.name] = true
		source := dict[s.name]
		if !source.Defined() {
			if !s.optional {
				wrong.Missing = append(wrong.Missing, s.name)
			}
			continue
		}
		var got, want []int
		err := torch.Try(func() { got, want = source.Shape(), s.tensor.Shape() })
		switch {
		case err != nil:
			wrong.Refused = append(wrong.Refused, Refusal{s.name, err})
		case !slices.Equal(got, want):
			wrong.Mismatched = append(wrong.Mismatched, ShapeMismatch{s.name, got, want})
		default:
			pairs = append(pairs, pair{s.name, s.tensor, source})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dict)) {
		if !known[name] {
			wrong.Unexpected = append(wrong.Unexpected, name)
		}
	}
	return wrong, pairs
}

// trials find out, before anything is written, whether libtorch will take what is to be
// written.
type trials struct {
	assign bool
	copied map[copied]error // what came of copies of one element
	own    map[uint64]bool  // the storages of the module
}

// copied is what decides whether libtorch copies a plain tensor into another.
type copied struct {
	to, from             torch.DType
	toDevice, fromDevice torch.Device
}

// try panics where the pair cannot be written, and makes it ready where it can.
func (t *trials) try(p *pair) {
	if t.assign {
		p.to.Detach().SetRequiresGrad(p.to.RequiresGrad()).SetData(p.from)
		return
	}
	refuseTarget(p.to)
	if !plain(p.to) || !plain(p.from) {
		p.to.Clone().CopyInPlace(p.from)
		return
	}
	kind := copied{p.to.DType(), p.from.DType(), p.to.Device(), p.from.Device()}
	err, known := t.copied[kind]
	if !known {
		err = torch.Try(func() {
			one := torch.TensorOptions{DType: kind.to, Device: kind.toDevice}.Empty(1)
			one.CopyInPlace(torch.TensorOptions{DType: kind.from, Device: kind.fromDevice}.Empty(1))
		})
		t.copied[kind] = err
	}
	if err != nil {
		panic(err)
	}
	t.stage(p)
}

// stage copies what lies in memory that is about to be overwritten, and a negative view: between
// float16 and float32 libtorch copies the elements without their sign.
func (t *trials) stage(p *pair) {
	if p.from.Is(p.to) {
		return
	}
	if p.from.IsNeg() || t.own[p.from.Storage().ID] {
		p.from = p.from.Clone()
	}
}

// plain tells whether the elements lie in memory as they are.
func plain(x torch.Tensor) bool {
	switch x.DType() {
	case torch.QInt8, torch.QUint8, torch.QInt32, torch.QUint4x2, torch.QUint2x4:
		return false
	}
	return x.Layout() == torch.Strided && x.Device() != torch.Meta
}

// refuseTarget panics where nothing can be copied into x, whatever it is.
func refuseTarget(x torch.Tensor) {
	const op = "load_state_dict"
	switch {
	case x.Device().Type() == torch.DeviceMeta:
		torch.Throw(op, torch.KindValue,
			"the module's tensor is on the meta device and takes no values; load with Assign, or move the module first")
	case x.IsInference() && !torch.IsInference():
		torch.Throw(op, torch.KindValue, "the module's tensor was made under Inference and cannot be changed outside of it")
	case x.Layout() != torch.Strided:
		return
	}
	shape, stride := x.Shape(), x.Stride()
	for d, size := range shape {
		if size > 1 && stride[d] == 0 {
			torch.Throw(op, torch.KindValue, "the module's tensor of shape %v is expanded: more than one element refers to the same memory", shape)
		}
	}
}
