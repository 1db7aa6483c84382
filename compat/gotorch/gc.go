package gotorch

import (
	"sync"

	"github.com/libtorch-go/libtorch/torch"
)

// spare is how many tensors may wait for the garbage collector before GC calls it by itself.
const spare = 1 << 14

// floor is how many tensors were left by the last collection.
var floor struct {
	sync.Mutex
	tensors int
}

// GC may stand at the head of an iteration, and need not. It calls the garbage collector if thousands of tensors were made
// since it last did. It does not wait for tensors that are in use.
func GC() {
	floor.Lock()
	defer floor.Unlock()
	if torch.Stats().Unscoped-floor.tensors > spare {
		collect()
	}
}

// FinishGC frees all that the program no longer refers to.
func FinishGC() {
	floor.Lock()
	defer floor.Unlock()
	collect()
}

func collect() {
	torch.GC()
	floor.tensors = torch.Stats().Unscoped
}
