package dist

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/option"
)

// DefaultTimeout is how long operations wait for other ranks unless told otherwise, as in PyTorch.
const DefaultTimeout = 30 * time.Minute

// storeTimeout is PyTorch's for a store that is used by itself.
const storeTimeout = 5 * time.Minute

// Store is where the ranks of a group find each other: values by key, which the ranks set and wait for. Stores of
// Python ranks are the same. A Store may be used from several goroutines.
type Store struct {
	h       *cgo.Handle
	timeout time.Duration
	port    int
}

// TCPStoreOptions are the rarer arguments of [NewTCPStore].
type TCPStoreOptions struct {
	WorldSize int           // how many processes, this one among them, will use the store; 0 is any number
	Master    bool          // this process serves the store; others connect to it
	NoWait    bool          // the master does not wait until WorldSize processes have come
	Timeout   time.Duration // to connect, and for each [Store.Get] and [Store.Wait]; default 5 minutes
}

// NewTCPStore connects to a store that one process serves. Port 0 lets the master choose a free one, see [Store.Port]. It
// returns an error if the port is taken, or the master is not found in time, or ctx ends.
func NewTCPStore(ctx context.Context, host string, port int, opts ...TCPStoreOptions) (*Store, error) {
	o := option.One(opts)
	if port < 0 || port > 65535 {
		return nil, fmt.Errorf("dist: a port is a number from 0 to 65535, got %d", port)
	}
	s := &Store{timeout: or(o.Timeout, storeTimeout)}
	if !o.Master && net.ParseIP(host) == nil {
		asking, cancel := context.WithTimeout(ctx, s.timeout) // a resolver may take longer
		_, err := net.DefaultResolver.LookupHost(asking, host)
		if cancel(); err != nil {
			return nil, storeError("tcp_store", err) // libtorch would try until the timeout
		}
	}
	err := await(ctx, func() (func(), error) {
		c, err := call(cgo.OpNewTcpStore, func(c *cgo.Call) {
			c.Str(host)
			c.Int(port)
			c.Int(or(o.WorldSize, -1))
			c.Bool(o.Master)
			c.Bool(!o.NoWait)
			putTimeout(c, s.timeout)
		})
		if err != nil {
			return nil, err
		}
		h := c.Owned(0, cgo.GroupKind)
		s.h, s.port = h, c.IntResult(1)
		return h.Close, nil
	})
	if err != nil {
		return nil, storeError("tcp_store at "+net.JoinHostPort(host, strconv.Itoa(port)), err)
	}
	return s, nil
}

// NewFileStore is a store in a file that all processes see. The file should not exist before the first of them; libtorch
// removes it when the last of worldSize processes has closed it.
func NewFileStore(path string, worldSize int) (*Store, error) {
	return newStore("file_store", cgo.OpNewFileStore, func(c *cgo.Call) {
		c.Str(path)
		c.Int(worldSize)
	})
}

// NewHashStore is a store within this process, for ranks that are goroutines.
func NewHashStore() (*Store, error) {
	return newStore("hash_store", cgo.OpNewHashStore, func(*cgo.Call) {})
}

// NewPrefixStore is a part of another store: all its keys begin with prefix and a slash. The other store may be closed
// before it.
func NewPrefixStore(prefix string, s *Store) (*Store, error) {
	part, err := newStore("prefix_store", cgo.OpNewPrefixStore, func(c *cgo.Call) {
		c.Str(prefix)
		c.Object(s.h)
	})
	if err == nil {
		part.timeout, part.port = s.timeout, s.port
	}
	return part, err
}

func newStore(name string, op cgo.Op, put func(*cgo.Call)) (*Store, error) {
	h, err := object(op, put)
	if err != nil {
		return nil, storeError(name, err)
	}
	return &Store{h: h, timeout: storeTimeout}, nil
}

func storeError(op string, err error) error {
	return &Error{Op: op, Rank: -1, Peer: -1, Err: err}
}

// Port is that of a TCP store; 0 for others.
func (s *Store) Port() int { return s.port }

func (s *Store) setTimeout(d time.Duration) error {
	_, err := call(cgo.OpStoreSetTimeout, func(c *cgo.Call) {
		c.Object(s.h)
		putTimeout(c, d)
	})
	s.timeout = d
	return err
}

