// Package tgz reads and writes tar.gz archives.
package tgz
