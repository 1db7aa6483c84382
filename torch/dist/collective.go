package dist

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// ReduceOp is how the tensors of the ranks become one, element by element.
type ReduceOp struct{ n uint8 }

// The reductions. Those of bits are for integers.
var (
	Sum     = ReduceOp{0} // the default
	Avg     = ReduceOp{1}
	Product = ReduceOp{2}
	Min     = ReduceOp{3}
	Max     = ReduceOp{4}
	BAnd    = ReduceOp{5}
	BOr     = ReduceOp{6}
	BXor    = ReduceOp{7}
)

// String is PyTorch's name: "SUM".
func (o ReduceOp) String() string {
	return [...]string{"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"}[o.n]
}

// ReduceOptions are the rarer arguments of operations that reduce.
type ReduceOptions struct {
	Op ReduceOp // default Sum
}

// P2POp is one of the operations of [Group.Batch]: a send, or a receive.
type P2POp struct {
	Send, Recv torch.Tensor // one of them
	Peer       int          // the other rank
	Tag        int
}

// P2POptions are the rarer arguments of [Group.Send] and [Group.Recv].
type P2POptions struct {
	Tag int // a receive takes what was sent with the same tag; default 0
}

// AllToAllOptions are the rarer arguments of [Group.AllToAllSingle].
type AllToAllOptions struct {
	OutputSplits, InputSplits []int // rows for each rank; default: as many for each
}

// arguments are what a collective is given beside tensors; each uses some.
type arguments struct {
	op                  ReduceOp
	peer                int // a root, a source or a destination
	tag                 int
	outSplits, inSplits []int
}

// start begins an operation that writes to some tensors and reads others.
func (g *Group) start(op string, written, read []torch.Tensor, a arguments) *Work {
	given := written
	if len(given) == 0 {
		given = read
	}
	w := &Work{g: g, op: op, peer: -1, onCard: g.onCards(given...)}
	if op == "send" || op == "recv" {
		w.peer = a.peer
	}
	if w.err = g.member(op); w.err != nil {
		return w
	}
	h, err := object(cgo.OpCollective, func(c *cgo.Call) {
		c.Object(g.h)
		c.Str(op)
		putChanged(c, written)
		putTensors(c, read)
		c.Int(int(a.op.n))
		c.Bool(slices.ContainsFunc(written, torch.Tensor.IsComplex))
		c.Int(a.peer)
		c.Int(a.tag)
		c.Ints(a.outSplits)
		c.Ints(a.inSplits)
	})
	if err != nil {
		w.err = w.failed(err)
		return w
	}
	w.h = h
	return w
}

func (g *Group) member(op string) error {
	if g.h == nil {
		why := fmt.Errorf("this process is not among the group's members, which are the ranks %v", g.ranks)
		return &Error{Op: op, Rank: -1, Size: len(g.ranks), Peer: -1, Err: why}
	}
	return nil
}

// refused is an operation that is not begun, because of an argument.
func (g *Group) refused(op string, format string, args ...any) *Work {
	return &Work{g: g, op: op, peer: -1, err: g.failed(op, -1, fmt.Errorf(format, args...))}
}

// isRank says what is wrong with the number of a rank, if anything is.
func (g *Group) isRank(what string, rank int) error {
	if rank < 0 || rank >= len(g.ranks) {
		return fmt.Errorf("the %s must be a rank from 0 to %d, got %d", what, len(g.ranks)-1, rank)
	}
	return nil
}

// perRank says what is wrong with a list of n that has one for each rank, if anything is.
func (g *Group) perRank(what string, n int) error {
	if n != len(g.ranks) {
		return fmt.Errorf("%s must have one for each of the %d ranks, got %d", what, len(g.ranks), n)
	}
	return nil
}

// AllReduce reduces t over all ranks, in place: all get the result.
func (g *Group) AllReduce(t torch.Tensor, opts ...ReduceOptions) *Work {
	return g.start("all_reduce", one(t), nil, arguments{op: option.One(opts).Op})
}

// AllReduceCoalesced reduces several tensors of one dtype, in place, in one operation.
func (g *Group) AllReduceCoalesced(list []torch.Tensor, opts ...ReduceOptions) *Work {
	return g.start("all_reduce_coalesced", list, nil, arguments{op: option.One(opts).Op})
}

