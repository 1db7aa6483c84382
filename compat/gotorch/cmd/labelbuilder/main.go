// Command labelbuilder numbers the classes of an archive of images and saves the numbers for the trainers:
//
//	labelbuilder -data images.tar.gz -label labels.gob
package main

import (
	"encoding/gob"
	"errors"
	"flag"
	"log"
	"os"

	"github.com/wangkuiyi/gotorch/vision/imageloader"
)

func main() {
	data := flag.String("data", "", "the `archive` of images")
	label := flag.String("label", "", "the `file` to save the numbers in")
	flag.Parse()
	labels, err := imageloader.BuildLabelVocabularyFromTgz(*data)
	if err == nil {
		err = SaveLabel(labels, *label)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// SaveLabel saves the numbers of classes as a gob.
func SaveLabel(label map[string]int, fileName string) error {
	f, err := os.Create(fileName)
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(f).Encode(label), f.Close())
}
