//go:build cgo

package cgo

/*
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include "shim/dl.h"

// The part of NVIDIA's management library that we call. Its interface is stable, so these
// declarations are enough and nothing is linked.
typedef struct { unsigned gpu, memory; } nvml_rates;

static struct {
	int (*init)(void);
	const char* (*text)(int);
	int (*find)(const char* bus, void** device);
	int (*rates)(void* device, nvml_rates* out);
	int (*temperature)(void* device, int sensor, unsigned* celsius);
	int (*power)(void* device, unsigned* milliwatts);
	int (*limit)(void* device, unsigned* milliwatts);
	int (*clock)(void* device, int which, unsigned* mhz);
} nvml;

static char* nvml_open(const char* path, int* status) {
	void* lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!lib) return dl_failure();
	struct { void* at; const char* name; } wanted[] = {
		{&nvml.init, "nvmlInit_v2"}, {&nvml.text, "nvmlErrorString"}, {&nvml.find, "nvmlDeviceGetHandleByPciBusId_v2"},
		{&nvml.rates, "nvmlDeviceGetUtilizationRates"}, {&nvml.temperature, "nvmlDeviceGetTemperature"},
		{&nvml.power, "nvmlDeviceGetPowerUsage"}, {&nvml.limit, "nvmlDeviceGetEnforcedPowerLimit"}, {&nvml.clock, "nvmlDeviceGetClockInfo"},
	};
	for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		void* symbol = dlsym(lib, wanted[i].name);
		if (!symbol) return dl_failure();
		*(void**)wanted[i].at = symbol;
	}
	*status = nvml.init();
	return 0;
}

static int nvml_read(const char* bus, uint32_t* out) {
	void* device;
	nvml_rates rates;
	int err;
	if ((err = nvml.find(bus, &device))) return err;
	if ((err = nvml.rates(device, &rates))) return err;
	out[0] = rates.gpu;
	out[1] = rates.memory;
	if ((err = nvml.temperature(device, 0, &out[2]))) return err;
	if ((err = nvml.power(device, &out[3]))) return err;
	if ((err = nvml.limit(device, &out[4]))) return err;
	if ((err = nvml.clock(device, 1, &out[5]))) return err;
	return nvml.clock(device, 2, &out[6]);
}

static const char* nvml_text(int status) { return nvml.text(status); }
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// openNVML opens and initialises the management library.
func openNVML(path string) error {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	var status C.int
	if err := loadError(C.nvml_open(p, &status)); err != nil {
		return fmt.Errorf("%w: %w", ErrMissingLibrary, err)
	}
	if status != 0 {
		return errors.New(nvmlText(int(status)))
	}
	return nil
}

// readNVML reads what the library knows about the card in that PCI slot and returns the
// library's error number.
func readNVML(bus string, out *[nvmlReadings]uint32) int {
	p := C.CString(bus)
	defer C.free(unsafe.Pointer(p))
	return int(C.nvml_read(p, (*C.uint32_t)(&out[0])))
}

func nvmlText(status int) string { return C.GoString(C.nvml_text(C.int(status))) }
