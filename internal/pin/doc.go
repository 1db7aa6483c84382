// Package pin knows files by their SHA-256: who runs a program that was pinned runs the very bytes that were meant.
package pin
