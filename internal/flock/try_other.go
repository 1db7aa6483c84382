//go:build !unix

package flock

import "os"

// Works says whether this system locks files. Where it does not, two processes that do the same at the same time
// may spoil each other's work.
const Works = false

// Try locks nothing.
func Try(*os.File) (locked bool, err error) { return false, nil }
