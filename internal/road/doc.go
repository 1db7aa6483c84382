// Package road goes the road of README from an empty machine to a program that is shipped, as a new user would: its
// test runs the commands that stand there, in the order in which they stand there.
//
//	go test ./internal/road -road            # what ./build.sh test does
//	go test ./internal/road -road -update    # and writes docs/trial.md
package road
