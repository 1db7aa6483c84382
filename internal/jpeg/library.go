package jpeg

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/home"
)

// Env names the variable with the path of a libjpeg-turbo to use, or "off" for Go's own decoder.
const Env = "LIBTORCH_GO_JPEG"

// Off is the value of the variable that asks for Go's own decoder.
const Off = "off"

// ErrNone is in the error where there is no libjpeg-turbo.
var ErrNone = errors.New("no libjpeg-turbo was found")

// Open opens the library, once, and returns its path. It is looked for beside the shim, then under
// the names that systems have, then in the wheels of Python's peer. A shim without libtorch is an error, too.
var Open = sync.OnceValues(func() (string, error) {
	if err := cgo.Load(); err != nil {
		return "", err
	}
	if named := os.Getenv(Env); named != "" {
		if named == Off {
			return "", fmt.Errorf("jpeg: %w: $%s is %s", ErrNone, Env, Off)
		}
		return named, open(named)
	}
	var tried []error
	for _, path := range places() {
		if err := open(path); err != nil {
			tried = append(tried, err)
			continue
		}
		return path, nil
	}
	return "", fmt.Errorf("jpeg: %w; install libjpeg-turbo (Debian: libjpeg62-turbo, Fedora: libjpeg-turbo), or name its file in $%s: %w",
		ErrNone, Env, errors.Join(tried...))
})

func places() (list []string) {
	place, err := home.Find()
	if err != nil {
		return nil
	}
	for _, pattern := range []string{"lib/libjpeg*.so*", "lib/libturbojpeg*.so*"} {
		found, _ := filepath.Glob(filepath.Join(place.Dir, pattern)) // it fails over patterns that are none
		list = append(list, found...)
	}
	list = append(list, "libjpeg.so.8", "libjpeg.so.62")
	for _, pattern := range []string{"torchvision.libs", "pillow.libs"} {
		found, _ := filepath.Glob(filepath.Join(place.Dir, "peer", "site", pattern, "libjpeg*.so*"))
		list = append(list, found...)
	}
	return list
}

func open(path string) error {
	var c cgo.Call
	c.Begin(cgo.OpOpenJpeg)
	c.Str(path)
	if err := c.Run(); err != nil {
		return fmt.Errorf("jpeg: cannot use %s: %s", path, err.Msg)
	}
	return nil
}
