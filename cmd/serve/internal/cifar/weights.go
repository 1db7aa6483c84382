package cifar

import _ "embed" // the weights

// Weights is a safetensors file of 16-bit numbers.
//
//go:embed weights.safetensors
var Weights []byte
