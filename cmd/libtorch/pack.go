package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/bundle"
	"github.com/libtorch-go/libtorch/internal/cli"
	"github.com/libtorch-go/libtorch/internal/home"
)

const packIntro = `usage: libtorch bundle [FLAGS] PROGRAM DEST

Packs a program with all that it needs to run on another Linux machine: the shim, libtorch, and the libraries that these are
linked to. DEST is a folder, or an archive where it ends in .tar, .tar.gz or .tgz. The program finds the libraries beside
itself; Go, Python and a compiler are needed no more.
`

// parcel is what bundle was asked for.
type parcel struct {
	bundle.Options
	image         bool
	program, dest string
}

func pack(ctx context.Context, args []string, out io.Writer) error {
	var p parcel
	fs := flag.NewFlagSet("bundle", flag.ContinueOnError)
	fs.BoolVar(&p.CUDA, "cuda", false, "with CUDA's libraries, for machines with a card and NVIDIA's driver")
	fs.BoolVar(&p.System, "scratch", false, "with the C library, for an image FROM scratch: DEST is then a whole file system")
	fs.BoolVar(&p.image, "oci", false, "as an image in the OCI layout, from scratch: DEST is a folder, or a .tar for docker load")
	fs.BoolVar(&p.Symbols, "symbols", false, "with the names of libtorch's inner functions, for debuggers and profilers")
	found, err := parse(fs, args, out, packIntro, "PROGRAM", "DEST")
	if err != nil {
		return err
	}
	p.program, p.dest = found[0], found[1]
	p.System = p.System || p.image
	return p.run(ctx, out)
}

func (p parcel) run(ctx context.Context, out io.Writer) error {
	place, err := home.Find()
	if err != nil {
		return err
	}
	torch, _ := home.Torch(place.Dir)
	files, err := bundle.Collect(p.program, place.Dir, torch, p.Options)
	if err != nil {
		return err
	}
	if err := p.vacant(); err != nil {
		return err
	}
	total, err := sizes(out, files)
	if err != nil {
		return err
	}
	partial := p.dest + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	if err := p.write(ctx, partial, files); err != nil {
		if ctx.Err() != nil {
			return cli.Interruptedf("interrupted; %s was not written", p.dest)
		}
		return err
	}
	written, err := sizeOf(partial)
	if err != nil {
		return err
	}
	if err := replace(partial, p.dest); err != nil {
		return err
	}
	fmt.Fprintf(out, "%-10s %7.1f MB\n", "all", megabytes(total))
	fmt.Fprintf(out, "%-10s %7.1f MB\n", p.dest, megabytes(written))
	return nil
}

func (p parcel) tar() bool { return strings.HasSuffix(p.dest, ".tar") }

func (p parcel) gzip() bool {
	return strings.HasSuffix(p.dest, ".tar.gz") || strings.HasSuffix(p.dest, ".tgz")
}

// vacant refuses to write over something that is no bundle.
func (p parcel) vacant() error {
	if p.image && p.gzip() {
		return cli.Usagef("bundle: an image is compressed already: name it .tar")
	}
	info, err := os.Stat(p.dest)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	archive := p.tar() || p.gzip()
	if info.IsDir() == archive {
		return fmt.Errorf("%s is there and is something else: remove it first", p.dest)
	}
	if archive {
		return nil
	}
	entries, err := os.ReadDir(p.dest)
	if err != nil {
		return err
	}
	mark := filepath.Join("lib", home.Shim)
	if p.image {
		mark = "oci-layout"
	}
	if _, err := os.Stat(filepath.Join(p.dest, mark)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty and no earlier bundle: remove it, or name another folder", p.dest)
	}
	return nil
}

func (p parcel) write(ctx context.Context, to string, files []bundle.File) error {
	switch {
	case p.image && p.tar():
		folder := to + ".image"
		defer os.RemoveAll(folder)
		if err := bundle.WriteImage(ctx, folder, filepath.Base(p.program), files); err != nil {
			return err
		}
		parts, err := bundle.FilesIn(folder)
		if err != nil {
			return err
		}
		return toFile(ctx, to, parts, bundle.WriteTar)
	case p.image:
		return bundle.WriteImage(ctx, to, filepath.Base(p.program), files)
	case p.gzip():
		return toFile(ctx, to, files, bundle.WriteGzip)
	case p.tar():
		return toFile(ctx, to, files, bundle.WriteTar)
	}
	return bundle.WriteDir(ctx, to, files)
}

func toFile(ctx context.Context, path string, files []bundle.File, write func(context.Context, io.Writer, []bundle.File) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	err = errors.Join(write(ctx, w, files), w.Flush())
	return errors.Join(err, file.Close())
}

// sizes prints what the kinds of files weigh.
func sizes(out io.Writer, files []bundle.File) (total int64, err error) {
	var kinds []string
	sum, names := map[string]int64{}, map[string][]string{}
	for _, f := range files {
		n, err := f.Size()
		if err != nil {
			return 0, err
		}
		if !slices.Contains(kinds, f.Kind) {
			kinds = append(kinds, f.Kind)
		}
		total += n
		sum[f.Kind] += n
		names[f.Kind] = append(names[f.Kind], filepath.Base(f.Name))
	}
	for _, kind := range kinds {
		fmt.Fprintf(out, "%-10s %7.1f MB  %s\n", kind, megabytes(sum[kind]), strings.Join(names[kind], " "))
	}
	return total, nil
}

func sizeOf(path string) (total int64, err error) {
	err = filepath.WalkDir(path, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }
