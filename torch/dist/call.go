package dist

import (
	"time"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// call makes a call of an entry. Whatever it fails with comes back as an error.
func call(op cgo.Op, put func(c *cgo.Call)) (*cgo.Call, error) { return made(bridge.Done, op, put) }

// made makes a call by one of package bridge's functions.
func made(run func(c *cgo.Call), op cgo.Op, put func(c *cgo.Call)) (c *cgo.Call, err error) {
	defer torch.Recover(&err)
	c = new(cgo.Call)
	c.Begin(op)
	put(c)
	run(c)
	return c, nil
}

// object makes a call that returns an object.
func object(op cgo.Op, put func(c *cgo.Call)) (*cgo.Handle, error) {
	c, err := call(op, put)
	if err != nil {
		return nil, err
	}
	return c.Owned(0, cgo.GroupKind), nil
}

func putTensors(c *cgo.Call, list []torch.Tensor) {
	c.List(len(list))
	for _, t := range list {
		c.Tensor(bridge.Handle(t))
	}
}

func putChanged(c *cgo.Call, list []torch.Tensor) {
	c.List(len(list))
	for _, t := range list {
		c.Changed(bridge.Handle(t))
	}
}

func putTimeout(c *cgo.Call, d time.Duration) { c.Int(int(d.Milliseconds())) }
