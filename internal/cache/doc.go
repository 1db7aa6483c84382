// Package cache keeps what took long to make, compiled kernels above all, in the user's cache
// folder, for this process and for later ones.
package cache
