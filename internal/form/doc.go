// Package form has what the generated functions of operators call in the packages aten, linalg, fft
// and special: how arguments go into a call, and results come out of it. Package torch has the same
// for itself, without the bridge between packages; both are made from cgo/gen/support.tmpl.
package form
