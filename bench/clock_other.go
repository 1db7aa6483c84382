//go:build !linux

package main

import "time"

var began = time.Now()

// threadTime is the time that has passed, where the system has no clock for a thread.
func threadTime() time.Duration { return time.Since(began) }
