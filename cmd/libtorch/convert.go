package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"

	"github.com/libtorch-go/libtorch/internal/cli"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

const convertIntro = `usage: libtorch convert [-part NAME] FROM TO

Converts a state dict between .pt or .pth and .safetensors, tensor by tensor: the file is mapped into memory and never there as a
whole. FROM may be the index of several .safetensors (.json). A checkpoint of several parts has the one to take named by -part.
`

func convert(_ context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("convert", flag.ContinueOnError)
	part := fs.String("part", "", "the `name` of the state dict in a checkpoint, such as model")
	found, err := parse(fs, args, out, convertIntro, "FROM", "TO")
	if err != nil {
		return err
	}
	from, to := found[0], found[1]
	var tensors map[string]torch.Tensor
	var metadata map[string]string
	switch filepath.Ext(from) {
	case ".safetensors", ".json":
		tensors, metadata, err = mappedSafetensors(from)
	default:
		tensors, err = mappedPart(from, *part)
	}
	defer func() {
		for _, t := range tensors {
			t.Close()
		}
	}()
	if err != nil {
		return err
	}
	switch filepath.Ext(to) {
	case ".safetensors":
		err = safetensors.Save(to, sorted(tensors), safetensors.SaveOptions{Metadata: metadata})
	case ".pt", ".pth":
		err = pt.Save(to, sorted(tensors))
	default:
		return cli.Usagef("convert: %s is neither .pt, .pth nor .safetensors", to)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d tensors\n", to, len(tensors))
	return nil
}

// mappedSafetensors are the tensors of a file, or of those of an index.
func mappedSafetensors(path string) (map[string]torch.Tensor, map[string]string, error) {
	r, err := safetensors.Open(path, safetensors.OpenOptions{MMap: true})
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	tensors := map[string]torch.Tensor{}
	for _, name := range r.Names() {
		if tensors[name], err = r.Tensor(name); err != nil {
			return tensors, nil, err
		}
	}
	return tensors, r.Metadata, nil
}

// mappedPart are the tensors of a state dict, or of one in a checkpoint.
func mappedPart(path, part string) (map[string]torch.Tensor, error) {
	if part == "" {
		return pt.LoadStateDict(path, pt.LoadOptions{MMap: true})
	}
	v, err := pt.Load(path, pt.LoadOptions{MMap: true})
	if err != nil {
		return nil, err
	}
	defer pt.Close(v)
	whole, _ := v.(*pt.Dict)
	dict := whole.Dict(part)
	if dict == nil {
		return nil, fmt.Errorf("%s has no state dict %q", path, part)
	}
	tensors, err := dict.Tensors()
	if err != nil {
		return nil, err
	}
	for name, t := range tensors {
		tensors[name] = t.Alias()
	}
	return tensors, nil
}

// sorted are tensors in the order of their names, so that equal ones make equal files.
func sorted(tensors map[string]torch.Tensor) iter.Seq2[string, torch.Tensor] {
	return func(yield func(string, torch.Tensor) bool) {
		for _, name := range slices.Sorted(maps.Keys(tensors)) {
			if !yield(name, tensors[name]) {
				return
			}
		}
	}
}
