//go:build race

package gotorch

const race = true
