// Package sheet reads images of CIFAR-10's size out of PNG files that hold many of them.
package sheet
