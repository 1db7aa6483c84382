package aoti

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
)

// What the source of a package says of its inputs: a function for each compares it with what was compiled for, where the
// environment asks for that. The same numbers are compared here, always.
var (
	counts = regexp.MustCompile(`AOTInductorModelBase\((\d+),\s*(\d+),`)
	checks = map[string]*regexp.Regexp{
		"input":  regexp.MustCompile(`ConstantHandle (\w+) = ConstantHandle\(input_handles\[(\d+)\]\);`),
		"dtype":  regexp.MustCompile(`int32_t (\w+)_expected_dtype = aoti_torch_dtype_(\w+)\(\);`),
		"device": regexp.MustCompile(`int32_t (\w+)_expected_device_type = (\d+);`),
		"size":   regexp.MustCompile(`if \((\d+)L* != (\w+)_size\[(\d+)\]\)`),
		"least":  regexp.MustCompile(`if \((\w+)_size\[(\d+)\] < (\d+)L*\)`),
		"most":   regexp.MustCompile(`if \((\w+)_size\[(\d+)\] > (\d+)L*\)`),
		"stride": regexp.MustCompile(`if \((-?\d+)L* != (\w+)_stride\[(\d+)\]\)`),
		"symbol": regexp.MustCompile(`int64_t (\w+) = (\w+)_size\[(\d+)\];`),
	}
	inSpec   = regexp.MustCompile(`(?m)^\s*in_spec_ = R"\((.*)\)";$`)
	constant = regexp.MustCompile(`constants_info_\[(\d+)\]\.(dtype|shape|from_folded|original_fqn) = (.*);`)
)

const mostDims = 64 // that a tensor has

// reader collects what a source says.
type reader struct {
	inputs map[string]*described // by their names in the source
	order  []*described
	broken bool
}

type described struct {
	Input
	number  string            // of the placeholder in the program
	symbols map[int]string    // the sizes that give a symbol its value
	seen    map[string]string // what is said of it as a whole
}

// read takes over what the source of a model says, if it says all.
func (c *contents) read(source string) {
	c.info.Constants = readConstants(source)
	m := counts.FindStringSubmatch(source)
	if m == nil {
		return
	}
	inputs, _ := strconv.Atoi(m[1])
	c.info.Outputs, _ = strconv.Atoi(m[2])
	r := reader{inputs: map[string]*described{}}
	for _, m := range checks["input"].FindAllStringSubmatch(source, -1) {
		r.broken = r.broken || m[2] != strconv.Itoa(len(r.order)) || r.inputs[m[1]] != nil
		own := &described{number: strings.TrimSuffix(strings.TrimPrefix(m[1], "arg"), "_1"), symbols: map[int]string{}, seen: map[string]string{}}
		r.inputs[m[1]] = own
		r.order = append(r.order, own)
	}
	r.facts(source)
	if r.broken || len(r.order) != inputs {
		return
	}
	if r.connect() {
		c.info.Inputs = []Input{}
		var numbers []string
		for _, own := range r.order {
			c.info.Inputs = append(c.info.Inputs, own.Input)
			numbers = append(numbers, own.number)
		}
		var in *export.TreeSpec
		if m := inSpec.FindStringSubmatch(source); m != nil {
			in, _ = export.ParseTreeSpec(m[1]) // if it is not understood the inputs have numbers
		}
		name(c.info.Inputs, numbers, in)
	}
}

// facts reads what is said of each input.
func (r *reader) facts(source string) {
	for _, what := range []string{"dtype", "device"} {
		for _, m := range checks[what].FindAllStringSubmatch(source, -1) {
			if own := r.inputs[m[1]]; own != nil {
				own.seen[what] = m[2]
			}
		}
	}
	for _, what := range []string{"size", "least", "most", "stride"} {
		for _, m := range checks[what].FindAllStringSubmatch(source, -1) {
			name, dim, value := m[1], m[2], m[3]
			if what == "size" || what == "stride" {
				name, dim, value = m[2], m[3], m[1]
			}
			r.fact(what, name, dim, value)
		}
	}
	for _, m := range checks["symbol"].FindAllStringSubmatch(source, -1) {
		d, err := strconv.Atoi(m[3])
		if own := r.inputs[m[2]]; own != nil && err == nil && d < len(own.Sizes) {
			own.symbols[d] = m[1]
		}
	}
	for _, own := range r.order {
		dtype, err := torch.ParseDType(own.seen["dtype"])
		own.DType = dtype
		r.broken = r.broken || err != nil
		if kind, err := strconv.ParseUint(own.seen["device"], 10, 7); err == nil {
			own.Device = bridge.Device[torch.Device](kind<<8 | 0xff)
		}
	}
}

// fact takes over one comparison.
func (r *reader) fact(what, name, dim, value string) {
	own := r.inputs[name]
	d, err := strconv.Atoi(dim)
	n, wide := strconv.Atoi(value)
	if own == nil || err != nil || d >= mostDims || wide != nil {
		r.broken = r.broken || own != nil
		return
	}
	for len(own.Sizes) <= d {
		own.Sizes = append(own.Sizes, Size{Min: 0, Max: math.MaxInt})
		own.Strides = append(own.Strides, -1)
	}
	switch s := &own.Sizes[d]; what {
	case "size":
		*s = Fixed(n)
	case "least":
		if s.Min = n; n == 2 { // where programs are exported 0 and 1 are never the size of what varies, whatever it may be later
			s.Min = 1
		}
	case "most":
		s.Max = n
	case "stride":
		own.Strides[d] = n
	}
}

// connect gives sizes that vary together a name: the symbol that one of them gives its value. The others are not named in the
// source, so that a symbol with the same bounds has to be the only one. It tells whether all could be named.
func (r *reader) connect() bool {
	symbols := map[string]Size{}
	for _, own := range r.order {
		for d, name := range own.symbols {
			own.Sizes[d].Name = name
			symbols[name] = own.Sizes[d]
		}
	}
	for _, own := range r.order {
		for d := range own.Sizes {
			s := &own.Sizes[d]
			if s.Min == s.Max || s.Name != "" {
				continue
			}
			for name, bounds := range symbols {
				if bounds.Min != s.Min || bounds.Max != s.Max {
					continue
				}
				if s.Name != "" {
					return false
				}
				s.Name = name
			}
			if s.Name == "" {
				return false
			}
		}
	}
	return true
}

// readConstants lists the constants of a source that are not computed from others.
func readConstants(source string) (list []Constant) {
	folded := map[string]bool{}
	fields := map[string]map[string]string{}
	var order []string
	for _, m := range constant.FindAllStringSubmatch(source, -1) {
		if fields[m[1]] == nil {
			fields[m[1]] = map[string]string{}
			order = append(order, m[1])
		}
		fields[m[1]][m[2]] = m[3]
		folded[m[1]] = fields[m[1]]["from_folded"] == "true"
	}
	for _, i := range order {
		dtype, err := torch.ParseDType(strings.TrimPrefix(fields[i]["dtype"], "cached_torch_dtype_"))
		name, failed := strconv.Unquote(fields[i]["original_fqn"])
		if err != nil || failed != nil || folded[i] {
			continue
		}
		c := Constant{Name: name, DType: dtype, Shape: []int{}}
		for word := range strings.SplitSeq(strings.Trim(fields[i]["shape"], "{}"), ",") {
			if n, err := strconv.Atoi(strings.TrimSpace(word)); err == nil {
				c.Shape = append(c.Shape, n)
			}
		}
		list = append(list, c)
	}
	return list
}
