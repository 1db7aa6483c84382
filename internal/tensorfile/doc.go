// Package tensorfile brings the bytes of files into tensors: read by the kernel straight into their memory, by
// several goroutines, or mapped.
package tensorfile
