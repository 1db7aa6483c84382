// Package pytext writes numbers and sizes as Python prints them, for the complaints that
// PyTorch makes in Python and this module makes in Go with the same words:
//
//	torch.Throw("group_norm", torch.KindValue, "… got input size %s", pytext.Size(x.Shape()))
package pytext
