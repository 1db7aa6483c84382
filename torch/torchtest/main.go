package torchtest

import (
	"fmt"
	"os"
	"testing"
)

// Main runs a package's tests and fails if they leave an open tensor behind:
//
//	func TestMain(m *testing.M) { torchtest.Main(m) }
//
// With -tags stress the garbage collector runs all the time meanwhile, and goroutines that
// are left behind are a failure, too.
func Main(m *testing.M) {
	end := stress()
	code := m.Run()
	if err := end(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		code = 1
	}
	if stats := settle(nil); code == 0 && stats.Live() != 0 {
		fmt.Fprintf(os.Stderr, "FAIL: %d tensors are still open after all tests%s\n", stats.Live(), origins())
		code = 1
	}
	os.Exit(code)
}
