package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
)

// Place says which package has the Go form of an operator.
type Place int

const (
	Left    Place = iota // not in the door: see Op.Why
	Public               // package torch
	Linalg               // package torch/linalg
	FFT                  // package torch/fft
	Special              // package torch/special
	Aten                 // package torch/aten: private to PyTorch, a backend's own, or behind a layer
	Hand                 // written by hand in package torch
)

// Op is one operator on its way from the yaml to the generated files.
type Op struct {
	*Schema
	Method bool   // the yaml lists the variant `method`
	Module string // python_module: nn, linalg, fft, special, …
	Kernel bool   // it is not made of other operators, and its in-place form changes elements alone

	Number int    // its place in the table
	Place  Place  // where its Go form goes
	Known  bool   // PyTorch's users know it by its own name
	Why    string // why it was left out, or what replaces it
	Gone   string // first supported libtorch that lacks it, "" when all have it
	Const  string // Go constant, OpAddTensor
	Go     *Func  // its Go form; nil for Left, Hand and folded operators
	Also   *Func  // a second Go form
	Plain  *Plain // the form by dimensions, where there is one
	Fold   *Op    // the same operator without its Generator, whose Go form serves this one too
	Seeded *Op    // the reverse of Fold
	Guard  Guard  // what stands before it
}

// Inplace reports an operator that writes to its first argument by name (add_).
func (o *Op) Inplace() bool {
	if len(o.Args) == 0 || !o.Args[0].Type.Mutable {
		return false
	}
	if strings.HasPrefix(o.Base, "__i") {
		return strings.HasSuffix(o.Base, "__")
	}
	return strings.HasSuffix(o.Base, "_")
}

// Stem is the base name without the underscore of the in-place form.
func (o *Op) Stem() string {
	if o.Inplace() {
		return strings.TrimSuffix(o.Base, "_")
	}
	return o.Base
}

// plainName is the full name of the form that is not in place.
func (o *Op) plainName() string {
	if o.Overload == "" {
		return o.Stem()
	}
	return o.Stem() + "." + o.Overload
}

// symbol is the Go name that people know the operator by.
func (o *Op) symbol() string {
	if o.Plain != nil {
		return o.Plain.Symbol
	}
	return o.Go.Symbol
}

// elsewhere is symbol with package and receiver, for comments in another package.
func (o *Op) elsewhere() string {
	key := o.Go.key()
	if o.Plain != nil {
		key = o.Plain.key()
	}
	return rooms[o.Place].name + "." + key
}

// Functional reports an operator that writes to none of its arguments.
func (o *Op) Functional() bool {
	return !slices.ContainsFunc(o.Args, func(a Arg) bool { return a.Type.Mutable })
}

// View reports an operator that needs no elements of its arguments: its results are views of them,
// or it makes tensors that are only like them.
func (o *Op) View() bool {
	if strings.HasSuffix(o.Base, "_like") || strings.HasPrefix(o.Base, "new_") {
		return true
	}
	return slices.ContainsFunc(o.Returns, func(r Return) bool { return r.Type.Alias && !r.Type.Mutable })
}

// source reports an operator that makes a tensor of no other. There is nothing to derive it by, and
// the values it writes into its result are no change of it: Python calls it below autograd as well,
// and so its versions start at 0.
func (o *Op) source() bool {
	made := slices.ContainsFunc(o.Returns, func(r Return) bool { return r.Type.Base == "Tensor" })
	return made && !slices.ContainsFunc(o.Args, func(a Arg) bool { return a.Type.Base == "Tensor" })
}

// short reports an operator that may pass by autograd where that has nothing to do: it makes its
// results, which share no memory with its arguments, or changes the elements of its first one alone.
func (o *Op) short() bool {
	writes := o.writes()
	inPlace := o.Inplace() && writes == 1 && !o.Args[0].Type.List && !strings.Contains(o.Base, "resize")
	return o.Kernel && !o.shares() && !o.source() && (writes == 0 || inPlace) && !slices.Contains(ownLayers, o.Base)
}

