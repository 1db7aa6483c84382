// Package option reads the options of a function: at most one struct, behind all other
// arguments, which may be left out.
//
//	func CrossEntropy(x, target torch.Tensor, opts ...CrossEntropyOptions) torch.Tensor {
//		o := option.One(opts)
package option
