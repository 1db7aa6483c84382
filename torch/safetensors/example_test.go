package safetensors_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// A model goes into a file and comes back.
func ExampleSave() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")

	model, other := nn.NewLinear(3, 2), nn.NewLinear(3, 2)
	if err := safetensors.Save(path, nn.StateDict(model), safetensors.SaveOptions{Metadata: map[string]string{"epoch": "7"}}); err != nil {
		fmt.Println(err)
		return
	}
	file, err := safetensors.Load(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	fmt.Println(nn.LoadStateDict(other, file.Tensors), file.Metadata["epoch"])
	fmt.Println(other.Weight.Equal(model.Weight))
	// Output:
	// <nil> 7
	// true
}

// Files may be in memory, or come from the network.
func ExampleWrite() {
	var b bytes.Buffer
	tensors := map[string]torch.Tensor{"steps": torch.FromValue(12)}
	if err := safetensors.Write(&b, maps.All(tensors)); err != nil {
		fmt.Println(err)
		return
	}
	file, err := safetensors.Read(&b, int64(b.Len()))
	fmt.Println(file.Tensors["steps"], err)
	file.Close()
	// Output: tensor(12) <nil>
}

// Nothing is allocated for a file that is not sound.
func ExampleRead() {
	text := "GIF89a, but surely no tensors"
	_, err := safetensors.Read(strings.NewReader(text), int64(len(text)))
	fmt.Println(errors.Is(err, safetensors.ErrFormat))
	// Output: true
}