// Close lets go of the store. The master's end is the end of the store for all.
func (s *Store) Close() { s.h.Close() }

// Set sets the value of a key.
func (s *Store) Set(key string, value []byte) error {
	_, err := s.call("store.set", cgo.OpStoreSet, key, func(c *cgo.Call) { c.Str(string(value)) })
	return err
}

// Get is the value of a key, which is waited for until ctx ends or the store's timeout is over.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := s.Wait(ctx, key); err != nil {
		return nil, err
	}
	c, err := s.call("store.get", cgo.OpStoreGet, key, nil)
	if err != nil {
		return nil, err
	}
	return []byte(c.Text(0)), nil
}

// Add adds to a number, which is 0 as long as nobody has set it, and returns the sum. Its value is text.
func (s *Store) Add(key string, n int) (int, error) {
	c, err := s.call("store.add", cgo.OpStoreAdd, key, func(c *cgo.Call) { c.Int(n) })
	if err != nil {
		return 0, err
	}
	return c.IntResult(0), nil
}

// CompareSet sets a value if the present one is as expected (empty: if there is none), and returns what there is then.
func (s *Store) CompareSet(key string, expected, desired []byte) ([]byte, error) {
	c, err := s.call("store.compare_set", cgo.OpStoreCompareSet, key, func(c *cgo.Call) {
		c.Str(string(expected))
		c.Str(string(desired))
	})
	if err != nil {
		return nil, err
	}
	return []byte(c.Text(0)), nil
}

// DeleteKey removes a key, and tells whether there was one.
func (s *Store) DeleteKey(key string) (bool, error) {
	c, err := s.call("store.delete_key", cgo.OpStoreDelete, key, nil)
	return err == nil && c.BoolResult(0), err
}

// Check tells whether all the keys are there. It does not wait.
func (s *Store) Check(keys ...string) (bool, error) {
	c, err := call(cgo.OpStoreCheck, func(c *cgo.Call) {
		c.Object(s.h)
		putKeys(c, keys)
	})
	if err != nil {
		return false, storeError("store.check", err)
	}
	return c.BoolResult(0), nil
}

// NumKeys counts the keys, with those that libtorch keeps for itself.
func (s *Store) NumKeys() (int, error) {
	c, err := call(cgo.OpStoreNumKeys, func(c *cgo.Call) { c.Object(s.h) })
	if err != nil {
		return 0, storeError("store.num_keys", err)
	}
	return c.IntResult(0), nil
}

// Wait waits until all the keys are there, ctx ends, or the store's timeout is over. Other goroutines get their turn meanwhile.
func (s *Store) Wait(ctx context.Context, keys ...string) error {
	const shortest, longest = time.Millisecond, 100 * time.Millisecond
	timeout := time.After(s.timeout)
	for pause := shortest; ; pause = min(2*pause, longest) {
		if there, err := s.Check(keys...); there || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return storeError("store.wait", context.Cause(ctx))
		case <-timeout:
			return storeError("store.wait", fmt.Errorf("%w: the keys %q are not there after %v", ErrTimeout, keys, s.timeout))
		}
	}
}

func (s *Store) call(name string, op cgo.Op, key string, put func(*cgo.Call)) (*cgo.Call, error) {
	c, err := call(op, func(c *cgo.Call) {
		c.Object(s.h)
		c.Str(key)
		if put != nil {
			put(c)
		}
	})
	if err != nil {
		return nil, storeError(name, err)
	}
	return c, nil
}

func putKeys(c *cgo.Call, keys []string) {
	c.List(len(keys))
	for _, k := range keys {
		c.Str(k)
	}
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// await runs fn, which libtorch does not end early, and comes back when ctx ends. What fn makes later is undone.
func await(ctx context.Context, fn func() (undo func(), err error)) error {
	type result struct {
		undo func()
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		undo, err := fn()
		ended <- result{undo, err}
	}()
	select {
	case r := <-ended:
		return r.err
	case <-ctx.Done():
		go func() {
			if r := <-ended; r.err == nil {
				r.undo()
			}
		}()
		return context.Cause(ctx)
	}
}
