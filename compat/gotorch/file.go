package gotorch

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
)

// Save writes the tensor to a file that Python's torch.load reads. It panics where that fails.
func (a Tensor) Save(path string) {
	if err := pt.Save(path, a.core()); err != nil {
		panic(err)
	}
}

// Load reads a tensor that Save or Python's torch.save wrote, or torch::save of C++, as gotorch itself did. It panics where
// that fails.
func Load(path string) Tensor {
	t, err := load(path)
	if err != nil {
		panic(fmt.Errorf("%s: %w", path, err))
	}
	return wrap(t)
}

func load(path string) (torch.Tensor, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return torch.Tensor{}, err
	}
	content = withoutCode(content)
	v, err := pt.Read(bytes.NewReader(content), int64(len(content)), pt.LoadOptions{Globals: []string{moduleClass}})
	if err != nil {
		return torch.Tensor{}, err
	}
	return single(v)
}

// moduleClass is what torch::save of C++ wraps a tensor in.
const moduleClass = "__torch__.Module"

// withoutCode is a file of torch::save without the program that C++ puts into it: the data are those of a file of torch.save.
// Other files stay as they are.
func withoutCode(file []byte) []byte {
	from, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return file
	}
	isCode := func(f *zip.File) bool {
		return strings.HasSuffix(f.Name, "/constants.pkl") || strings.Contains(f.Name, "/code/")
	}
	if !slices.ContainsFunc(from.File, isCode) {
		return file
	}
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	for _, f := range from.File {
		if !isCode(f) {
			err = errors.Join(err, to.Copy(f))
		}
	}
	if errors.Join(err, to.Close()) != nil {
		return file
	}
	return b.Bytes()
}

// single is the one tensor that a file holds.
func single(v any) (torch.Tensor, error) {
	switch v := v.(type) {
	case torch.Tensor:
		return v, nil
	case pt.Parameter:
		return v.Tensor, nil
	case *pt.Object:
		if attributes, ok := v.State.(*pt.Dict); ok {
			for _, value := range attributes.All() {
				if t, ok := value.(torch.Tensor); ok {
					return t, nil
				}
			}
		}
	}
	pt.Close(v)
	return torch.Tensor{}, fmt.Errorf("holds a %T: expected a tensor", v)
}

// GobEncode is the tensor in the bytes of a file of Python's torch.save. A tensor on a card is encoded as one on the CPU.
func (t Tensor) GobEncode() ([]byte, error) {
	if t.T == nil {
		return nil, errors.New("a nil tensor cannot be encoded")
	}
	var b bytes.Buffer
	err := pt.Write(&b, t.core().To(torch.CPU))
	return b.Bytes(), err
}

// GobDecode reads what GobEncode wrote, here or in gotorch itself.
func (t *Tensor) GobDecode(buf []byte) error {
	v, err := pt.Read(bytes.NewReader(buf), int64(len(buf)))
	if err != nil {
		return err
	}
	core, err := single(v)
	if err != nil {
		return err
	}
	*t = wrap(core)
	return nil
}
