package transforms

import (
	"fmt"
	"reflect"
	"unsafe"

	torch "github.com/wangkuiyi/gotorch"
	"gocv.io/x/gocv"
)

// Transform has a method Run, from whatever the transform before returns.
type Transform interface{}

// ComposeTransformer runs transforms one after another.
type ComposeTransformer struct {
	Transforms []interface{}
}

// Compose makes a ComposeTransformer.
func Compose(transforms ...interface{}) *ComposeTransformer {
	return &ComposeTransformer{Transforms: transforms}
}

// Run calls the Run of each transform with the results of the one before, and returns the last one's, which must be one value.
func (t *ComposeTransformer) Run(inputs ...interface{}) interface{} {
	for _, transform := range t.Transforms {
		run := reflect.ValueOf(transform).MethodByName("Run")
		if !run.IsValid() {
			panic(fmt.Sprintf("Compose: %T has no Run", transform))
		}
		arguments := make([]reflect.Value, len(inputs))
		for i, in := range inputs {
			arguments[i] = reflect.ValueOf(in)
		}
		inputs = nil
		for _, out := range run.Call(arguments) {
			inputs = append(inputs, out.Interface())
		}
	}
	if len(inputs) != 1 {
		panic(fmt.Sprintf("Compose: the last transform returned %d values: expected one", len(inputs)))
	}
	return inputs[0]
}

// NormalizeTransformer subtracts a mean and divides by a deviation.
type NormalizeTransformer struct {
	mean, stddev torch.Tensor
}

// Normalize makes a NormalizeTransformer from one number, or three for red, green and blue.
func Normalize(mean []float32, stddev []float32) *NormalizeTransformer {
	return &NormalizeTransformer{perChannel("mean", mean), perChannel("stddev", stddev)}
}

// perChannel is a tensor of one number for each channel.
func perChannel(name string, list []float32) torch.Tensor {
	if n := len(list); n != 1 && n != 3 {
		panic(fmt.Sprintf("Normalize: %s has %d numbers: expected 1 or 3", name, n))
	}
	t := torch.NewTensor(list)
	return t.View(-1, 1, 1)
}

// Run normalises an image of channels, rows and columns, or a batch of them.
func (t *NormalizeTransformer) Run(input torch.Tensor) torch.Tensor {
	x := input.Sub(t.mean, 1)
	return x.Div(t.stddev)
}

// ToTensorTransformer makes a tensor of an image or a number.
type ToTensorTransformer struct{}

// ToTensor makes a ToTensorTransformer.
func ToTensor() *ToTensorTransformer { return &ToTensorTransformer{} }

// Run makes a tensor with numbers from 0 to 1 of an image: three channels, rows and columns, or rows and columns of a gray one.
// A blob of gocv, whose numbers stay, becomes a tensor of four dimensions, and an int a tensor of one.
func (t ToTensorTransformer) Run(obj interface{}) torch.Tensor {
	switch v := obj.(type) {
	case gocv.Mat:
		if len(v.Size()) == 4 {
			size := gocv.GetBlobSize(v)
			return floats(v, int64(size.Val1), int64(size.Val2), int64(size.Val3), int64(size.Val4))
		}
		return imageTensor(v)
	case int:
		return torch.NewTensor([]int32{int32(v)})
	}
	panic(fmt.Sprintf("ToTensor: a %T: expected a gocv.Mat or an int", obj))
}

func imageTensor(v gocv.Mat) torch.Tensor {
	scaled := gocv.NewMat()
	defer scaled.Close()
	if v.Channels() == 3 {
		v.ConvertTo(&scaled, gocv.MatTypeCV32FC3)
	} else {
		v.ConvertTo(&scaled, gocv.MatTypeCV32FC1)
	}
	scaled.MultiplyFloat(1.0 / 255.0)
	rows, columns := int64(v.Rows()), int64(v.Cols())
	if v.Channels() == 3 {
		t := floats(scaled, rows, columns, 3)
		return t.Permute([]int64{2, 0, 1})
	}
	return floats(scaled, rows, columns)
}

// floats is a tensor of the numbers of a Mat.
func floats(m gocv.Mat, shape ...int64) torch.Tensor {
	list, err := m.DataPtrFloat32()
	if err != nil {
		panic(err)
	}
	return torch.FromBlob(unsafe.Pointer(unsafe.SliceData(list)), torch.Float, shape)
}
