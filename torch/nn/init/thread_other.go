//go:build !linux

package nninit

func threadID() int { return 0 } // libtorch is opened on Linux alone
