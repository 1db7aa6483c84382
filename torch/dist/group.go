package dist

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// Group is a group of processes that compute together: this one is a rank of it, others are Go's or Python's. All ranks
// make the same calls in the same order. Its methods may be called from several goroutines, if these agree on an order.
type Group struct {
	h       *cgo.Handle // nil for a process that is not a member
	rank    int
	ranks   []int // of the members, in the group of all
	timeout time.Duration

	backend  string // as it was named
	carriers []carrier
	world    *world
}

// world is what the groups of one [InitProcessGroup] share.
type world struct {
	store *Store // that new groups find each other in
	opts  InitOptions
	group *Group
	names atomic.Int64
}

// InitOptions are the rarer arguments of [InitProcessGroup].
type InitOptions struct {
	InitMethod string        // "env://", the default; "tcp://host:port" and "file:///path" need Rank and WorldSize
	Store      *Store        // instead of InitMethod; it needs Rank and WorldSize, and stays the caller's
	Rank       int           // of this process; used if WorldSize is set
	WorldSize  int           // the number of processes; 0 takes both from the environment
	Timeout    time.Duration // of every operation; default 30 minutes, 10 for "nccl"
	Device     torch.Device  // this process's; "nccl" connects a card at once, and otherwise when the first operation tells which
	Detail     bool          // all ranks compare what they are about to do before each operation, as with TORCH_DISTRIBUTED_DEBUG=DETAIL
}

// InitProcessGroup joins the group of all processes. backend is "gloo", or on cards "nccl", or "cpu:gloo,cuda:nccl" for tensors on both.
// By default ranks and addresses come from the environment that torchrun sets. Go ranks and Python ranks find each other. Over gloo it
// returns once all Go ranks are connected, so that any may leave at once. It returns an error if ctx ends, or the others do not come
// within the timeout, or they disagree about the size of the group.
func InitProcessGroup(ctx context.Context, backend string, opts ...InitOptions) (*Group, error) {
	o := option.One(opts)
	o.Timeout = or(o.Timeout, defaultTimeout(backend))
	o.Detail = o.Detail || os.Getenv("TORCH_DISTRIBUTED_DEBUG") == "DETAIL"
	carriers, err := carriers(backend)
	if err != nil {
		return nil, err
	}
	base, err := rendezvous(ctx, &o)
	if err != nil {
		return nil, err
	}
	all := base
	if base != o.Store {
		defer base.Close() // groups hold what they need of it
		if all, err = NewPrefixStore("default_pg", base); err != nil {
			return nil, err
		}
		defer all.Close()
	}
	w := &world{opts: o}
	if w.store, err = NewPrefixStore("0/", all); err != nil {
		return nil, err
	}
	ranks := make([]int, o.WorldSize)
	for i := range ranks {
		ranks[i] = i
	}
	if w.group, err = w.newGroup(ctx, all, backend, carriers, ranks, "default_pg"); err != nil {
		w.store.Close()
		return nil, err
	}
	return w.group, nil
}

// rendezvous is the store that the options lead to. It fills in rank and size.
func rendezvous(ctx context.Context, o *InitOptions) (*Store, error) {
	if o.WorldSize < 0 || o.Rank < 0 || o.WorldSize > 0 && o.Rank >= o.WorldSize {
		return nil, fmt.Errorf("dist: a rank is from 0 to WorldSize - 1, got rank %d of %d", o.Rank, o.WorldSize)
	}
	if o.Store != nil || o.InitMethod != "" && o.InitMethod != "env://" {
		if o.WorldSize == 0 {
			return nil, errors.New("dist: a Store or an InitMethod other than env:// needs Rank and WorldSize")
		}
		if o.Store != nil {
			return o.Store, nil
		}
		return storeAt(ctx, *o)
	}
	e, err := Env()
	if err != nil {
		return nil, err
	}
	if o.WorldSize == 0 {
		o.Rank, o.WorldSize = e.Rank, e.WorldSize
	}
	return NewTCPStore(ctx, e.MasterAddr, e.MasterPort,
		TCPStoreOptions{WorldSize: o.WorldSize, Master: o.Rank == 0 && !e.AgentStore, Timeout: o.Timeout})
}

