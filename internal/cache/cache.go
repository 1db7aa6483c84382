package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/singleflight"
)

// Key is a name for something made from these parts: it differs if one of them differs.
func Key(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part)))) // writing to a hash cannot fail
		hash.Write([]byte(part))
	}
	const enough = 16
	return hex.EncodeToString(hash.Sum(nil)[:enough])
}

var flights singleflight.Group

// File is the path of a file in a folder of the cache, which make writes if it is not there yet.
// It appears whole or not at all; goroutines that want the same one wait for it.
func File(folder, name string, make func(path string) error) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no cache folder: %w", err)
	}
	dir := filepath.Join(base, "libtorch-go", folder)
	path := filepath.Join(dir, name)
	_, err, _ = flights.Do(path, func() (any, error) {
		if _, err := os.Stat(path); err == nil {
			return nil, nil
		}
		return nil, build(dir, path, make)
	})
	return path, err
}

func build(dir, path string, make func(path string) error) error {
	const private = 0o700 // files here are executed
	if err := os.MkdirAll(dir, private); err != nil {
		return err
	}
	work, err := os.MkdirTemp(dir, ".making-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, filepath.Base(path))
	if err := make(made); err != nil {
		return err
	}
	return os.Rename(made, path)
}
