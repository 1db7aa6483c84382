// Package atomicfile writes files whole or not at all: a reader, also after a crash, finds
// either the old content or all of the new one.
package atomicfile
