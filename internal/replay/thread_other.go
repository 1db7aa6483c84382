//go:build !linux

package replay

func threadID() int { return 0 } // there is no card to record for
