// Command tarball_divide takes the regular files of a tar.gz apart into one tar.gz for each class, the name of the folder that a
// file is in:
//
//	tarball_divide -out FOLDER images.tar.gz
package main

import (
	"archive/tar"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/wangkuiyi/gotorch/tool/tgz"
)

func main() {
	out := flag.String("out", "./", "the `folder` of the results")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: tarball_divide -out FOLDER images.tar.gz")
		os.Exit(2)
	}
	if err := divide(flag.Arg(0), *out); err != nil {
		log.Fatal(err)
	}
}

func divide(input, output string) (err error) {
	in, err := tgz.OpenFile(input)
	if err != nil {
		return err
	}
	defer in.Close()
	classes := map[string]*tgz.Writer{}
	defer func() {
		for _, w := range classes {
			err = errors.Join(err, w.Close())
		}
	}()
	for {
		header, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		class := filepath.Base(filepath.Dir(header.Name))
		if classes[class] == nil {
			if classes[class], err = tgz.CreateFile(filepath.Join(output, class+".tar.gz")); err != nil {
				return err
			}
		}
		if err := classes[class].WriteHeader(header); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
		if _, err := io.Copy(classes[class], in); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}
