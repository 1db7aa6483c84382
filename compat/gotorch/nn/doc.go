// Package nn builds networks of modules: structs that embed a [Module] by value and call Init in their constructor. The
// exported fields are the parts: tensors are parameters, or buffers where the tag `gotorch:"buffer"` says so.
package nn
