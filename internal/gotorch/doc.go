// Package gotorch holds no code: its tests hold compat/gotorch to its word. They take the last commit of
// github.com/wangkuiyi/gotorch from the module cache, where go.sum answers for it, and look at ours from outside:
//
//   - gotorch's own tests run over our packages (conformance_test.go), under the race detector if these tests are;
//   - every exported name is there, with its signature (names_test.go), and in docs/gotorch.md;
//   - its example programs, not a letter changed, compile and train (examples_test.go);
//   - two thousand steps without a call of GC leave nothing behind.
package gotorch
