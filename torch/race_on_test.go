//go:build race

package torch_test

// underRace: the race detector has memory of its own, several times that of the program.
const underRace = true
