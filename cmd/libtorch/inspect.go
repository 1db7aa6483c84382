package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/checkpoint"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

const inspectIntro = `usage: libtorch inspect [-hash] FILE

Lists what is in a file of weights: names, dtypes, shapes and sizes of tensors, and what else it says. FILE is a .pt or .pth, a
.safetensors, the index of several (.json), or the folder of a checkpoint, which is compared with its sums. Tensors are not read.
Of a TorchScript program, which is loaded by a process of its own, it shows the modules and the methods.
`

func inspect(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("inspect", flag.ContinueOnError)
	hash := fs.Bool("hash", false, "print the SHA-256 of the file")
	found, err := parse(fs, args, out, inspectIntro, "FILE")
	if err != nil {
		return err
	}
	path := found[0]
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := checkpoint.Verify(path); err != nil {
			return err
		}
		fmt.Fprintln(out, "a checkpoint, as it was written")
		path = filepath.Join(path, "checkpoint.pt")
	}
	if *hash {
		if err := printHash(path, out); err != nil {
			return err
		}
	}
	l := &listing{out: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	switch filepath.Ext(path) {
	case ".safetensors", ".json":
		err = l.safetensors(path)
	default:
		if err = l.pt(path); errors.Is(err, pt.ErrTorchScript) {
			return l.script(ctx, path)
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(l.out, "%d tensors, %d bytes\n", l.tensors, l.bytes)
	return l.out.Flush()
}

func printHash(path string, out io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	fmt.Fprintln(out, "sha256", hex.EncodeToString(sum.Sum(nil)))
	return nil
}

// listing prints tensors line by line and adds up their sizes.
type listing struct {
	out     *tabwriter.Writer
	tensors int
	bytes   int64
}

func (l *listing) tensor(name string, dtype torch.DType, shape []int, bytes int64) {
	l.tensors++
	l.bytes += bytes
	fmt.Fprintf(l.out, "%s\t%v\t%v\t%d\n", cmp.Or(name, "(the value)"), dtype, shape, bytes)
}

func (l *listing) safetensors(path string) error {
	r, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, key := range slices.Sorted(maps.Keys(r.Metadata)) {
		fmt.Fprintf(l.out, "%s = %q\n", key, r.Metadata[key])
	}
	for _, name := range r.Names() {
		info, err := r.Info(name)
		if err != nil {
			return err
		}
		l.tensor(name, info.DType, info.Shape, info.Bytes)
	}
	return nil
}

func (l *listing) pt(path string) error {
	v, err := pt.Load(path, pt.LoadOptions{MMap: true})
	if err != nil {
		return err
	}
	defer pt.Close(v)
	return torch.Try(func() { l.value("", v) })
}

// script shows what a TorchScript program is. A child process loads it, since it is code.
func (l *listing) script(ctx context.Context, path string) error {
	info, err := jit.Inspect(ctx, path)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.out, "a TorchScript program: code, to be loaded from whom one trusts (torch/jit)\n%s\n", info.Tree)
	for _, method := range info.Methods {
		var args []string
		for _, a := range method.Args {
			text := a.Name + ": " + a.Type
			if a.HasDefault {
				text += " = " + a.Default
			}
			args = append(args, text)
		}
		fmt.Fprintf(l.out, "%s(%s) -> %s\n", method.Name, strings.Join(args, ", "), strings.Join(method.Results, ", "))
	}
	fmt.Fprintf(l.out, "%d tensors, %d bytes\n", info.Tensors, info.Bytes)
	return l.out.Flush()
}

// value lists what a value of a .pt holds, under names that are joined by dots.
func (l *listing) value(name string, v any) {
	switch v := v.(type) {
	case torch.Tensor:
		l.tensor(name, v.DType(), v.Shape(), int64(v.NumEl()*v.ElementSize()))
	case pt.Parameter:
		l.value(name, v.Tensor)
	case pt.Attributed:
		l.value(name, v.Tensor)
	case *pt.Dict:
		for key, item := range v.All() {
			l.value(strings.TrimPrefix(fmt.Sprint(name, ".", key), "."), item)
		}
	case []any:
		l.list(name, v)
	case pt.Tuple:
		l.list(name, v)
	default:
		const most = 80
		text := fmt.Sprintf("%v", v)
		if len(text) > most {
			text = text[:most] + "…"
		}
		fmt.Fprintf(l.out, "%s = %s\n", name, text)
	}
}

// list shows plain values in one line, anything else item by item.
func (l *listing) list(name string, list []any) {
	plain := !slices.ContainsFunc(list, func(v any) bool {
		switch v.(type) {
		case nil, bool, int, float64, string:
			return false
		}
		return true
	})
	if plain {
		l.value(name, fmt.Sprint(list))
		return
	}
	for i, v := range list {
		l.value(strings.TrimPrefix(fmt.Sprint(name, ".", i), "."), v)
	}
}
