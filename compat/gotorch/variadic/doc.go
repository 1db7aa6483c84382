// Package variadic reads the options of functions that take them as a map behind all other arguments.
package variadic
