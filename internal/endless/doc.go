// Package endless makes programs of torch.export that have no end, as files of strangers may: tests see what stops them.
//
//	out, err := compiled.RunContext(ctx, torch.Ones(1, 1)) // of endless.Program(1): until ctx ends
package endless
