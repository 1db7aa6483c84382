package nninit

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// regions counts, for each thread, the calls of Skip that it is in.
var regions struct {
	count atomic.Int64 // of all threads
	sync.Mutex
	of map[int]int
}

// Skip runs fn, in which the random functions of this package leave their tensors as they are: models that are
// made in it have no initial values yet, and draw no numbers. It is for those whose weights are loaded next,
// PyTorch's torch.nn.utils.skip_init; drawing a billion numbers takes longer than reading them.
//
//	nninit.Skip(func() { model = models.ViTH14(1000) })
//	err := nn.LoadStateDict(model, weights)
//
// It holds for the goroutine that calls it, not for those that fn starts. Ones, zeros and other constants are
// set all the same.
func Skip(fn func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	enter(1)
	defer enter(-1)
	fn()
}

func enter(n int) {
	regions.Lock()
	defer regions.Unlock()
	if regions.of == nil {
		regions.of = map[int]int{}
	}
	id := threadID()
	if regions.of[id] += n; regions.of[id] == 0 {
		delete(regions.of, id)
	}
	regions.count.Add(int64(n))
}

// skipping tells whether the caller is in a region of Skip.
func skipping() bool {
	if regions.count.Load() == 0 {
		return false
	}
	regions.Lock()
	defer regions.Unlock()
	return regions.of[threadID()] > 0
}
