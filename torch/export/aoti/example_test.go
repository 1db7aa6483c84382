package aoti_test

import (
	"fmt"
	"log"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export/aoti"
)

// What a package takes is known before any of its code runs.
func Example() {
	path := os.Getenv("PACKAGE") // of torch._inductor.aoti_compile_and_package
	if path == "" {
		return
	}
	models, err := aoti.Inspect(path)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range models {
		fmt.Println(m.Name, m.Device, m.Inputs)
	}
	m, err := aoti.LoadTrusted(path, aoti.LoadOptions{Model: models[0].Name, Runners: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	out, err := m.Run(torch.Zeros(m.Inputs()[0].Shape()...))
	if err != nil {
		log.Fatal(err)
	}
	defer torch.Close(out...)
	fmt.Println(out[0].Shape())
	// Output:
}

// A package without its source is told what it takes. Sizes of the same name are equal in each call.
func ExampleInput() {
	rows := aoti.Varying("rows")
	inputs := []aoti.Input{
		{Name: "x", DType: torch.Float32, Sizes: []aoti.Size{rows, aoti.Fixed(8)}},
		{Name: "mask", DType: torch.Bool, Sizes: []aoti.Size{rows}},
	}
	for _, in := range inputs {
		fmt.Println(in, in.Shape())
	}
	// Output:
	// x float32[rows, 8] [-1 8]
	// mask bool[rows] [-1]
}
