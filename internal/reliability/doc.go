// Package reliability is what the suites behind RELIABILITY.md share. A suite is an ordinary
// test that writes down what it measured:
//
//	reliability.AtMost(t, "resident memory", peak>>20, 1024, "MB")
//
// The test fails if a figure misses its bar, and the card has the figure in any case:
// ./build.sh reliability, or go run ./internal/reliability/card, runs all suites and writes it.
//
// A suite has two sizes: that of go test, which CI can afford, and that of the card, for
// which the variable RELIABILITY says full. [Size] chooses.
//
//   - leaks: every exported function a thousand times, and nothing is left;
//   - service: a process's life: many callers, long runs, all the ways to end;
//   - cost: what an operator costs, before and after a change;
//   - card: runs them, and those in torch.
package reliability
