package aoti

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/archive"
	"github.com/libtorch-go/libtorch/torch"
)

// Info is what a package says of one of its models.
type Info struct {
	Name      string
	Device    torch.Device      // the kind of device that it was compiled for; the index says nothing
	Metadata  map[string]string // such as AOTI_CPU_ISA, and what was given to the compiler as aot_inductor.metadata
	Inputs    []Input           // in the order of the arguments; nil if the package does not say them
	Outputs   int               // how many there are, or -1
	Constants []Constant        // weights, buffers and what else was compiled in; nil if the package does not say them
}

// Constant is a tensor in a package.
type Constant struct {
	Name  string // as the module in Python calls it: "layer.weight"
	DType torch.DType
	Shape []int
}

// Inspect tells which models a package holds, in the order of their names. It runs nothing of them.
func Inspect(path string) ([]Info, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("aoti: %w", err)
	}
	defer file.Close()
	p, err := open(file)
	if err != nil {
		return nil, fmt.Errorf("aoti: %s: %w", path, err)
	}
	var list []Info
	for _, name := range p.names() {
		c, err := p.contents(name)
		if err != nil {
			return nil, fmt.Errorf("aoti: %s: %w", path, err)
		}
		list = append(list, c.info)
	}
	return list, nil
}

// IsPackage tells whether a file is a package of AOTInductor's, and not a program of torch.export, whose files have the same ending. A
// file that cannot be read is none.
func IsPackage(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	_, err = open(file)
	return err == nil
}

// pack is the file of a package.
type pack struct {
	r       io.ReaderAt
	archive *archive.Archive
	models  map[string]map[string]archive.Record // by the names of the models and, in these, of the files
}

const (
	folder      = "data/aotinductor/"
	mostSource  = 256 << 20 // bytes of a source
	mostWords   = 1 << 20   // bytes of a file of metadata
	sourceEnd   = ".wrapper.cpp"
	metadataEnd = "metadata.json"
	separateEnd = "weights_config.json" // weights that are not in the library, which the caller would have to load
)

// open reads the list of what a package holds.
func open(file fs.File) (*pack, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	r := file.(io.ReaderAt)
	a, err := archive.Open(r, info.Size())
	if err != nil {
		return nil, named(err)
	}
	p := &pack{r: r, archive: a, models: map[string]map[string]archive.Record{}}
	program := false
	for name, rec := range a.Records {
		program = program || strings.HasPrefix(name, "models/")
		own, ok := strings.CutPrefix(name, folder)
		if !ok {
			continue
		}
		model, own, ok := strings.Cut(own, "/")
		if !ok || !filepath.IsLocal(own) {
			return nil, malformed("the record %q belongs to no model", name)
		}
		if p.models[model] == nil {
			p.models[model] = map[string]archive.Record{}
		}
		p.models[model][own] = rec
	}
	if len(p.models) > 0 {
		return p, nil
	}
	switch {
	case a.Records["data.pkl"].Name != "":
		return nil, malformed("it is TorchScript or data of torch.save, which packages torch/jit and torch/pt read")
	case program:
		return nil, malformed("it is a program of torch.export, which package torch/export reads")
	}
	return nil, malformed("it holds no model")
}

func (p *pack) names() []string { return slices.Sorted(maps.Keys(p.models)) }

// contents are the files of one model.
type contents struct {
	info    Info
	files   map[string]archive.Record
	library string // the one with the machine code
	weights string // the one with the weights, where they are apart
}

// contents looks at the files of a model.
func (p *pack) contents(name string) (*contents, error) {
	files, ok := p.models[name]
	if !ok {
		return nil, fmt.Errorf("there is no model %q in it, but %q", name, p.names())
	}
	c := &contents{info: Info{Name: name, Outputs: -1}, files: files}
	var source, metadata string
	for _, own := range slices.Sorted(maps.Keys(files)) {
		var err error
		switch {
		case strings.HasSuffix(own, ".so") && c.library != "":
			return nil, malformed("model %q has two libraries, %q and %q", name, c.library, own)
		case strings.HasSuffix(own, ".so"):
			c.library = own
		case strings.HasSuffix(own, separateEnd):
			return nil, malformed("the weights of model %q are apart from its library: "+
				"it was compiled with package_constants_on_disk_format, which only Python loads", name)
		case strings.HasSuffix(own, ".blob"):
			c.weights = own
		case strings.HasSuffix(own, sourceEnd):
			source, err = p.text(files[own], mostSource)
		case strings.HasSuffix(own, metadataEnd) && (metadata == "" || strings.HasSuffix(own, "wrapper_"+metadataEnd)):
			metadata, err = p.text(files[own], mostWords)
		}
		if err != nil {
			return nil, err
		}
	}
	if c.library == "" {
		return nil, malformed("model %q has no library (.so): it was packaged as source alone", name)
	}
	if err := json.Unmarshal([]byte(metadata), &c.info.Metadata); err != nil {
		return nil, malformed("the metadata of model %q: %w", name, err)
	}
	var err error
	if c.info.Device, err = torch.ParseDevice(c.info.Metadata["AOTI_DEVICE_KEY"]); err != nil {
		return nil, malformed("the device of model %q is %q", name, c.info.Metadata["AOTI_DEVICE_KEY"])
	}
	c.read(source)
	return c, nil
}

func (p *pack) text(rec archive.Record, most int64) (string, error) {
	b, err := p.archive.Content(rec, most)
	return string(b), named(err)
}

// elf reads the head of the model's library.
func (p *pack) elf(c *contents) (*elf.File, error) {
	rec := c.files[c.library]
	file, err := elf.NewFile(io.NewSectionReader(p.r, rec.Data, rec.Size))
	if err != nil {
		return nil, malformed("the library %q: %w", c.library, err)
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if want, known := machines[runtime.GOARCH]; known && file.Machine != want {
		return nil, fmt.Errorf("it was compiled for another machine: %v, this is %v", file.Machine, want)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, malformed("the library %q: %w", c.library, err)
	}
	for _, name := range functions { // libtorch warns of some that are missing, and calls them all the same
		if !slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name && s.Section != elf.SHN_UNDEF }) {
			return nil, malformed("the library %q lacks the function %s", c.library, name)
		}
	}
	return file, nil
}

// functions are those of the library that are called here.
var functions = []string{"AOTInductorModelContainerCreateWithDevice", "AOTInductorModelContainerDelete", "AOTInductorModelContainerRun",
	"AOTInductorModelContainerGetNumOutputs", "AOTInductorModelContainerGetCallSpec", "AOTInductorModelContainerExtractConstantsMap"}

// unpack writes the files of a model into a folder, with their sums compared.
func (p *pack) unpack(c *contents, dir string) error {
	for own, rec := range c.files {
		path := filepath.Join(dir, own)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := p.copy(rec, path); err != nil {
			return err
		}
	}
	return nil
}

func (p *pack) copy(rec archive.Record, path string) (err error) {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if failed := to.Close(); err == nil {
			err = failed
		}
	}()
	sum := crc32.NewIEEE()
	if _, err := io.Copy(io.MultiWriter(sum, to), io.NewSectionReader(p.r, rec.Data, rec.Size)); err != nil {
		return err
	}
	if got := sum.Sum32(); got != rec.CRC {
		return malformed("the sum of record %q is %08x, expected %08x", rec.Name, got, rec.CRC)
	}
	return nil
}
