// Package switches reads and writes libtorch's process-wide settings for the packages that
// show them: a struct whose zero fields change nothing, and a table that says which field is
// which of libtorch's settings.
package switches
