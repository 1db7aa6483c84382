package dist

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// DDP is a model that is trained by all ranks of a group, each with data of its own: PyTorch's DistributedDataParallel, on the same
// engine. Backward leaves the mean of all ranks' gradients in the parameters, and communicates while it still computes.
//
//	model, err := dist.NewDDP(g, models.ResNet18(10))
//	opt := optim.NewSGD(nn.Parameters(model), 0.1)
//	…
//	loss := F.CrossEntropy(model.Forward(x), target)
//	loss.Backward()
//	opt.Step()
//
// An exchange that fails, because a rank is gone or late, is an error of Backward in which errors.Is finds [torch.ErrDist].
//
// Names in its state dict begin with "module.", as Python's do. One goroutine at a time may use it.
type DDP[M any] struct {
	Module M `torch:"module"`

	g       *Group
	o       DDPOptions
	h       *cgo.Handle
	buffers []torch.Tensor
	device  torch.Device // of the parameters
	join    *joining     // nil outside of Join
	paused  bool         // in NoSync
	stale   bool         // the last pass changed nothing that other ranks need to know
}

// DDPOptions are the rarer arguments of [NewDDP], by PyTorch's names.
type DDPOptions struct {
	BucketCapMB          float64 // gradients are reduced in buckets of so many MB; default 25, after a first one of 1 MB
	FindUnusedParameters bool    // a pass may leave parameters out: their gradients are those of the ranks that have some
	GradientAsBucketView bool    // gradients lie in the buckets: less memory, one copy less
	StaticGraph          bool    // every pass uses the same parameters in the same order, some of them several times, or in checkpoints
	KeepBuffers          bool    // buffers, such as running means, stay each rank's own; otherwise rank 0's are given to all before a pass
	NoInitSync           bool    // the ranks have the same parameters and buffers already; otherwise those of rank 0 are given to all
}

const mega = 1 << 20

// broadcastBytes is how much is put together to be sent at a time.
const broadcastBytes = 250 * mega

// NewDDP makes a model one of all ranks, each of which calls it with a model of the same shape. The model's parameters become
// those of rank 0. It returns an error if the shapes differ, or a rank does not come.
func NewDDP[M any](g *Group, model M, opts ...DDPOptions) (*DDP[M], error) {
	d := &DDP[M]{Module: model, g: g, o: option.One(opts), buffers: nn.Buffers(model)}
	if err := g.member("ddp"); err != nil {
		return nil, err
	}
	if d.o.BucketCapMB < 0 {
		return nil, fmt.Errorf("dist: BucketCapMB must be positive, got %v", d.o.BucketCapMB)
	}
	var names []string
	var params []torch.Tensor
	for name, p := range nn.NamedParameters(model) {
		if p.RequiresGrad() {
			names, params = append(names, name), append(params, p)
		}
	}
	if len(params) == 0 {
		return nil, errors.New("dist: no parameter of the model requires gradients: there is nothing to do for DDP")
	}
	d.device = params[0].Device()
	if _, err := g.list(cgo.OpVerifyParams, params); err != nil {
		return nil, g.failed("ddp", -1, err)
	}
	if !d.o.NoInitSync {
		if err := torch.Try(func() { g.spread(d.states(), broadcastBytes, 0) }); err != nil {
			return nil, err
		}
	}
	return d, d.open(names, params)
}

// open makes the reducer.
func (d *DDP[M]) open(names []string, params []torch.Tensor) (err error) {
	bytes, first := int(d.o.BucketCapMB*mega), int(d.o.BucketCapMB*mega)
	if bytes == 0 {
		bytes, first = 25*mega, mega
	}
	lent := cgo.Lend(struct{}{}) // see Reducer in cgo/shim/dist/reducer.cc
	d.h, err = object(cgo.OpNewReducer, func(c *cgo.Call) {
		c.Object(d.g.h)
		c.Word(lent)
		c.Str(reflect.TypeOf(d.Module).String())
		putKeys(c, names)
		putTensors(c, params)
		c.Bools(make([]bool, len(params))) // none has sparse gradients
		c.Int(bytes)
		c.Int(first)
		c.Bool(d.o.FindUnusedParameters)
		c.Bool(d.o.GradientAsBucketView)
		c.Bool(d.o.StaticGraph)
		c.Bool(!d.o.KeepBuffers)
	})
	if err != nil {
		return d.g.failed("ddp", -1, err)
	}
	return nil
}

