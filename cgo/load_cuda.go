package cgo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/internal/home"
)

// Reasons why CUDA cannot be used, for errors.Is.
var (
	ErrHidden          = errors.New("CUDA is hidden from this process")
	ErrNoDriver        = errors.New("there is no NVIDIA driver")
	ErrMissingLibrary  = errors.New("a library is missing")
	ErrVersionMismatch = errors.New("versions do not fit each other")
	ErrNoDevice        = errors.New("there is no device")
)

const envVisible = "CUDA_VISIBLE_DEVICES"

// CUDAError says why CUDA cannot be used in this process. It is nil if CUDA was loaded.
func CUDAError() error {
	if err := Load(); err != nil {
		return err
	}
	return noCUDA
}

// openCUDA loads the CUDA half if there is a driver, a CUDA build of libtorch and its
// libraries. Otherwise it says what is missing, and the process runs on the CPU.
func openCUDA(dir, lib string) error {
	if names, set := os.LookupEnv(envVisible); set && (names == "" || names == "-1") {
		return hidden(names)
	}
	if err := openLibrary("libcuda.so.1", true, false); err != nil {
		return fmt.Errorf("%w: %w; install NVIDIA's driver, or give the container the card (docker run --gpus all)", ErrNoDriver, err)
	}
	for _, path := range openedByName(lib) {
		_ = openLibrary(path, true, false) // its user reports a missing library, or finds it elsewhere
	}
	for _, name := range []string{"libc10_cuda.so", "libtorch_cuda.so"} {
		path := filepath.Join(lib, name)
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%w: the libtorch in %s is for the CPU alone, it has no %s; point $%s at one for CUDA, or unset it and %s",
				ErrMissingLibrary, lib, name, EnvTorch, home.Advice("--cuda"))
		}
		if err := openLibrary(path, true, true); err != nil {
			return unopened(path, err, home.Advice("--cuda")+", which fetches CUDA's libraries, or point $"+EnvTorch+
				" at the torch of a Python that has them")
		}
	}
	shim := filepath.Join(dir, "lib", "libtorchgo_cuda.so")
	if _, err := os.Stat(shim); err != nil {
		return nil // tensors, streams and settings need only libtorch itself
	}
	info, err := openCUDAShim(shim)
	if err != nil {
		return unopened(shim, err, "to build it for this libtorch, "+home.Advice())
	}
	if err := info.check(shim, lib); err != nil {
		return fmt.Errorf("%w: %w", ErrVersionMismatch, err)
	}
	return info.checkCUDA(shim, lib)
}

// checkCUDA refuses a shim whose structs are those of another CUDA.
func (s shimInfo) checkCUDA(shim, lib string) error {
	const major = 1000
	if built, found := s.cudaBuilt/major, s.cudaFound/major; built != found {
		return fmt.Errorf("%w: the shim %s was built for CUDA %d but the libtorch in %s is for CUDA %d; point $%s at one for CUDA "+
			"%d, or unset it",
			ErrVersionMismatch, shim, built, lib, found, EnvTorch, built)
	}
	return nil
}

// openedByName are libraries that cuDNN, cuSPARSE and NVRTC itself open by their names alone. In
// the folders beside libtorch, where pip puts them, the linker would not look for those; once they
// are in the process it does not have to. Python's torch opens them beforehand for the same reason.
func openedByName(lib string) (paths []string) {
	for _, name := range []string{"libnvJitLink.so.*", "libnvrtc-builtins.so.*", "libnvrtc.so.*"} {
		found, _ := filepath.Glob(filepath.Join(lib, "..", "..", "nvidia", "*", "lib", name)) // it fails over patterns that are none
		paths = append(paths, found...)
	}
	return paths
}

func hidden(names string) error {
	return fmt.Errorf("%w: %s is %q; unset it, or name devices in it: %s=0", ErrHidden, envVisible, names, envVisible)
}

// unopened says why a library that exists cannot be opened: another one is missing or
// does not fit.
func unopened(path string, err error, advice string) error {
	reason := ErrVersionMismatch
	if strings.Contains(err.Error(), "cannot open shared object file") {
		reason = ErrMissingLibrary
	}
	return fmt.Errorf("%w: cannot open %s: %w; %s", reason, path, err, advice)
}

// What cudaGetDeviceCount returns if it finds no device.
const (
	cudaInsufficientDriver = 35
	cudaNoDevice           = 100
	cudaDriverMismatch     = 803
	cudaCompatUnsupported  = 804
)

// DeviceError says why libtorch counts no device although CUDA was loaded. libtorch does
// not tell, so the CUDA runtime is asked again.
func DeviceError() error {
	var c Call
	c.Begin(OpCudaState)
	if err := c.Run(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoDevice, err)
	}
	code, text := c.IntResult(0), c.Text(2)
	switch code {
	case cudaInsufficientDriver, cudaDriverMismatch, cudaCompatUnsupported:
		return fmt.Errorf("%w: %s; update NVIDIA's driver (nvidia-smi shows which CUDA it can run), and restart after that",
			ErrVersionMismatch, text)
	}
	if names, set := os.LookupEnv(envVisible); set && code == cudaNoDevice {
		return hidden(names)
	}
	return fmt.Errorf("%w: %s; nvidia-smi shows what the driver sees", ErrNoDevice, text)
}
