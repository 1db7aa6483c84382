// Package gocv is a stand-in for gocv.io/x/gocv in pure Go, for machines without OpenCV: the names that gotorch and its
// example programs use, for images of bytes and of float32.
//
//	replace gocv.io/x/gocv => github.com/libtorch-go/libtorch/compat/gocv LATEST
//
// Results are OpenCV's, but for rounding: a resized image may differ by one in 255, and so may one from a JPEG.
package gocv
