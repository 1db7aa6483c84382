// Package flock locks files and folders against other processes that do the same. A lock leaves nothing behind and
// dies with its holder.
package flock