// list makes a call with tensors that it writes to.
func (g *Group) list(op cgo.Op, list []torch.Tensor, more ...int) (*cgo.Call, error) {
	return call(op, func(c *cgo.Call) {
		c.Object(g.h)
		putChanged(c, list)
		for _, n := range more {
			c.Int(n)
		}
	})
}

// states are the tensors that are the same on all ranks.
func (d *DDP[M]) states() []torch.Tensor {
	list := nn.Parameters(d.Module)
	if d.o.KeepBuffers {
		return list
	}
	return append(list, d.buffers...)
}

// spread gives all ranks the tensors of one, so many bytes at a time.
func (g *Group) spread(list []torch.Tensor, bytes, from int) {
	if len(list) == 0 {
		return
	}
	var err error
	torch.NoGrad(func() { _, err = g.list(cgo.OpBroadcastCoalesced, list, bytes, from) })
	if err != nil {
		throw(g.failed("broadcast_coalesced", -1, err))
	}
}

// throw panics with an error as operators do.
func throw(err error) {
	var failed *Error
	if errors.As(err, &failed) {
		panic(&torch.Error{Op: failed.Op, Kind: torch.KindDist, Msg: failed.Error(), Cause: failed})
	}
	panic(err)
}

// Forward is the module's Forward, of a module that is an [nn.Layer]; others are called by [DDP.Call].
func (d *DDP[M]) Forward(x torch.Tensor) (y torch.Tensor) {
	layer, ok := any(d.Module).(nn.Layer)
	if !ok {
		torch.Throw("ddp", torch.KindType, "the model, a %T, has no method Forward from one tensor to another: use Call", d.Module)
	}
	d.Call(func(M) []torch.Tensor {
		y = layer.Forward(x)
		return []torch.Tensor{y}
	})
	return y
}

// Call runs a forward pass of any form: fn calls the model and returns all tensors that a loss is computed from.
//
//	out := model.Call(func(m *models.Detector) []torch.Tensor { return []torch.Tensor{m.Forward(images, masks)} })
func (d *DDP[M]) Call(fn func(model M) []torch.Tensor) []torch.Tensor {
	reducing := torch.IsGradEnabled() && !d.paused
	work := d.join.counts(d)
	if torch.IsGradEnabled() {
		d.run(cgo.OpReducerForward, func(c *cgo.Call) {
			c.Bool(reducing)
			d.join.counted(c, work)
		})
	}
	d.syncBuffers(true)
	d.join.announces(reducing)
	out := fn(d.Module)
	if d.stale = !reducing; reducing {
		var looked []torch.Tensor
		if d.o.FindUnusedParameters && !d.o.StaticGraph {
			looked = out
		}
		d.run(cgo.OpReducerBackward, func(c *cgo.Call) {
			c.Bool(true)
			putTensors(c, looked)
		})
		if d.o.StaticGraph {
			d.run(cgo.OpReducerDelay, func(c *cgo.Call) { putTensors(c, out) })
		}
	}
	return out
}

func (d *DDP[M]) run(op cgo.Op, put func(c *cgo.Call)) *cgo.Call { return d.runs(bridge.Done, op, put) }

func (d *DDP[M]) runs(run func(c *cgo.Call), op cgo.Op, put func(c *cgo.Call)) *cgo.Call {
	c, err := made(run, op, func(c *cgo.Call) {
		c.Object(d.h)
		put(c)
	})
	if err != nil {
		throw(d.g.failed("ddp", -1, err))
	}
	return c
}

