package torch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

func ExampleFromSlice() {
	pixels := []uint8{0, 64, 128, 255, 10, 20}
	image := torch.FromSlice(pixels, -1, 3) // the size -1 is worked out
	fmt.Println(image, image.Shape())
	fmt.Println(torch.FromSlice([]bool{true, false}))
	// Output:
	// tensor([[  0,  64, 128],
	//         [255,  10,  20]], dtype=torch.uint8) [2 3]
	// tensor([ True, False])
}

func ExampleFromNested() {
	type grade float32 // an element may be of a type of one's own
	fmt.Println(torch.FromNested([][]grade{{1.5, 2}, {3, 4.5}}))
	fmt.Println(torch.FromNested([2][2]int{{1, 2}, {3, 4}}).DType())

	_, err := torch.Try1(func() torch.Tensor { return torch.FromNested([][]int{{1, 2}, {3}}) })
	fmt.Println(err)
	// Output:
	// tensor([[1.5000, 2.0000],
	//         [3.0000, 4.5000]])
	// int64
	// torch: from_nested: lists of one depth have 2 and 1 elements, expected the same number in each
}

func ExampleFromValue() {
	temperature := torch.FromValue(21.5) // a number has no dimension
	fmt.Println(temperature, temperature.Shape(), temperature.DType())
	// Output: tensor(21.5000, dtype=torch.float64) [] float64
}

// Bytes come from a file, a socket or another program.
func ExampleFromBytes() {
	raw := []byte{0, 0, 128, 63, 0, 0, 0, 64} // two little-endian float32
	x := torch.FromBytes(raw, torch.Float32, 2)
	fmt.Println(x)
	fmt.Println(x.Bytes())
	// Output:
	// tensor([1., 2.])
	// [0 0 128 63 0 0 0 64]
}

// A buffer that is made once and filled for every request saves the allocation.
func ExampleFill() {
	input := torch.Zeros(2, 2)
	defer input.Close()
	for _, request := range [][]float32{{1, 2, 3, 4}, {5, 6, 7, 8}} {
		torch.Fill(input, request)
		torch.Scope(func() { fmt.Println(input.Sum().Float64()) })
	}
	// Output:
	// 10
	// 26
}

func ExampleValues() {
	x := torch.FromSlice([]float32{1.9, -2.9, 3})
	fmt.Println(torch.Values[float32](x))
	fmt.Println(torch.Values[int](x)) // converted as To converts
	// Output:
	// [1.9 -2.9 3]
	// [1 -2 3]
}

func ExampleMatrix() {
	for _, row := range torch.Matrix[int](torch.Arange(6).Reshape(2, 3)) {
		fmt.Println(row)
	}
	// Output:
	// [0 1 2]
	// [3 4 5]
}

// Item is for code that does not know the dtype; Value, Float64 and Int are for code that does.
func ExampleTensor_Item() {
	for _, x := range []torch.Tensor{torch.FromValue(3), torch.FromValue(0.5), torch.FromValue(true)} {
		v := x.Item()
		fmt.Printf("%T %v\n", v, v)
	}
	// Output:
	// int64 3
	// float64 0.5
	// bool true
}

func ExampleTensor_Float64() {
	total := 0.0
	for _, loss := range []float32{0.75, 0.25} {
		total += torch.FromValue(loss).Float64()
	}
	fmt.Println(total / 2)
	// Output: 0.5
}

func ExampleTensor_Int() {
	scores := torch.FromSlice([]float32{0.1, 0.7, 0.2})
	classes := []string{"cat", "dog", "fox"}
	fmt.Println(classes[scores.ArgMax().Int()])
	// Output: dog
}

func ExampleTensor_Rows() {
	batch := torch.FromSlice([]float32{3, 4, 6, 8}, 2, 2)
	for i, row := range batch.Rows() {
		fmt.Println(i, row.Norm().Float64())
	}
	// Output:
	// 0 5
	// 1 10
}

// A tensor in a struct that is written as JSON is a mistake that does not stay silent.
func ExampleTensor_MarshalJSON() {
	answer := struct{ Scores torch.Tensor }{torch.Ones(2)}
	_, err := json.Marshal(answer)
	fmt.Println(errors.Unwrap(err))
	text, err := json.Marshal(torch.Values[float32](answer.Scores))
	fmt.Println(string(text), err)
	// Output:
	// torch: json: a tensor has no JSON; write its torch.Values, or a file of torch/safetensors
	// [1,1] <nil>
}

func ExampleDTypeOf() {
	fmt.Println(torch.DTypeOf[int](), torch.DTypeOf[float64](), torch.DTypeOf[torch.BF16]())
	// Output: int64 float64 bfloat16
}

// Half precision has no type in Go: BF16 and F16 hold the bits.
func ExampleToBF16() {
	third := torch.ToBF16(1.0 / 3)
	fmt.Println(third.Float32())
	fmt.Println(torch.FromSlice([]torch.BF16{third, torch.ToBF16(2)}))
	// Output:
	// 0.33398438
	// tensor([0.3340, 2.0000], dtype=torch.bfloat16)
}

func ExampleParseDType() {
	d, err := torch.ParseDType("bfloat16") // of a flag or a configuration file
	fmt.Println(d, err)
	_, err = torch.ParseDType("float17")
	problem, _, _ := strings.Cut(err.Error(), ";")
	fmt.Println(problem)
	// Output:
	// bfloat16 <nil>
	// torch: "float17" is not a dtype
}

func ExampleDType_IsFloatingPoint() {
	for _, d := range []torch.DType{torch.Int64, torch.Float16, torch.Complex64} {
		fmt.Println(d, d.IsFloatingPoint(), d.IsComplex(), d.Size())
	}
	// Output:
	// int64 false false 8
	// float16 true false 2
	// complex64 false true 8
}

// Numbers do not widen a tensor of the same kind, tensors do.
func ExamplePromoteTypes() {
	fmt.Println(torch.PromoteTypes(torch.Int32, torch.Float16))
	fmt.Println(torch.PromoteTypes(torch.Float16, torch.BFloat16))
	small := torch.Ones(2).To(torch.Float16)
	fmt.Println(torch.ResultTypeScalar(small, 2.5), torch.ResultType(small, torch.Ones(2)))
	// Output:
	// float16
	// float32
	// float16 float32
}

func ExampleCanCast() {
	fmt.Println(torch.CanCast(torch.Float64, torch.Float32)) // loses digits, but not the kind
	fmt.Println(torch.CanCast(torch.Float32, torch.Int64))
	// Output:
	// true
	// false
}

func ExampleTensor_Equal() {
	x, y := torch.FromSlice([]float32{1, 2}), torch.FromSlice([]float32{1, 2.000001})
	fmt.Println(x.Equal(y), x.Equal(x.Clone()))
	fmt.Println(x.Eq(torch.FromSlice([]float32{1, 3}))) // element by element
	fmt.Println(x.Is(x), x.Is(x.Clone()))               // the same tensor
	// Output:
	// false true
	// tensor([ True, False])
	// true false
}

func ExampleTensor_AllClose() {
	got := torch.FromSlice([]float64{1, 100})
	want := torch.FromSlice([]float64{1.001, 100.1})
	fmt.Println(got.AllClose(want))
	fmt.Println(got.AllClose(want, torch.AllCloseOptions{RTol: new(0.01)}))
	fmt.Println(got.IsClose(want, torch.IsCloseOptions{ATol: new(0.01), RTol: new(0.0)}))
	// Output:
	// false
	// true
	// tensor([ True, False])
}
