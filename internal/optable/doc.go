// Package optable lists the Go form of every generated operator and calls it with
// arguments by their names in libtorch's schema. Tests and tools that treat all operators
// alike use it; nothing else needs it.
//
//	form, _ := optable.Find("topk")
//	out, err := form.Call(map[string]any{"self": x, "k": 2, "largest": false})
//
// A [Form] says of each argument of the schema where the Go form has it:
//
//	self=#0           parameter 0, the receiver of a method
//	dim1=#1.1         element 1 of the variadic parameter 1
//	alpha=.Alpha      field Alpha of the options
//	largest=!Smallest field Smallest of the options, which says the opposite
//	implicit=:False   not offered: always False
package optable
