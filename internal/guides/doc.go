// Package guides runs the programs of the guides in docs/: they are the Examples of this package's tests, which its test
// puts, with their output, where a guide names them in a comment.
//
//	go test ./internal/guides            # the programs run, and stand in the guides as they are here
//	go test ./internal/guides -update    # writes them there
package guides
