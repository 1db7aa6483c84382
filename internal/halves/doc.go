// Package halves stands in for the halves of libtorch that are absent: libraries made for Python are linked to libtorch.so, which needs
// CUDA's half, to Python's half, and those with CUDA kernels to CUDA's. Where they use nothing of these, an empty library in their place
// lets them be opened.
package halves
