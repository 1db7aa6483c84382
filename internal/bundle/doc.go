// Package bundle packs a program with the libraries that it needs to run: the shim, libtorch and what that
// is linked to. Which libraries these are say the files themselves (their dynamic sections), not a list of ours.
package bundle
