// Package libm is the C library's cosine, logarithm and power, which Python uses. Go's own
// sometimes differ in the last bit, and a different learning rate makes every weight
// different. Without cgo they are Go's.
package libm
