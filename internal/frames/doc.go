// Package frames finds a program's own lines in a call stack: errors and panics name the line
// that the user wrote, not the one in this library that noticed.
package frames
