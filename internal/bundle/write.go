package bundle

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// WriteDir puts the files into a folder.
func WriteDir(ctx context.Context, dir string, files []File) error {
	for _, f := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
		if err != nil {
			return err
		}
		if err := f.copyTo(file); err != nil {
			file.Close()
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}

// WriteTar writes the files as an archive, which depends on nothing but them: no dates, no owners.
func WriteTar(ctx context.Context, w io.Writer, files []File) error {
	t := tar.NewWriter(w)
	folders := map[string]bool{".": true}
	for _, f := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := addFolders(t, folders, path.Dir(f.Name)); err != nil {
			return err
		}
		size, err := f.Size()
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Name: f.Name, Mode: 0o755, Size: size, ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		if err := f.copyTo(t); err != nil {
			return err
		}
	}
	return t.Close()
}

func addFolders(t *tar.Writer, known map[string]bool, name string) error {
	if known[name] {
		return nil
	}
	known[name] = true
	if err := addFolders(t, known, path.Dir(name)); err != nil {
		return err
	}
	return t.WriteHeader(&tar.Header{Name: name + "/", Mode: 0o755, ModTime: time.Unix(0, 0), Typeflag: tar.TypeDir})
}

// WriteGzip is [WriteTar], compressed.
func WriteGzip(ctx context.Context, w io.Writer, files []File) error {
	z := newCompressor(w)
	return errors.Join(WriteTar(ctx, z, files), z.Close())
}

// descriptor names a blob of an image.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// WriteImage makes the files an image in the OCI layout, in a folder: one layer for libtorch, which stays the same from
// build to build, and one for program and shim. Docker's own list is there as well, for docker load.
func WriteImage(ctx context.Context, dir, program string, files []File) error {
	image := layout{dir: dir}
	if err := os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o755); err != nil {
		return err
	}
	var below, above []File
	cuda := false
	for _, f := range files {
		cuda = cuda || f.Kind == CUDA
		if f.Kind == Program || f.Kind == Ours {
			above = append(above, f)
		} else {
			below = append(below, f)
		}
	}
	var layers []descriptor
	var contents []string
	for _, layer := range [][]File{below, above} {
		blob, content, err := image.layer(ctx, layer)
		if err != nil {
			return err
		}
		layers, contents = append(layers, blob), append(contents, content)
	}
	return image.finish(program, cuda, layers, contents)
}

type layout struct{ dir string }

func (l layout) path(digest string) string {
	return filepath.Join(l.dir, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
}

func digestOf(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// layer writes files as a blob and returns the digest of what is in it, too.
func (l layout) layer(ctx context.Context, files []File) (blob descriptor, content string, err error) {
	file, err := os.CreateTemp(l.dir, "layer-")
	if err != nil {
		return blob, "", err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	outside, inside := sha256.New(), sha256.New()
	z := newCompressor(io.MultiWriter(file, outside))
	if err := errors.Join(WriteTar(ctx, io.MultiWriter(z, inside), files), z.Close()); err != nil {
		return blob, "", err
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return blob, "", err
	}
	const public = 0o644
	if err := file.Chmod(public); err != nil {
		return blob, "", err
	}
	blob = descriptor{MediaType: "application/vnd.oci.image.layer.v1.tar+gzip", Digest: digestOf(outside.Sum(nil)), Size: size}
	return blob, digestOf(inside.Sum(nil)), os.Rename(file.Name(), l.path(blob.Digest))
}

// object writes a value as a blob.
func (l layout) object(mediaType string, v any) (descriptor, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return descriptor{}, err
	}
	sum := sha256.Sum256(text)
	d := descriptor{MediaType: mediaType, Digest: digestOf(sum[:]), Size: int64(len(text))}
	return d, os.WriteFile(l.path(d.Digest), text, 0o644)
}

// finish writes what describes the layers.
func (l layout) finish(program string, cuda bool, layers []descriptor, contents []string) error {
	settings := map[string]any{"Entrypoint": []string{"/" + program}, "WorkingDir": "/"}
	if cuda {
		settings["Env"] = []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"} // what asks for the driver
	}
	config, err := l.object("application/vnd.oci.image.config.v1+json", map[string]any{
		"architecture": "amd64", "os": "linux", "config": settings,
		"rootfs": map[string]any{"type": "layers", "diff_ids": contents},
	})
	if err != nil {
		return err
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	manifest, err := l.object(manifestType, map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": layers})
	if err != nil {
		return err
	}
	name := strings.ToLower(program) + ":latest"
	manifest.Annotations = map[string]string{"org.opencontainers.image.ref.name": "latest", "io.containerd.image.name": name}
	blob := func(d descriptor) string { return "blobs/sha256/" + strings.TrimPrefix(d.Digest, "sha256:") }
	var blobs []string
	for _, d := range layers {
		blobs = append(blobs, blob(d))
	}
	for file, v := range map[string]any{
		"oci-layout":    map[string]string{"imageLayoutVersion": "1.0.0"},
		"index.json":    map[string]any{"schemaVersion": 2, "manifests": []descriptor{manifest}},
		"manifest.json": []map[string]any{{"Config": blob(config), "RepoTags": []string{name}, "Layers": blobs}},
	} {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(l.dir, file), text, 0o644); err != nil {
			return fmt.Errorf("the image's %s: %w", file, err)
		}
	}
	return nil
}

// FilesIn lists the files of a folder, to pack them as they are.
func FilesIn(dir string) (files []File, err error) {
	err = filepath.WalkDir(dir, func(p string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, p)
		if err == nil {
			files = append(files, File{Name: filepath.ToSlash(name), from: p})
		}
		return err
	})
	return files, err
}
