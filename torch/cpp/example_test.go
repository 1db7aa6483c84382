package cpp_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/torch/cpp"
)

// A source that does not compile is an error with the compiler's words.
func ExampleCompileError() {
	err := cpp.LoadInline("broken", "int answer() { return 6 *; }")
	var failed *cpp.CompileError
	if errors.As(err, &failed) {
		fmt.Println(failed.Name, strings.Contains(failed.Output, "error:"))
	}
	// Output: broken true
}
