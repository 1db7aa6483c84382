// Package gotorch runs programs that were written for github.com/wangkuiyi/gotorch on libtorch for Go:
// every exported name of its last commit (9afed2f, October 2020) with its signature, no C of its own, and
// libtorch 2.11 in the place of 1.6.
//
//	replace github.com/wangkuiyi/gotorch => github.com/libtorch-go/libtorch/compat/gotorch LATEST
//
// in a program's go.mod is the whole migration. What a program finds changed, and how each name is called in
// libtorch for Go itself, is in docs/gotorch.md; `libtorch migrate` rewrites a program to those names.
//
// # Memory
//
// A tensor that the program no longer refers to is freed by the garbage collector, which is told of libtorch's
// bytes: no loop needs [GC], which does nothing any more. [FinishGC] collects once, and never waits for a tensor that is
// still in use.
//
// # Errors
//
// Functions panic as they did, now with a *torch.Error of libtorch for Go, from every call: none ends the process.
package gotorch
