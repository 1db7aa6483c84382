// Package mistakes holds the mistakes that users of PyTorch make, as a test: each must give an
// error that names the operator or the module, what was given, what was expected, and the line.
package mistakes