// viewing reports an operator that may pass by the upper half of autograd where that has nothing to do: it makes views, of which the
// lower half knows.
func (o *Op) viewing() bool {
	return o.Kernel && o.shares() && o.writes() == 0 && !slices.Contains(ownLayers, o.Base)
}

// shares reports results that share memory with an argument that is not written to.
func (o *Op) shares() bool {
	return slices.ContainsFunc(o.Returns, func(r Return) bool { return r.Type.Alias && !r.Type.Mutable })
}

// writes counts the arguments that are written to.
func (o *Op) writes() (n int) {
	for _, a := range o.Args {
		if a.Type.Mutable {
			n++
		}
	}
	return n
}

// ownLayers are operators with layers of autograd's that do other things than to pass them on, to count a change, or to write down a view.
var ownLayers = []string{"detach", "detach_", "set_", "requires_grad_", "_fw_primal", "_make_dual"}

func (o *Op) isOut() bool {
	return o.Overload == "out" || slices.ContainsFunc(o.Args, func(a Arg) bool { return a.Type.Mutable && a.KwOnly })
}

// quartet reports the four arguments every factory has.
func (o *Op) quartet() bool {
	for i := range o.Args {
		if quartetAt(o.Args, i) {
			return true
		}
	}
	return false
}

var quartetNames = []string{"dtype", "layout", "device", "pin_memory"}

// quartetAt reports whether dtype, layout, device and pin_memory begin at argument i.
func quartetAt(args []Arg, i int) bool {
	if len(args)-i < len(quartetNames) {
		return false
	}
	for j, name := range quartetNames {
		if args[i+j].Name != name || !args[i+j].HasDefault {
			return false
		}
	}
	return true
}

// cannot names the types that do not cross the door.
var cannot = map[string]bool{"Dimname": true, "Storage": true, "Stream": true, "SymBool": true, "QScheme": true, "ConstQuantizer": true}

// whyLeft says why an operator has no entry in the door; "" when it has one.
func whyLeft(o *Op) string {
	for _, a := range o.Args {
		if cannot[a.Type.Base] {
			return "takes a " + a.Type.Base
		}
	}
	lists := 0
	for _, r := range o.Returns {
		if cannot[r.Type.Base] {
			return "returns a " + r.Type.Base
		}
		if r.Type.List {
			lists++
		}
	}
	if lists > 1 {
		return "returns more than one list"
	}
	switch {
	case o.isOut():
		return "out= variant"
	case strings.HasPrefix(o.Base, "sym_"):
		return "symbolic shape"
	case strings.HasPrefix(o.Base, "_test_"), o.Base == "_foobar":
		return "for PyTorch's own tests"
	}
	return ""
}

// notPublic matches what PyTorch does not document for users: private
// operators, gradients, the backends' own kernels, and copies of views.
var notPublic = regexp.MustCompile(`^_|backward|^(mkldnn|miopen|mps|cudnn|fbgemm|quantize|quantized|q|thnn|linalg_)_|` +
	`^(fake_quantize|fused_moving_avg|choose_qparams|empty_quantized|int_repr|qscheme|dequantize|to_mkldnn|is_vulkan)|` +
	`_copy$|_overrideable$|^(slow_conv|conv_depthwise|lift|glu_jvp|native_norm|native_channel_shuffle|norm_except_dim)|` +
	`^batch_norm_(stats|elemt|gather|update)|_loss(2d)?_forward$|^log_sigmoid_forward$|^rrelu_with_noise|^copy_sparse_to_sparse|` +
	`^(sspaddmm|hspmm|slice_inverse|unsafe_|resize_as_sparse|sparse_resize)|^set_data$`)

// isPublic reports an operator that users know by its own name.
func isPublic(o *Op) bool {
	return !notPublic.MatchString(o.Base) || o.Base == "narrow_copy" || o.Base == "index_copy"
}

