// Package initializer seeds libtorch's random numbers and fills tensors with initial values.
package initializer
