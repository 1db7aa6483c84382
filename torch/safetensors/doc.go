// Package safetensors reads and writes tensors in the safetensors format: a JSON header
// with each tensor's dtype, shape and place, then the bytes. Such a file holds no code, so
// a file from a stranger can be read: every number in it is checked before anything is
// allocated, and an inconsistent file gives an error that says where.
//
//	err := safetensors.Save("model.safetensors", nn.StateDict(model))
//	file, err := safetensors.Load("model.safetensors")
//	err = nn.LoadStateDict(model, file.Tensors)
//
// Files are written whole or not at all: to a temporary file beside the target, flushed to
// the disk, then renamed over it. Python's safetensors reads them and writes what this
// package reads.
//
// The format: https://github.com/huggingface/safetensors#format
package safetensors
