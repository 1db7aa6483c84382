// Package replay is between a step that becomes a graph and what it calls: it lets a callee ask
// for something that has to be done on the host before every run, because a graph repeats
// what the device did and not what Go did. Optimizers ask for their learning rates to be written.
package replay
