package modparity

import (
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

var (
	only   = flag.String("only", "", "only modules whose names match this regular expression")
	update = flag.Bool("update", false, "write docs/modules.md")
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// spec is what testdata/modules.py writes in addition to tensors.
type spec struct {
	Modules   []string            // of torch.nn
	Arguments map[string][]string // of their constructors
	Cases     []config
}

// config is a module in one configuration and mode.
type config struct {
	Class, Name string
	Seed        uint64
	Make, Call  values
	Parameters  []string
	State       []string          // tensors before the call, by their names in the file
	Outputs     []string          //
	Gradients   map[string]string // of parameters
	Inputs      map[string]string // gradients of inputs
	Final       []string          // the state after the call
	Error       string            // Python's error instead of a result
	Text, Later string            // how it prints when it is made, and after the call
}

func TestModulesEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.OnWarning(func(string) {}) // many are meant for Python
	t.Cleanup(func() { torch.OnWarning(nil) })
	file := peer.Run(t, "testdata/modules.py", nil, *only)
	var s spec
	require.NoError(t, json.Unmarshal(torch.Values[byte](file["spec"]), &s))
	equal := map[string]int{}
	for _, c := range s.Cases {
		t.Run(c.Name, func(t *testing.T) {
			torch.Scope(func() { c.compare(t, file) })
			equal[c.Class]++
		})
	}
	if *only == "" && !t.Failed() {
		compareWithPage(t, s, equal)
	}
}

// compare makes the module and does with it what testdata/modules.py does.
func (c config) compare(t *testing.T, file peer.Tensors) {
	require.Empty(t, c.Error, "Python's own complaint")
	b := &builder{tensors: map[string]torch.Tensor{}}
	defer func() {
		for _, m := range b.made {
			nn.Close(m)
		}
	}()
	c.takeInputs(b, file, c.Make)
	c.takeInputs(b, file, c.Call)
	entry, made, call := modules[c.Class], maps.Clone(c.Make), maps.Clone(c.Call)
	if size, ok := call["output_size"]; ok && strings.HasPrefix(c.Class, "MaxUnpool") {
		made["output_size"] = size // an option there, an argument of the call in Python
		delete(call, "output_size")
	}
	var m any
	try(t, func() (err error) { m, err = b.build(c.Class, made); return err })
	if strings.Contains(c.Name, "/eval/") {
		nn.Eval(m)
	}
	compareText(t, c.Text, m)
	_, indices := c.Make["return_indices"]
	if strings.HasPrefix(c.Class, "Lazy") {
		try(t, func() error { _, err := b.call(m, entry, call, indices); return err })
	}
	state := map[string]torch.Tensor{}
	for _, key := range c.State {
		state[c.short(key)] = file[key]
	}
	require.NoError(t, nn.LoadStateDict(m, state))
	require.Equal(t, c.names(c.State), namesOf(nn.StateDict(m)), "names in the state dict")
	require.ElementsMatch(t, c.Parameters, namesOf(nn.NamedParameters(m)), "parameters")

	torch.ManualSeed(c.Seed)
	var outputs []torch.Tensor
	try(t, func() (err error) { outputs, err = b.call(m, entry, call, indices); return err })
	require.Len(t, outputs, len(c.Outputs))
	loss := torch.FromValue(float32(0))
	for i, y := range outputs {
		torchtest.Equal(t, y, file[c.Outputs[i]])
		if y.RequiresGrad() {
			loss = loss.Add(y.Mul(y).Sum())
		}
	}
	if loss.RequiresGrad() {
		loss.Backward()
	}
	c.compareGradients(t, m, b, file)
	compareText(t, c.Later, m)
	i := 0
	for _, value := range nn.StateDict(m) {
		torchtest.Equal(t, value, file[c.Final[i]])
		i++
	}
}

// whole are floating-point numbers without a fraction. Python prints 2 for a number that was
// given so; the fields in Go are float64, and print 2.0.
var whole = regexp.MustCompile(`(\d)\.0\b`)

// compareText holds what a module prints, in all the ways of printing, against Python.
func compareText(t *testing.T, want string, m any) {
	t.Helper()
	want = whole.ReplaceAllString(want, "$1")
	for _, verb := range []string{"%v", "%s", "%+v"} {
		require.Equal(t, want, whole.ReplaceAllString(fmt.Sprintf(verb, m), "$1"), verb)
	}
	require.Equal(t, fmt.Sprint(m), nn.String(m))
}

// try ends the case, and not the program, if a module refuses its arguments.
func try(t *testing.T, fn func() error) {
	t.Helper()
	var err error
	require.NoError(t, torch.Try(func() { err = fn() }))
	require.NoError(t, err)
}

func (c config) compareGradients(t *testing.T, m any, b *builder, file peer.Tensors) {
	for name, p := range nn.NamedParameters(m) {
		t.Log("gradient of", name)
		torchtest.Equal(t, p.Grad(), file[c.Gradients[name]])
		delete(c.Gradients, name)
	}
	require.Empty(t, c.Gradients, "gradients that Python alone has")
	for key, x := range b.tensors {
		t.Log("gradient of", key)
		torchtest.Equal(t, x.Grad(), file[c.Inputs[key]])
	}
}

// takeInputs copies the tensors that the arguments refer to.
func (c config) takeInputs(b *builder, file peer.Tensors, value any) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			c.takeInputs(b, file, v)
		}
	case values:
		key, ok := value["tensor"].(string)
		if !ok {
			for _, v := range value {
				c.takeInputs(b, file, v)
			}
		} else if !b.tensors[key].Defined() {
			b.tensors[key] = file[key].Clone().SetRequiresGrad(value["grad"] == true)
		}
	}
}

func (c config) names(list []string) (names []string) {
	for _, key := range list {
		names = append(names, c.short(key))
	}
	return names
}

func namesOf(tensors iter.Seq2[string, torch.Tensor]) (names []string) {
	for name := range tensors {
		names = append(names, name)
	}
	return names
}

// short is the name of a tensor without what it is for: "weight" of "Linear/train/0/state/weight".
func (c config) short(key string) string {
	_, name, _ := strings.Cut(strings.TrimPrefix(key, c.Name+"/"), "/")
	return name
}
