// Command sum prints a sum of three numbers, or the libraries that are in its process.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

func main() {
	sum := torch.FromSlice([]float32{1, 2, 3}).Sum()
	if len(os.Args) == 1 {
		fmt.Println(sum)
		return
	}
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for line := range strings.Lines(string(text)) {
		if at := strings.Index(line, "/"); at >= 0 && strings.Contains(line, ".so") {
			fmt.Print(line[at:])
		}
	}
}