// place is the package of an operator: PyTorch's namespaces have their own. What is behind a
// layer is public in torch/nn/functional, and its operator in package aten.
func place(o *Op, t *Tables) Place {
	if room, ok := map[string]Place{"linalg": Linalg, "fft": FFT, "special": Special}[o.Module]; ok && o.Known {
		return room
	}
	if t.Public[o.Name()] {
		return Public
	}
	if !o.Known || o.Module == "nn" || t.Layer[o.Stem()] {
		return Aten
	}
	return Public
}

// room is the Go package of a place.
type room struct{ name, prefix string }

var rooms = map[Place]room{
	Public: {"torch", "torch/ops_"}, Linalg: {"linalg", "torch/linalg/"}, FFT: {"fft", "torch/fft/"},
	Special: {"special", "torch/special/"}, Aten: {"aten", "torch/aten/"},
}

// arrange decides each operator's place, sorts the door's operators by name
// and numbers them after the hand-written entries.
func arrange(ops []*Op, hand []string, t *Tables) (door, left []*Op, err error) {
	for _, o := range ops {
		o.Why = whyLeft(o)
		switch {
		case o.Why != "":
			left = append(left, o)
			continue
		case lookup(t.Hand, o) != nil:
			o.Place, o.Why = Hand, lookup(t.Hand, o).symbol
		default:
			o.Known = t.Public[o.Name()] || isPublic(o) && !t.Private[o.Name()] && !t.Private[o.Base]
			o.Place = place(o, t)
		}
		o.Gone = t.Gone[o.Name()]
		door = append(door, o)
	}
	slices.SortFunc(door, func(a, b *Op) int { return cmp.Compare(a.Name(), b.Name()) })
	seen := map[string]string{}
	for i, name := range hand {
		if err := take(seen, "Op"+t.camel(name), fmt.Sprintf("entry %d", i)); err != nil {
			return nil, nil, err
		}
	}
	for i, o := range door {
		o.Number = len(hand) + i
		o.Const = constName(o, t, false)
		if _, ok := seen[o.Const]; ok {
			o.Const = constName(o, t, true)
		}
		if err := take(seen, o.Const, o.Name()); err != nil {
			return nil, nil, err
		}
	}
	fold(door)
	return door, left, nil
}

// fold pairs rand.generator with rand: one Go form serves both.
func fold(door []*Op) {
	bySig := map[string]*Op{}
	sig := func(o *Op, drop int) string {
		var b strings.Builder
		b.WriteString(o.Base)
		for i, a := range o.Args {
			if i != drop {
				fmt.Fprintf(&b, ",%s %s", a.Type.Key(), a.Name)
			}
		}
		return b.String()
	}
	for _, o := range door {
		bySig[sig(o, -1)] = o
	}
	for _, o := range door {
		i := slices.IndexFunc(o.Args, func(a Arg) bool { return a.Type.Base == "Generator" && !a.HasDefault })
		if i < 0 {
			continue
		}
		if plain := bySig[sig(o, i)]; plain != nil {
			o.Fold, plain.Seeded = plain, o
		}
	}
}

// take enters a symbol and fails if it is taken: a collision of names must never pass
// unnoticed.
func take(seen map[string]string, symbol, owner string) error {
	if prev, ok := seen[symbol]; ok {
		return fmt.Errorf("name collision: %s stands for both %s and %s; settle it in cgo/gen/names.txt", symbol, prev, owner)
	}
	seen[symbol] = owner
	return nil
}

// opsHash ties a shim to the Go side made from the same list.
func opsHash(hand, settings []string, door []*Op) uint64 {
	h := fnv.New64a()
	for _, name := range hand {
		fmt.Fprintf(h, "ENTRY(%s)\n", name)
	}
	for _, name := range settings {
		fmt.Fprintf(h, "SETTING(%s)\n", name)
	}
	for _, o := range door {
		fmt.Fprintln(h, o.Line)
	}
	return h.Sum64()
}
