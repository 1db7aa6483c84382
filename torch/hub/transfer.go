package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/internal/atomicfile"
	"github.com/libtorch-go/libtorch/internal/fetch"
	"github.com/libtorch-go/libtorch/internal/flock"
)

// ErrStalled is matched by the error for a server that sends nothing for too long.
var ErrStalled = fetch.ErrStalled

// transfer brings one file. What has come is in a file beside the target, which a later transfer continues; one
// process at a time is at it.
func transfer(ctx context.Context, address, target string, o Options) error {
	part, err := flock.Open(ctx, target+".partial", nil)
	if err != nil {
		return err
	}
	defer part.Close()
	if _, err := os.Stat(target); err == nil { // another process was faster
		return os.Remove(part.Name())
	}
	t := fetch.Transfer{URL: address, Retries: 3, Stall: o.Stall, Progress: o.Progress}
	if o.Retries != 0 {
		t.Retries = o.Retries
	}
	if err := t.Run(ctx, part); err != nil {
		return err
	}
	return finish(part, target, o.SHA256)
}

// finish checks the file and puts it into its place.
func finish(part *os.File, target, digits string) error {
	if _, err := part.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, part); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); !strings.HasPrefix(got, digits) {
		return errors.Join(fmt.Errorf("%w: its SHA-256 is %s, expected it to begin with %s; nothing of it is kept", ErrHash, got, digits),
			os.Remove(part.Name()))
	}
	if err := part.Sync(); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), target); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(target))
}
