//go:build !race

package torch_test

const underRace = false
