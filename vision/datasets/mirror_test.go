package datasets

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMirrorsAreUnderstood(t *testing.T) {
	for mirror, want := range map[string]source{
		"https://host/a/b.tar.gz":        archive{remote{url: "https://host/a/b.tar.gz"}},
		"http://host:8080/b.tgz?token=1": archive{remote{url: "http://host:8080/b.tgz?token=1"}},
		"https://host/mnist/":            folder{remote{url: "https://host/mnist/"}},
		"npm:name@1.2.3":                 npmPackage{"name@1.2.3"},
		"npm:@scope/name@1.2.3":          npmPackage{"@scope/name@1.2.3"},
		"go:example.com/m/v2@v2.0.0":     goModule{"example.com/m/v2@v2.0.0"},
	} {
		got, err := smallRelease().sources([]string{mirror})
		require.NoError(t, err)
		require.Equal(t, []source{want}, got)
	}
	for _, own := range []struct {
		release *release
		mirrors []string
	}{{&cifar10Release, CIFAR10Mirrors()}, {&mnistRelease, MNISTMirrors()}} {
		require.Equal(t, own.mirrors, own.release.mirrors)
		_, err := own.release.sources(own.mirrors)
		require.NoError(t, err)
	}
}

func TestMirrorsThatAreNone(t *testing.T) {
	good, seen := serve(t, nil, honest)
	for _, mirror := range []string{
		"", "host/b.tar.gz", "ftp://host/b.tar.gz", "https://host/b.zip", "https://host", "https:///b.tar.gz", "https://[/b.tar.gz",
		"npm:", "npm:name", "npm:@scope/name", "npm:name@", "go:example.com/m", "go:@v1", "pip:name@1",
	} {
		root := t.TempDir()
		_, err := LoadCIFAR10(context.Background(), root, true, CIFAR10Options{Mirrors: []string{good, mirror}})
		require.ErrorContains(t, err, "datasets: mirror \""+mirror+"\": expected the address of a .tar.gz or .tgz", mirror)
		require.NotErrorIs(t, err, ErrUnavailable)
		_, err = LoadMNIST(context.Background(), root, true, MNISTOptions{Mirrors: []string{mirror}})
		require.ErrorContains(t, err, "npm:name@version or go:module@version")
		requireOnly(t, root)
	}
	require.Empty(t, seen.all(), "nothing is asked before the whole list is understood")
}