// Reduce reduces t over all ranks: rank dst gets the result in t; what the others have there afterwards is of no use.
func (g *Group) Reduce(t torch.Tensor, dst int, opts ...ReduceOptions) *Work {
	if err := g.isRank("destination", dst); err != nil {
		return g.refused("reduce", "%w", err)
	}
	return g.start("reduce", one(t), nil, arguments{op: option.One(opts).Op, peer: dst})
}

// Broadcast gives all ranks the t of rank src, in place.
func (g *Group) Broadcast(t torch.Tensor, src int) *Work {
	if err := g.isRank("source", src); err != nil {
		return g.refused("broadcast", "%w", err)
	}
	return g.start("broadcast", one(t), nil, arguments{peer: src})
}

// AllGather gives all ranks the t of each: out has a tensor like t for every rank.
func (g *Group) AllGather(out []torch.Tensor, t torch.Tensor) *Work {
	if err := g.perRank("out", len(out)); err != nil {
		return g.refused("all_gather", "%w", err)
	}
	return g.start("all_gather", out, one(t), arguments{})
}

// AllGatherIntoTensor gives all ranks the t of each, one behind the other along the first dimension of out, or stacked in a new
// one.
func (g *Group) AllGatherIntoTensor(out, t torch.Tensor) *Work {
	return g.start("all_gather_into_tensor", one(out), one(t), arguments{})
}

// Gather gives rank dst the t of each: its out has a tensor like t for every rank, that of the others is nil.
func (g *Group) Gather(out []torch.Tensor, t torch.Tensor, dst int) *Work {
	if err := g.rooted("out", len(out), "destination", dst); err != nil {
		return g.refused("gather", "%w", err)
	}
	return g.start("gather", out, one(t), arguments{peer: dst})
}

// Scatter gives each rank, in out, its tensor of the list that rank src has. The list of the others is nil.
func (g *Group) Scatter(out torch.Tensor, list []torch.Tensor, src int) *Work {
	if err := g.rooted("the list", len(list), "source", src); err != nil {
		return g.refused("scatter", "%w", err)
	}
	return g.start("scatter", one(out), list, arguments{peer: src})
}

// rooted says what is wrong with a list of n that one rank alone has, if anything is.
func (g *Group) rooted(what string, n int, who string, root int) error {
	switch err := g.isRank(who, root); {
	case err != nil:
		return err
	case g.rank == root:
		return g.perRank(what, n)
	case n != 0:
		return fmt.Errorf("%s is rank %d's alone: pass nil on the other ranks", what, root)
	}
	return nil
}

// ReduceScatter reduces a list of a tensor for each rank over all ranks; each gets its own, in out.
func (g *Group) ReduceScatter(out torch.Tensor, list []torch.Tensor, opts ...ReduceOptions) *Work {
	if err := g.perRank("the list", len(list)); err != nil {
		return g.refused("reduce_scatter", "%w", err)
	}
	return g.start("reduce_scatter", one(out), list, arguments{op: option.One(opts).Op})
}

// ReduceScatterTensor reduces t over all ranks; each gets its part of it along the first dimension, in out.
func (g *Group) ReduceScatterTensor(out, t torch.Tensor, opts ...ReduceOptions) *Work {
	return g.start("reduce_scatter_tensor", one(out), one(t), arguments{op: option.One(opts).Op})
}

// AllToAll sends each rank its tensor of list, and gets one from each in out. gloo does not have it: see [Group.AllToAllSingle].
func (g *Group) AllToAll(out, list []torch.Tensor) *Work {
	for what, l := range map[string][]torch.Tensor{"out": out, "the list": list} {
		if err := g.perRank(what, len(l)); err != nil {
			return g.refused("all_to_all", "%w", err)
		}
	}
	return g.start("all_to_all", out, list, arguments{})
}

// AllToAllSingle sends each rank its rows of t, and gets rows from each in out, one behind the other.
func (g *Group) AllToAllSingle(out, t torch.Tensor, opts ...AllToAllOptions) *Work {
	o := option.One(opts)
	return g.start("all_to_all_single", one(out), one(t), arguments{outSplits: o.OutputSplits, inSplits: o.InputSplits})
}

