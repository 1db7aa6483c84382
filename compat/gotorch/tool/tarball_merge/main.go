// Command tarball_merge puts archives together, a file from each in turn:
//
//	tarball_merge -out merged.tar.gz 0.tar.gz 1.tar.gz …
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"

	"github.com/wangkuiyi/gotorch/tool/tgz"
)

func main() {
	out := flag.String("out", "./merged.tar.gz", "the `archive` to write")
	flag.Parse()
	mergeFiles(flag.Args(), *out)
}

// mergeFiles ends the program where it fails.
func mergeFiles(fns []string, out string) {
	if err := tryMerge(fns, out); err != nil {
		log.Fatal(err)
	}
}

func tryMerge(fns []string, out string) (err error) {
	if len(fns) == 0 {
		return errors.New("there is no archive to merge")
	}
	var ins []*tgz.Reader
	defer func() {
		for _, r := range ins {
			r.Close()
		}
	}()
	for _, fn := range fns {
		r, err := tgz.OpenFile(fn)
		if err != nil {
			return err
		}
		ins = append(ins, r)
	}
	w, err := tgz.CreateFile(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return merge(ins, w)
}

// merge takes a file of each archive in turn until all have ended.
func merge(ins []*tgz.Reader, w *tgz.Writer) error {
	for more := true; more; {
		more = false
		for _, r := range ins {
			header, err := r.Next()
			if err == io.EOF {
				continue
			}
			if err != nil {
				return err
			}
			more = true
			if err := w.WriteHeader(header); err != nil {
				return fmt.Errorf("%s: %w", header.Name, err)
			}
			if _, err := io.Copy(w, r); err != nil {
				return fmt.Errorf("%s: %w", header.Name, err)
			}
		}
	}
	return nil
}
