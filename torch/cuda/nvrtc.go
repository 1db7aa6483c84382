package cuda

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/cache"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// CompileOptions say how to compile CUDA C++. The zero CompileOptions and nil compile for the
// current card.
type CompileOptions struct {
	Name  string   // of the source, in messages; default "kernel.cu"
	Arch  int      // the compute capability times ten: 90 for an H100; default: the card's
	Flags []string // NVRTC's: "--use_fast_math", "-DN=4", "-Ifolder"
	// Instances are the template instances to compile: "scale<float>". They are kernels
	// under these names.
	Instances []string
}

// CompileError is a source that does not compile.
type CompileError struct {
	Name string // from CompileOptions
	Log  string // NVRTC's log
}

// Error has the compiler's log.
func (e *CompileError) Error() string {
	return fmt.Sprintf("torch/cuda: %s does not compile:\n%s", e.Name, strings.TrimSpace(e.Log))
}

// Compile compiles CUDA C++ with NVRTC for a card, the current one, and loads it there.
//
//	m, err := cuda.Compile(`
//	__global__ void axpy(float a, const float* x, float* y, int n) {
//		int i = blockIdx.x * blockDim.x + threadIdx.x;
//		if (i < n) y[i] += a * x[i];
//	}`, nil)
//	…
//	m.Kernel("axpy").Launch(cuda.Blocks(n, 256), cuda.Dim3{X: 256}, 0, float32(2), x, y, n)
//
// The result is kept in the user's cache folder, by a hash of the source, the options, the card's
// architecture and NVRTC's version. CUDA's headers (cuda_fp16.h) are found where libtorch's own
// are installed. A source that does not compile is a *[CompileError] with NVRTC's log. Without a
// card the error matches torch.ErrNoCUDA; [CompileBinary] needs none.
func Compile(source string, opts ...CompileOptions) (*Module, error) {
	if err := Unavailable(); err != nil {
		return nil, err
	}
	device, err := torch.Try1(CurrentDevice)
	if err != nil {
		return nil, err
	}
	b, err := CompileBinary(source, opts...)
	if err != nil {
		return nil, err
	}
	return b.Load(device)
}

// Binary is compiled CUDA C++, for cards of one architecture.
type Binary struct {
	Arch int    // the compute capability times ten
	Log  string // NVRTC's warnings

	image     string
	instances map[string]string // their symbols
	kernels   map[string]string // the symbols of all, by their names
}

// CompileBinary is [Compile] without the loading: it needs NVRTC, but no card if options.Arch is set.
func CompileBinary(source string, opts ...CompileOptions) (*Binary, error) {
	o := option.One(opts)
	o.Name = cmp.Or(o.Name, "kernel.cu")
	version, err := openNVRTC()
	if err != nil {
		return nil, err
	}
	if o.Arch == 0 {
		if o.Arch, err = arch(); err != nil {
			return nil, err
		}
	}
	flags := append([]string{fmt.Sprintf("-arch=sm_%d", o.Arch), "-default-device"}, o.Flags...)
	for _, dir := range cudaDirs("include") {
		flags = append(flags, "-I"+dir)
	}
	parts := slices.Concat([]string{source, version, o.Name, "flags"}, flags, []string{"instances"}, o.Instances)
	path, err := cache.File("nvrtc", cache.Key(parts...)+".json", func(path string) error {
		made, err := compile(source, o, flags)
		if err != nil {
			return err
		}
		text, err := json.Marshal(made)
		if err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o600)
	})
	if wrong := new(CompileError); errors.As(err, &wrong) {
		return nil, wrong
	}
	if err != nil {
		return nil, fmt.Errorf("torch/cuda: %w", err)
	}
	return readBinary(path, o.Arch)
}

// compiled is what the cache keeps.
type compiled struct {
	Image     []byte
	Log       string
	Instances map[string]string
}

