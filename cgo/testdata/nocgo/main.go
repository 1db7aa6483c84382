// Command nocgo says what a program built without cgo learns from loading libtorch and from a first call.
package main

import (
	"fmt"

	"github.com/libtorch-go/libtorch/cgo"
)

func main() {
	fmt.Println(cgo.Load())
	var c cgo.Call
	c.Begin(cgo.OpVersion)
	fmt.Println(c.Run())
}
