package fuzz

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// The calls that PyTorch's test database makes, written down by python/record.py.
//
//go:embed testdata/samples.txt
var recorded string

// Samples of what PyTorch's database does not know, by hand.
//
//go:embed testdata/seeds.txt
var seeds string

// readSamples are all samples by target.
var readSamples = sync.OnceValue(func() map[string][]Case {
	all := map[string][]Case{}
	for _, text := range []string{recorded, seeds} {
		list, err := ParseAll(text)
		if err != nil {
			panic(err)
		}
		for _, c := range list {
			all[c.Target] = append(all[c.Target], c)
		}
	}
	return all
})

// Record has Python write the samples anew.
func Record(python *exec.Cmd, folder string, to io.Writer) error {
	var out bytes.Buffer
	python.Args = append(python.Args, folder+"/internal/fuzz/python/record.py", folder+"/internal/parity/python")
	python.Env = append(python.Environ(), "TORCH_CPP_LOG_LEVEL=ERROR", "OMP_NUM_THREADS=1")
	python.Stdout, python.Stderr = &out, os.Stderr
	if err := python.Run(); err != nil {
		return fmt.Errorf("fuzz: record.py: %w", err)
	}
	_, err := out.WriteTo(to)
	return err
}
