//go:build !linux

package main

import "time"

var began = time.Now()

// threadTime is the elapsed time, on systems that have no clock for a thread.
func threadTime() time.Duration { return time.Since(began) }
