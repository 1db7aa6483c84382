// Package versions is the table of what differs between the versions of libtorch that this project
// builds on. Code and tests that have to know ask for a difference by name, and never for the version.
package versions