func compile(source string, o CompileOptions, flags []string) (*compiled, error) {
	var c cgo.Call
	c.Begin(cgo.OpNvrtcCompile)
	c.Str(source)
	c.Str(o.Name)
	putStrings(&c, flags)
	putStrings(&c, o.Instances)
	if err := torch.Try(func() { bridge.Done(&c) }); err != nil {
		return nil, err
	}
	values := c.Boxed()
	log := values[1].(string)
	if values[0] == nil {
		return nil, &CompileError{Name: o.Name, Log: log}
	}
	made := &compiled{Image: []byte(values[0].(string)), Log: log, Instances: map[string]string{}}
	for i, name := range o.Instances {
		made.Instances[name] = values[2+i].(string)
	}
	return made, nil
}

func putStrings(c *cgo.Call, list []string) {
	c.List(len(list))
	for _, s := range list {
		c.Str(s)
	}
}

func readBinary(path string, arch int) (*Binary, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("torch/cuda: %w", err)
	}
	var made compiled
	if err := json.Unmarshal(text, &made); err != nil {
		return nil, fmt.Errorf("torch/cuda: the file %s is broken, remove it: %w", path, err)
	}
	kernels, err := kernelsOf(made.Image)
	if err != nil {
		return nil, fmt.Errorf("torch/cuda: the file %s is broken, remove it: %w", path, err)
	}
	for name, symbol := range made.Instances {
		kernels[name] = symbol
	}
	return &Binary{Arch: arch, Log: made.Log, image: string(made.Image), instances: made.Instances, kernels: kernels}, nil
}

// arch is the architecture of the current card.
func arch() (int, error) {
	if err := Unavailable(); err != nil {
		return 0, err
	}
	return torch.Try1(func() int {
		var c cgo.Call
		c.Begin(cgo.OpKernelArch)
		c.Int(CurrentDevice())
		bridge.Done(&c)
		return c.IntResult(0)
	})
}

var nvrtc struct {
	sync.Mutex
	version string
}

// openNVRTC opens NVRTC. It opens NVRTC's builtins first, because NVRTC would not find them
// by itself.
func openNVRTC() (version string, err error) {
	nvrtc.Lock()
	defer nvrtc.Unlock()
	if nvrtc.version != "" {
		return nvrtc.version, nil
	}
	if err := torch.Load(); err != nil {
		return "", err
	}
	found := []string{"libnvrtc.so"} // the system's, if it has one
	for _, dir := range cudaDirs("lib*") {
		builtins, library := newest(dir, "libnvrtc-builtins.so.*"), newest(dir, "libnvrtc.so.*")
		if builtins != "" && library != "" {
			found = []string{builtins, library}
			break
		}
	}
	err = torch.Try(func() {
		var c cgo.Call
		c.Begin(cgo.OpNvrtcOpen)
		putStrings(&c, found)
		bridge.Done(&c)
		nvrtc.version = fmt.Sprintf("%d.%d", c.IntResult(0), c.IntResult(1))
	})
	if err != nil {
		return "", fmt.Errorf("torch/cuda: %w: NVRTC, which compiles kernels, is not there (./build.sh --cuda fetches it, "+
			"$CUDA_HOME says where a CUDA toolkit is): %w", torch.ErrNoCUDA, err)
	}
	return nvrtc.version, nil
}

// cudaDirs are the folders of that name of the CUDA libraries: those installed beside libtorch,
// then those of a toolkit.
func cudaDirs(name string) (list []string) {
	var patterns []string
	if dir, err := cgo.TorchDir(); err == nil {
		patterns = append(patterns, filepath.Join(dir, "..", "nvidia", "*", name))
	}
	for _, home := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda"} {
		if home != "" {
			patterns = append(patterns, filepath.Join(home, name))
		}
	}
	for _, pattern := range patterns {
		dirs, _ := filepath.Glob(pattern) // it fails for malformed patterns only
		list = append(list, dirs...)
	}
	return list
}

func newest(dir, pattern string) string {
	files, _ := filepath.Glob(filepath.Join(dir, pattern))
	if len(files) == 0 {
		return ""
	}
	return slices.Max(files)
}
