// Package modparity holds no code: its test compares the modules of torch/nn with PyTorch's.
//
// Python makes every configuration of every module that its own module database has, and those of
// testdata/extra.py, in training and in evaluation, and writes down the arguments, the state, the
// inputs, the results and the gradients. The test makes the same modules from the same arguments:
// a table (table_test.go) says which constructor a module has and which of its arguments come
// before the options; the options, and the arguments of Forward, are found by their names
// (arguments_test.go). State dicts have to have the same names in the same order, and all
// tensors the same bits.
//
// docs/modules.md lists the outcome; go test ./internal/modparity -update writes it.
package modparity
