//go:build unix

package jit

import (
	"fmt"
	"syscall"
)

// limit bounds what this process may take from here on: memory besides what libtorch took when it was opened, time of the processor,
// files of any size. It leaves no core behind.
func (o *order) limit() error {
	type limit struct {
		resource int
		most     uint64
	}
	limits := []limit{{syscall.RLIMIT_DATA, uint64(o.Memory)}, {syscall.RLIMIT_CORE, 0}}
	if o.Seconds > 0 {
		limits = append(limits, limit{syscall.RLIMIT_CPU, uint64(o.Seconds)})
	}
	for _, l := range limits {
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: l.most, Max: l.most}); err != nil {
			return fmt.Errorf("limits of the process: %w", err)
		}
	}
	return nil
}
