// Package cifar is the network that cmd/serve shows itself with: small, trained on CIFAR-10 by the program in train, its weights
// in this package.
package cifar
