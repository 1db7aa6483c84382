// Package cache keeps files that take long to make, such as compiled kernels, in the user's
// cache folder, for this process and for later ones.
package cache
