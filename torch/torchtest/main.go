package torchtest

import (
	"fmt"
	"os"
	"testing"
)

// Main runs a package's tests and fails if they leave an open tensor behind:
//
//	func TestMain(m *testing.M) { torchtest.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	if stats := settle(nil); code == 0 && stats.Live() != 0 {
		fmt.Fprintf(os.Stderr, "FAIL: %d tensors are still open after all tests%s\n", stats.Live(), origins())
		code = 1
	}
	os.Exit(code)
}
