package dist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// ZeRO is an optimizer whose state is divided among the ranks: PyTorch's ZeroRedundancyOptimizer. Each parameter belongs to one rank,
// which alone keeps its momentum and the like, updates it, and gives it to the others. The results are those of the optimizer
// itself, to the bit.
//
//	opt, err := dist.NewZeRO(g, optim.NewAdamW(nn.Parameters(model), 1e-3))
//	…
//	loss.Backward()
//	opt.Step()
//
// Schedules and scalers take it as they take the optimizer; each rank has its own. The state is gathered before it is saved:
//
//	err := opt.Consolidate(ctx, 0)           // on all ranks
//	err = pt.Save(path, opt.StateDict())     // on rank 0
//
// All ranks then load it, as many as there are: [ZeRO.LoadStateDict] keeps a rank's own part.
type ZeRO struct {
	opt    optim.Optimizer
	g      *Group
	groups int              // that are divided so far
	sizes  []int            // elements of each rank
	owned  [][]torch.Tensor // parameters of each rank
	owners []int            // ranks of the parameters, by their numbers in a state dict

	join     *joining        // nil outside of Join
	whole    optim.StateDict // after Consolidate, on the rank that has it
	received []torch.Tensor  // in it
}

// zeroBytes is how much of the parameters is put together to be sent at a time.
const zeroBytes = 25 * mega

// NewZeRO divides the state of an optimizer. All ranks call it with optimizers of the same parameters; each keeps what it needs of a
// state that is there already. Groups may be added to the optimizer later, on all ranks.
func NewZeRO(g *Group, opt optim.Optimizer) (*ZeRO, error) {
	if err := g.member("zero"); err != nil {
		return nil, err
	}
	if opt == nil {
		return nil, errors.New("dist: zero: there is no optimizer")
	}
	z := &ZeRO{opt: opt, g: g, sizes: make([]int, g.Size()), owned: make([][]torch.Tensor, g.Size())}
	z.divide()
	if _, err := g.list(cgo.OpVerifyParams, slices.Concat(z.owned...)); err != nil {
		return nil, g.failed("zero", -1, err)
	}
	return z, z.LoadStateDict(opt.StateDict())
}

// check refuses one that NewZeRO did not make.
func (z *ZeRO) check() *ZeRO {
	if z.opt == nil {
		torch.Throw("zero", torch.KindValue, "there is no optimizer: NewZeRO makes a ZeRO of one")
	}
	return z
}

// divide gives each parameter of new groups to a rank: the largest first, each to the rank that has least.
func (z *ZeRO) divide() {
	groups := z.check().opt.ParamGroups()
	for _, group := range groups[z.groups:] {
		first := len(z.owners)
		order := make([]int, len(group.Params))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(group.Params[j].NumEl(), group.Params[i].NumEl()) })
		z.owners = append(z.owners, order...)
		for _, i := range order {
			rank := slices.Index(z.sizes, slices.Min(z.sizes))
			z.sizes[rank] += group.Params[i].NumEl()
			z.owned[rank] = append(z.owned[rank], group.Params[i])
			z.owners[first+i] = rank
		}
	}
	z.groups = len(groups)
}

// Step implements [optim.Optimizer]: it updates this rank's parameters and exchanges them for those of the others. It panics with a
// *torch.Error if a rank does not come.
func (z *ZeRO) Step() { z.step(z.check().opt.Step) }

// StepScaled implements [optim.Scaled], whether the optimizer itself does or not.
func (z *ZeRO) StepScaled(scale, foundInf torch.Tensor) {
	z.step(func() {
		if scaled, ok := z.opt.(optim.Scaled); ok {
			scaled.StepScaled(scale, foundInf)
			return
		}
		if foundInf.Defined() && foundInf.Float64() != 0 {
			return
		}
		if scale.Defined() {
			inverse := scale.To(torch.Float64).Reciprocal().To(torch.Float32)
			for _, grad := range torch.Grads(z.owned[z.g.rank]) {
				if grad.Defined() {
					torch.NoGrad(func() { grad.MulInPlace(inverse) })
				}
			}
		}
		z.opt.Step()
	})
}

// step is one of the iterations that a join counts.
func (z *ZeRO) step(update func()) {
	z.join.counts(z)
	z.update(update)
}

// update has the optimizer see the gradients of this rank's parameters only: it makes no state for others, and leaves them alone.
func (z *ZeRO) update(update func()) {
	z.divide()
	z.forget()
	torch.Scope(func() {
		var others []torch.Tensor
		for rank, params := range z.owned {
			if rank != z.g.rank {
				others = append(others, params...)
			}
		}
		grads := torch.Grads(others)
		defer func() {
			for i, p := range others {
				if grads[i].Defined() {
					p.SetGrad(grads[i])
				}
			}
		}()
		torch.ClearGrads(others)
		update()
	})
	for rank, params := range z.owned {
		z.g.spread(params, zeroBytes, rank)
	}
}

// ZeroGrad implements [optim.Optimizer].
func (z *ZeRO) ZeroGrad() { z.check().opt.ZeroGrad() }

// ParamGroups implements [optim.Optimizer]: those of the optimizer, with all parameters.
func (z *ZeRO) ParamGroups() []*optim.Group { return z.check().opt.ParamGroups() }

// StateDict implements [optim.Optimizer], on the rank that [ZeRO.Consolidate] has given the state of all, until the next step. Elsewhere
// it panics with a *torch.Error.
func (z *ZeRO) StateDict() optim.StateDict {
	if z.check().whole == nil {
		torch.Throw("zero", torch.KindValue, "the state has not been gathered on rank %d since the last step: call Consolidate(ctx, %d) "+
			"on all ranks before", z.g.rank, z.g.rank)
	}
	return z.whole
}

// forget frees what was gathered.
func (z *ZeRO) forget() {
	torch.Close(z.received...)
	z.received, z.whole = nil, nil
}

// Close frees the state, the optimizer's own too.
func (z *ZeRO) Close() {
	z.forget()
	if c, ok := z.opt.(interface{ Close() }); ok {
		c.Close()
	}
}

// String names the optimizer, and this rank's part of it.
func (z *ZeRO) String() string {
	if z.opt == nil {
		return "no optimizer"
	}
	return fmt.Sprintf("rank %d of %d, %d of %d parameters of %v", z.g.rank, z.g.Size(), len(z.owned[z.g.rank]), len(z.owners), z.opt)
}

// Consolidate gathers the state of all ranks on rank to, for [ZeRO.StateDict] there. All ranks call it.
func (z *ZeRO) Consolidate(ctx context.Context, to int) (err error) {
	defer torch.Recover(&err)
	z.divide()
	if err := z.g.isRank("rank that gets the state", to); err != nil {
		return z.g.failed("zero", -1, err)
	}
	z.forget()
	whole := z.opt.StateDict()
	state, ok := whole["state"].(map[int]map[string]any)
	if !ok {
		return fmt.Errorf("dist: zero: the state of a %T is a %T, expected a map[int]map[string]any", z.opt, whole["state"])
	}
	parts, err := AllGatherObject(ctx, z.g, described(state))
	if err != nil {
		return err
	}
	for rank, part := range parts {
		for _, e := range part {
			if err := z.carry(ctx, e, state, rank, to); err != nil {
				z.forget()
				return err
			}
		}
	}
	if z.g.rank == to {
		z.whole = whole
	}
	return nil
}