// Barrier is done when all ranks have come to it.
func (g *Group) Barrier() *Work { return g.start("barrier", nil, nil, arguments{}) }

// MonitoredBarrier is a barrier whose error on rank 0 names the ranks that did not come: all of them, or the first. It blocks; gloo
// alone has it.
func (g *Group) MonitoredBarrier(ctx context.Context, all bool) error {
	if err := g.member("monitored_barrier"); err != nil {
		return err
	}
	err := await(ctx, func() (func(), error) {
		_, err := call(cgo.OpMonitoredBarrier, func(c *cgo.Call) {
			c.Object(g.h)
			putTimeout(c, g.timeout)
			c.Bool(all)
		})
		return func() {}, err
	})
	if err != nil {
		return g.failed("monitored_barrier", -1, err)
	}
	return nil
}

// Send sends t to rank dst.
func (g *Group) Send(t torch.Tensor, dst int, opts ...P2POptions) *Work {
	if err := g.other("destination", dst); err != nil {
		return g.refused("send", "%w", err)
	}
	return g.start("send", nil, one(t), arguments{peer: dst, tag: option.One(opts).Tag})
}

// Recv receives t, which has the shape and dtype of what is sent, from rank src.
func (g *Group) Recv(t torch.Tensor, src int, opts ...P2POptions) *Work {
	if err := g.other("source", src); err != nil {
		return g.refused("recv", "%w", err)
	}
	return g.start("recv", one(t), nil, arguments{peer: src, tag: option.One(opts).Tag})
}

// RecvAny receives t from whichever rank sends first: see [Work.Source].
func (g *Group) RecvAny(t torch.Tensor, opts ...P2POptions) *Work {
	return g.start("recv", one(t), nil, arguments{peer: -1, tag: option.One(opts).Tag})
}

// Batch begins several sends and receives at a time: PyTorch's batch_isend_irecv. On cards ranks that send to each other must do so in one
// batch, because NCCL sends one thing after the other, each when its receiver is ready.
//
//	err := g.Batch(dist.P2POp{Send: x, Peer: next}, dist.P2POp{Recv: y, Peer: last}).Wait(ctx)
func (g *Group) Batch(ops ...P2POp) *Work {
	all := &Work{g: g, op: "batch_isend_irecv", peer: -1}
	if len(ops) == 0 {
		return g.refused(all.op, "there is nothing to send or to receive")
	}
	if all.err = g.member(all.op); all.err != nil {
		return all
	}
	begin := func() {
		for _, p := range ops {
			all.parts = append(all.parts, g.p2p(p))
		}
	}
	if first := ops[0]; !g.onCards(first.Send) && !g.onCards(first.Recv) {
		begin()
		return all
	}
	runtime.LockOSThread() // NCCL keeps the batch per thread
	defer runtime.UnlockOSThread()
	if _, err := call(cgo.OpBatchBegin, func(c *cgo.Call) { c.Object(g.h) }); err != nil {
		all.err = all.failed(err)
		return all
	}
	begin()
	h, err := object(cgo.OpBatchEnd, func(c *cgo.Call) { c.Object(g.h) })
	for _, part := range all.parts {
		err = errors.Join(err, part.err)
		part.h.Close()
	}
	all.h, all.err, all.parts, all.onCard = h, all.failed(err), nil, true
	return all
}

func (g *Group) p2p(p P2POp) *Work {
	switch tag := (P2POptions{Tag: p.Tag}); {
	case p.Send.Defined() && !p.Recv.Defined():
		return g.Send(p.Send, p.Peer, tag)
	case p.Recv.Defined() && !p.Send.Defined():
		return g.Recv(p.Recv, p.Peer, tag)
	}
	return g.refused("batch_isend_irecv", "each operation has a tensor to send or one to receive")
}

// other says what is wrong with the number of another rank, if anything is.
func (g *Group) other(what string, rank int) error {
	if rank == g.rank {
		return fmt.Errorf("the %s must be another rank, got this one, %d", what, rank)
	}
	return g.isRank(what, rank)
}

func one(t torch.Tensor) []torch.Tensor { return []torch.Tensor{t} }