// storeAt is the store at an address.
func storeAt(ctx context.Context, o InitOptions) (*Store, error) {
	at, err := url.Parse(o.InitMethod)
	if err != nil {
		return nil, fmt.Errorf("dist: InitMethod: %w", err)
	}
	switch at.Scheme {
	case "tcp":
		port, err := strconv.Atoi(at.Port())
		if err != nil {
			return nil, fmt.Errorf("dist: InitMethod %q has no port: tcp://host:port", o.InitMethod)
		}
		return NewTCPStore(ctx, at.Hostname(), port, TCPStoreOptions{WorldSize: o.WorldSize, Master: o.Rank == 0, Timeout: o.Timeout})
	case "file":
		s, err := NewFileStore(at.Path, o.WorldSize)
		if err != nil {
			return nil, err
		}
		if err := s.setTimeout(o.Timeout); err != nil {
			s.Close()
			return nil, err
		}
		return s, nil
	}
	return nil, fmt.Errorf("dist: InitMethod %q is none of env://, tcp://host:port and file:///path", o.InitMethod)
}

func (w *world) newGroup(ctx context.Context, s *Store, backend string, by []carrier, ranks []int, about string) (*Group, error) {
	name := strconv.FormatInt(w.names.Add(1)-1, 10)
	rank := slices.Index(ranks, w.opts.Rank)
	g := &Group{rank: rank, ranks: ranks, timeout: w.opts.Timeout, backend: backend, carriers: by, world: w}
	if rank < 0 {
		return g, nil
	}
	err := await(ctx, func() (func(), error) {
		h, err := w.connect(g, s, name, about)
		g.h = h
		return h.Close, err
	})
	if err != nil {
		return nil, &Error{Op: "init_process_group", Rank: rank, Size: len(ranks), Peer: -1, Err: err}
	}
	return g, nil
}

// NewGroup makes a group of some of the ranks, which are counted as in the group of all. Every rank of that calls it, in the same
// order; those that are not members get a group in which every operation fails. The order of the ranks does not count: the
// lowest is rank 0.
func (g *Group) NewGroup(ctx context.Context, ranks ...int) (*Group, error) {
	ranks = slices.Sorted(slices.Values(ranks))
	size := len(g.world.group.ranks)
	if len(ranks) == 0 || ranks[0] < 0 || ranks[len(ranks)-1] >= size || len(slices.Compact(slices.Clone(ranks))) < len(ranks) {
		return nil, fmt.Errorf("dist: the ranks of a new group are different numbers from 0 to %d, got %v", size-1, ranks)
	}
	return g.world.newGroup(ctx, g.world.store, g.backend, g.carriers, ranks, "undefined")
}

// Rank is the number of this process in the group, -1 if it is not a member.
func (g *Group) Rank() int { return g.rank }

// Size is the number of processes in the group: PyTorch's world size.
func (g *Group) Size() int { return len(g.ranks) }

// Ranks are those of the members in the group of all processes.
func (g *Group) Ranks() []int { return slices.Clone(g.ranks) }

// Backend is what carries the group's tensors, as [InitProcessGroup] was told: "gloo".
func (g *Group) Backend() string { return g.backend }

// Timeout is how long an operation may wait for the other ranks.
func (g *Group) Timeout() time.Duration { return g.timeout }

// String is for logs.
func (g *Group) String() string {
	return fmt.Sprintf("rank %d of %d (%s)", g.rank, len(g.ranks), strings.ToLower(g.backend))
}

// Err is what operations on cards have failed with, of which nobody was told: [Work.Wait] does not wait for a card. It is nil over gloo.
// What such operations had to write is of no use, so ask before a checkpoint is written, after [torch.Synchronize] or a [Group.Barrier],
// which do wait.
func (g *Group) Err() error {
	if g.h == nil {
		return nil
	}
	if err := g.check(); err != nil {
		return g.failed("group", -1, err)
	}
	return nil
}

func (g *Group) check() error {
	_, err := call(cgo.OpGroupCheck, func(c *cgo.Call) { c.Object(g.h) })
	return err
}

// Abort ends the connections of the group: every operation under way, here and on the other ranks, fails at once.
func (g *Group) Abort() {
	if g.h != nil {
		call(cgo.OpAbortGroup, func(c *cgo.Call) { c.Object(g.h) }) //nolint:errcheck // the connections are gone
	}
}

// Close leaves the group. Others that wait for this rank get an error. It is PyTorch's destroy_process_group; closing the group of all
// leaves the store, too.
func (g *Group) Close() {
	g.h.Close()
	if g == g.world.group && g.world.store != nil {
		g.world.store.Close()
	}
}
