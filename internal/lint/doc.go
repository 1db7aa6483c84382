// Package lint holds no code: its tests keep the rules of the repository. They look at the
// source only, so they run where libtorch is not installed.
//
//   - only package cgo contains C, and imports go one way (layers_test.go);
//   - every package explains itself, files and functions stay short, nothing happens in
//     init (source_test.go);
//   - no file names a machine's folders, a package registry's host, or work to be done
//     later (text_test.go);
//   - the public packages show how they are used (examples_test.go); the programs in examples
//     fit a page and use nothing that users cannot (programs_test.go);
//   - what is generated is what the generator writes (generated_test.go).
package lint
