//go:build !stress

package torchtest

// stress does nothing: it takes -tags stress.
func stress() (end func() error) { return func() error { return nil } }
