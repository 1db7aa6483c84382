package fft_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/fft"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

// The loudest frequency of a signal.
func ExampleRFFT() {
	const rate = 64 // samples a second
	time := torch.Arange(rate).To(torch.Float64).DivScalar(rate)
	signal := time.MulScalar(2 * math.Pi * 5).Sin() // 5 Hz
	spectrum := fft.RFFT(signal)
	loudest := spectrum.Abs().ArgMax()
	fmt.Println(fft.RFFTFreq(rate, 1.0/rate).Index(loudest).Float64(), "Hz of", spectrum.Shape())
	// Output: 5 Hz of [33]
}

func ExampleFFT() {
	click := torch.FromSlice([]float64{1, 0, 0, 0}) // holds all frequencies alike
	fmt.Println(fft.FFT(click).DType(), fft.FFT(click).Abs())
	fmt.Println(fft.FFT(click, fft.FFTOptions{Norm: "ortho"}).Abs())
	// Output:
	// complex128 tensor([1., 1., 1., 1.], dtype=torch.float64)
	// tensor([0.5000, 0.5000, 0.5000, 0.5000], dtype=torch.float64)
}

// The length of the signal is not in the spectrum: an odd one is given.
func ExampleIRFFT() {
	x := torch.FromSlice([]float64{1, 2, 3})
	spectrum := fft.RFFT(x)
	fmt.Println(fft.IRFFT(spectrum, fft.IRFFTOptions{N: new(3)}).AllClose(x), fft.IRFFT(spectrum).Shape())
	// Output: true [2]
}

// A convolution by the transform: products of spectra.
func ExampleIFFT() {
	a := torch.FromSlice([]float64{1, 2, 0, 0})
	b := torch.FromSlice([]float64{1, 10, 0, 0})
	product := fft.IFFT(fft.FFT(a).Mul(fft.FFT(b))).Real()
	fmt.Println(product.Abs().Round())
	// Output: tensor([ 1., 12., 20.,  0.], dtype=torch.float64)
}

func ExampleFFT2() {
	image := torch.Ones(4, 4).To(torch.Float64)
	spectrum := fft.FFT2(image)
	fmt.Println(spectrum.Abs().Sum().Float64(), spectrum.Index(0, 0).Real().Float64()) // all of it in one place
	// Output: 16 16
}

func ExampleFFTFreq() {
	frequencies := fft.FFTFreq(4, 0.25)
	fmt.Println(frequencies)
	fmt.Println(fft.FFTShift(frequencies)) // zero in the middle
	// Output:
	// tensor([ 0.,  1., -2., -1.])
	// tensor([-2., -1.,  0.,  1.])
}
