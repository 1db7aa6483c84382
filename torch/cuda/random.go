package cuda

import (
	"github.com/libtorch-go/libtorch/torch"
)

// ManualSeed seeds the random numbers of one device; torch.ManualSeed seeds all. A seed
// set before the first use of the device is kept.
func ManualSeed(device int, seed uint64) {
	withGenerator(device, func(g *torch.Generator) { g.ManualSeed(seed) })
}

// ManualSeedAll seeds the random numbers of every device, and leaves those of the CPU.
func ManualSeedAll(seed uint64) {
	for device := range DeviceCount() {
		ManualSeed(device, seed)
	}
}

// InitialSeed is the seed that was set last for a device.
func InitialSeed(device int) (seed uint64) {
	withGenerator(device, func(g *torch.Generator) { seed = g.InitialSeed() })
	return seed
}

// RNGState is the state of a device's random numbers, a uint8 tensor on the CPU.
func RNGState(device int) (state torch.Tensor) {
	withGenerator(device, func(g *torch.Generator) { state = g.State() })
	return state
}

// SetRNGState restores a state of [RNGState].
func SetRNGState(device int, state torch.Tensor) {
	withGenerator(device, func(g *torch.Generator) { g.SetState(state) })
}

func withGenerator(device int, fn func(*torch.Generator)) {
	g := torch.DefaultGenerator(torch.CUDA(resolve("generator", device)))
	defer g.Close()
	fn(g)
}
