// Package functional has the functions behind the layers of package nn.
package functional
