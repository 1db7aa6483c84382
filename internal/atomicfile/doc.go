// Package atomicfile writes files whole or not at all: whoever reads one, also after a crash,
// finds what was there before or all of what came after.
package atomicfile
