package main

import (
	"bufio"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// weights are 125 tensors of a million float32 each: half a gigabyte. python/files.py has the same.
type weights struct {
	folder  string
	tensors []torch.Tensor
	seen    []torch.Tensor // what the last load brought, a few elements of each
	once    func(w *weights) error
}

const (
	weightTensors = 125
	weightRows    = 1000
)

// halfGigabyte makes the tensors once for all cases.
var halfGigabyte = sync.OnceValue(func() (list []torch.Tensor) {
	torch.Scope(func() {
		for i := range weightTensors {
			list = append(list, pattern(weightRows*weightRows, i+1, 1021).Reshape(weightRows, weightRows).Keep())
		}
	})
	return list
})

func newWeights(file string, once func(w *weights) error) (*weights, error) {
	w := &weights{folder: filepath.Dir(file), tensors: halfGigabyte(), once: once}
	for path, save := range map[string]func() error{
		w.path("safetensors"): func() error { return safetensors.Save(w.path("safetensors"), w.named()) },
		w.path("pt"):          func() error { return pt.Save(w.path("pt"), w.named()) },
	} {
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := save(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *weights) path(ending string) string { return filepath.Join(w.folder, "weights."+ending) }

// named are the tensors under the names of the file.
func (w *weights) named() iter.Seq2[string, torch.Tensor] {
	return func(yield func(string, torch.Tensor) bool) {
		for i, t := range w.tensors {
			if !yield(fmt.Sprint("weight", i), t) {
				return
			}
		}
	}
}

func (w *weights) run(n int) {
	for range n {
		if err := w.once(w); err != nil {
			torch.Throw("bench", torch.KindValue, "%v", err)
		}
	}
}

func (w *weights) check() (result string) {
	w.run(1)
	torch.Scope(func() { result = digest(w.seen...) })
	return result
}

// look keeps a row of each tensor, so that loads can be compared.
func (w *weights) look(of func(i int) torch.Tensor) {
	torch.Close(w.seen...)
	w.seen = nil
	torch.Scope(func() {
		for i := range weightTensors {
			w.seen = append(w.seen, of(i).Select(0, i).Clone().Keep())
		}
	})
}

func loadSafetensors(w *weights) error {
	err := safetensors.LoadInto(w.path("safetensors"), w.named())
	w.look(func(i int) torch.Tensor { return w.tensors[i] })
	return err
}

func loadPT(w *weights) error {
	state, err := pt.LoadStateDict(w.path("pt"))
	if err != nil {
		return err
	}
	w.look(func(i int) torch.Tensor { return state[fmt.Sprint("weight", i)] })
	for _, t := range state {
		t.Close()
	}
	return nil
}

// written writes a file as Python does: the disk is not waited for.
func (w *weights) written(name string, write func(f *bufio.Writer) error) error {
	f, err := os.Create(filepath.Join(w.folder, name))
	if err != nil {
		return err
	}
	defer f.Close()
	b := bufio.NewWriter(f)
	if err := write(b); err != nil {
		return err
	}
	w.look(func(i int) torch.Tensor { return w.tensors[i] })
	return b.Flush()
}

func saveSafetensors(w *weights) error {
	return w.written("ours.safetensors", func(b *bufio.Writer) error { return safetensors.Write(b, w.named()) })
}

func savePT(w *weights) error {
	return w.written("ours.pt", func(b *bufio.Writer) error { return pt.Write(b, w.named()) })
}

func fileCases() (list []benchmark) {
	for _, c := range []struct {
		name string
		once func(w *weights) error
	}{
		{"load safetensors into a model, 500 MB", loadSafetensors}, {"load .pt, 500 MB", loadPT},
		{"save safetensors, 500 MB", saveSafetensors}, {"save .pt, 500 MB", savePT},
	} {
		list = append(list, benchmark{name: c.name, group: fileGroup, n: 1, make: func(file string) (workload, error) {
			return newWeights(file, c.once)
		}})
	}
	return list
}
