package export

// WholeKernels tells whether the processor has kernels of ours that compute in eight bits.
func WholeKernels() bool { return wholeKernels() }

// WithoutWholeKernels lets programs be compiled as on a processor that has none, until the function that it returns is called.
func WithoutWholeKernels() (again func()) {
	own := wholeKernels
	wholeKernels = func() bool { return false }
	return func() { wholeKernels = own }
}
