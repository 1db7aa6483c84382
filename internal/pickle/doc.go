// Package pickle writes values in Python's pickle format, for files that Python's tools or
// PyTorch's memory viewer open. It writes what JSON has, integers of 64 bits, and tuples.
package pickle
