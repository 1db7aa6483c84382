package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// Options are the optional arguments of [Download] and [LoadStateDict].
type Options struct {
	Dir      string                  // where files are kept; default: [Dir]
	FileName string                  // default: the last part of the address
	SHA256   string                  // how the file's sum begins, in hexadecimal; default: what its name says
	Offline  bool                    // use what is there, and never the network
	Progress func(done, total int64) // is told how many bytes there are; total is -1 where the server does not say
	Retries  int                     // how often in a row a try may bring nothing before it is given up; default 3
	Stall    time.Duration           // how long a server may send nothing; default 30 s
	Load     pt.LoadOptions          // how LoadStateDict reads a .pt or .pth
}

// ErrOffline is matched by the error for a file that is not there and must not be fetched.
var ErrOffline = errors.New("hub: the file is not there, and the network must not be used")

// ErrHash is matched by the error for a file that is not the one that was asked for.
var ErrHash = errors.New("hub: the file is not the one that its name says")

// Dir is the folder of files: PyTorch's $TORCH_HOME/hub/checkpoints.
func Dir() (string, error) {
	if home := os.Getenv("TORCH_HOME"); home != "" {
		return filepath.Join(home, "hub", "checkpoints"), nil
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("hub: set TORCH_HOME to a folder for files: %w", err)
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "torch", "hub", "checkpoints"), nil
}

// hashed is PyTorch's rule for names that tell how a sum begins.
var hashed = regexp.MustCompile(`-([a-f0-9]{8,64})\.`)

// Download obtains a file unless it is there, and returns its path. A file that is there is not looked at again.
func Download(ctx context.Context, address string, opts ...Options) (string, error) {
	o := option.One(opts)
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("hub: %q is no http or https address", address)
	}
	name := cmp.Or(o.FileName, path.Base(u.Path))
	if name == "." || name == "/" || name == ".." || name != filepath.Base(name) {
		return "", fmt.Errorf("hub: %q is no name of a file; Options.FileName gives it one", name)
	}
	if o.Dir == "" {
		if o.Dir, err = Dir(); err != nil {
			return "", err
		}
	}
	if o.SHA256 == "" {
		if found := hashed.FindStringSubmatch(name); found != nil {
			o.SHA256 = found[1]
		}
	}
	o.SHA256 = strings.ToLower(o.SHA256)
	target := filepath.Join(o.Dir, name)
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	if o.Offline {
		return "", fmt.Errorf("%w: %s", ErrOffline, target)
	}
	const folder = 0o755
	if err := os.MkdirAll(o.Dir, folder); err != nil {
		return "", fmt.Errorf("hub: %w", err)
	}
	if err := transfer(ctx, address, target, o); err != nil {
		return "", fmt.Errorf("hub: %s: %w", address, err)
	}
	return target, nil
}

// LoadStateDict obtains a file and reads the state dict in it, for nn.LoadStateDict: PyTorch's
// torch.hub.load_state_dict_from_url. It reads .pt, .pth and .safetensors.
func LoadStateDict(ctx context.Context, address string, opts ...Options) (map[string]torch.Tensor, error) {
	file, err := Download(ctx, address, opts...)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(file) != ".safetensors" {
		return pt.LoadStateDict(file, option.One(opts).Load)
	}
	content, err := safetensors.Load(file)
	if err != nil {
		return nil, err
	}
	return content.Tensors, nil
}
