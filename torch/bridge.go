package torch

import (
	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
)

// The other packages of this module get below a tensor by way of package bridge.
var _ = bridge.Connect(bridge.Core{
	Fail:   func(err *cgo.Error) { panic(newError(err)) },
	Box:    func(c *cgo.Call, v any) { box(c, v, 0) },
	Unbox:  unboxAll,
	Within: within,
})
