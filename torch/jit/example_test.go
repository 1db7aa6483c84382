package jit_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
)

// double doubles a tensor until it is large.
const double = `
def forward(self, x, limit: float = 10.0):
    while bool(x.sum() < limit):
        x = x * 2
    return x

def sizes(self, parts: Dict[str, Tensor]) -> Dict[str, int]:
    out: Dict[str, int] = {}
    for name, part in parts.items():
        assert part.numel() > 0, name + " is empty"
        out[name] = part.numel()
    return out
`

func Example() {
	m, err := jit.Define("Double", double)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	torch.Scope(func() {
		y, err := m.Forward(torch.FromSlice([]float32{1, 2}))
		fmt.Println(y, err)
		sizes, err := m.Call("sizes", map[string]torch.Tensor{"a": torch.Zeros(2, 3), "b": torch.Zeros(4)})
		fmt.Println(sizes, err)
	})
	// Output:
	// tensor([4., 8.]) <nil>
	// map[a:6 b:4] <nil>
}

func ExampleLoadTrusted() {
	dir, err := os.MkdirTemp("", "jit")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "double.pt")
	made, err := jit.Define("Double", double)
	if err != nil {
		log.Fatal(err)
	}
	defer made.Close()
	if err := made.Save(path); err != nil { // Python's torch.jit.load reads it
		log.Fatal(err)
	}

	m, err := jit.LoadTrusted(path)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for _, method := range m.Methods() {
		fmt.Println(method.Name, method.Args, method.Results)
	}
	_, err = jit.LoadTrusted(path, jit.LoadOptions{SHA256: "0000"})
	fmt.Println(err != nil)
	// Output:
	// forward [{x Tensor false } {limit float true 10.}] [Tensor]
	// sizes [{parts Dict[str, Tensor] false }] [Dict[str, int]]
	// true
}

func ExampleModule_Call_errors() {
	m, err := jit.Define("Double", double)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	torch.Scope(func() {
		_, err = m.Call("sizes", map[string]torch.Tensor{"a": torch.Zeros(0)})
	})
	var raised *jit.Exception
	fmt.Println(errors.As(err, &raised))
	fmt.Println(raised.Class, raised.Message)
	// Output:
	// true
	// AssertionError a is empty
}

func ExampleModule_Attribute() {
	m, err := jit.Define("Scale", "def forward(self, x):\n    return x * self.by",
		jit.DefineOptions{Attributes: map[string]any{"by": 2.0}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	if err := m.SetAttribute("by", 3); err != nil {
		log.Fatal(err)
	}
	by, err := m.Attribute("by")
	fmt.Println(by, err)
	torch.Scope(func() { fmt.Println(m.Forward1(torch.FromSlice([]float32{1, 2}))) })
	// Output:
	// 3 <nil>
	// tensor([3., 6.])
}

func ExampleModule_Parameters() {
	w := torch.FromSlice([]float32{1, 2}).SetRequiresGrad(true)
	defer w.Close()
	m, err := jit.Define("Scale", "def forward(self, x):\n    return x * self.w",
		jit.DefineOptions{Parameters: map[string]torch.Tensor{"w": w}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	torch.Scope(func() {
		m.Forward1(torch.FromSlice([]float32{3, 4})).Sum().Backward()
		parameters, err := m.Parameters()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(parameters[0].Grad())
	})
	// Output: tensor([3., 4.])
}