// NoSync runs fn, whose passes add up gradients on each rank alone. The first pass afterwards reduces the sums: that is how
// gradients are accumulated over several batches.
//
//	model.NoSync(func() { F.CrossEntropy(model.Forward(x1), y1).Backward() })
//	F.CrossEntropy(model.Forward(x2), y2).Backward()
//	opt.Step()
func (d *DDP[M]) NoSync(fn func()) {
	before := d.paused
	d.paused = true
	defer func() { d.paused = before }()
	fn()
}

// GradBucket is what a communication hook is to reduce.
type GradBucket struct {
	Buffer    torch.Tensor   // the gradients of the bucket, one behind the other
	Gradients []torch.Tensor // views of them, in the parameters' shapes
	Index     int            // of the bucket; they come in this order
	Last      bool           // no more buckets come in this pass
}

// RegisterCommHook has fn reduce each bucket in place of the mean over all ranks. It returns a tensor like Buffer, which may be that
// one, with the gradients that all ranks have from there on. It runs inside of Backward; a panic in it ends the pass. There is one
// hook at most, before the first pass.
//
//	model.RegisterCommHook(func(b dist.GradBucket) torch.Tensor {
//		b.Buffer.DivScalarInPlace(float64(g.Size()))
//		if err := g.AllReduce(b.Buffer).Wait(ctx); err != nil {
//			panic(err)
//		}
//		return b.Buffer
//	})
func (d *DDP[M]) RegisterCommHook(fn func(b GradBucket) torch.Tensor) {
	id := cgo.Lend(&cgo.Callback{Name: "communication hook", Func: func(t *cgo.Turn) {
		b := GradBucket{Index: int(t.Arg >> 1), Last: t.Arg&1 != 0, Buffer: bridge.Tensor[torch.Tensor](t.In[0])}
		for _, h := range t.In[1:] {
			b.Gradients = append(b.Gradients, bridge.Tensor[torch.Tensor](h))
		}
		t.Out[0] = bridge.Handle(fn(b))
	}})
	d.run(cgo.OpReducerHook, func(c *cgo.Call) { c.Word(id) })
}

// Compress has gradients travel as float16 or bfloat16, half the bytes: Python's fp16_compress_hook and bf16_compress_hook. It is a
// communication hook.
func (d *DDP[M]) Compress(dtype torch.DType) {
	if dtype != torch.Float16 && dtype != torch.BFloat16 {
		torch.Throw("ddp", torch.KindType, "gradients are compressed to float16 or bfloat16, got %v", dtype)
	}
	d.run(cgo.OpReducerCompress, func(c *cgo.Call) {
		c.Object(d.g.h)
		c.Code(bridge.Code(dtype))
	})
}

// DDPStats are times of passes: of the last one that libtorch measured (the first ten, then every hundredth), and the means of those.
type DDPStats struct {
	Forward, Backward           time.Duration // computing
	Communication               time.Duration // from the first bucket's start to the last one's end
	Overlap                     time.Duration // what of that passed while Backward computed
	AverageForward              time.Duration
	AverageBackward             time.Duration
	AverageCommunication        time.Duration
	AverageOverlap              time.Duration
	Iterations, Buckets, Params int
}

// Stats are what libtorch's logger measured.
func (d *DDP[M]) Stats() DDPStats {
	m := map[string]int{}
	r := d.run(cgo.OpReducerStats, func(*cgo.Call) {}).Reader(0)
	for r.More() {
		name := r.Text()
		m[name] = int(r.Next())
	}
	at := func(name string) time.Duration { return time.Duration(m[name]) }
	return DDPStats{
		Forward: at("forward_compute_time"), Backward: at("backward_compute_time"), Communication: at("backward_comm_time"),
		Overlap: at("backward_compute_comm_overlap_time"), AverageForward: at("avg_forward_compute_time"),
		AverageBackward: at("avg_backward_compute_time"), AverageCommunication: at("avg_backward_comm_time"),
		AverageOverlap: at("avg_backward_compute_comm_overlap_time"), Iterations: m["iteration"], Params: m["num_parameter_tensors"],
	}
}

// Close ends the reduction of gradients. The module stays what it is.
func (d *DDP[M]) Close() { d.h.Close() }
