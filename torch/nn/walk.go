package nn

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/libtorch-go/libtorch/torch"
)

// slot is a tensor of a module.
type slot struct {
	name   string // with the path of the module
	tensor torch.Tensor
	owner  reflect.Type // the module's
	tag
}

// node is a module as the walk comes upon it.
type node struct {
	path    string
	value   reflect.Value // the struct, slice or map
	pointer any           // to it, where the module is held by a pointer
}

// module is what the user knows: the pointer, or the value itself.
func (n node) module() any {
	if n.pointer != nil {
		return n.pointer
	}
	return n.value.Interface()
}

// isModule tells a module from a struct of options.
func (n node) isModule() bool {
	for inner := range walk(n.module()) {
		if _, layer := inner.module().(Layer); layer {
			return true
		}
		for p := range inner.parts() {
			if t := p.value.Type(); t == tensorType || t == modeType {
				return true
			}
		}
	}
	return false
}

// walk visits m and all modules in it, each before those within it.
func walk(m any) iter.Seq[node] {
	refuseOthers(m)
	return func(yield func(node) bool) {
		if root, ok := nodeOf("", reflect.ValueOf(m)); ok {
			(&walker{yield, map[any]bool{}}).visit(root)
		}
	}
}

// refuseOthers refuses what cannot be a module: a loop over its parts would do nothing, and not
// say so.
func refuseOthers(m any) {
	v := reflect.ValueOf(m)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() || v.Kind() == reflect.Pointer || !holdsModules(v) || v.Type() == tensorType {
		torch.Throw("module", torch.KindType, "expected a module, a pointer to a struct or a slice or map of them, got %T", m)
	}
}

type walker struct {
	yield func(node) bool
	open  map[any]bool // pointers on the way from the root: a module may refer to one around it
}

func (w *walker) visit(n node) bool {
	if w.open[n.pointer] {
		return true
	}
	if n.pointer != nil {
		w.open[n.pointer] = true
		defer delete(w.open, n.pointer)
	}
	if !w.yield(n) {
		return false
	}
	for child := range n.children() {
		if !w.visit(child) {
			return false
		}
	}
	return true
}

// apply calls fn with the modules within n, in their order, and then with n's own. A module
// that several have is visited for each of them, as in PyTorch, but once for one that has it
// twice.
func (n node) apply(open map[any]bool, fn func(module any)) {
	if open[n.pointer] {
		return
	}
	if n.pointer != nil {
		open[n.pointer] = true
		defer delete(open, n.pointer)
	}
	seen := map[any]bool{}
	for child := range n.children() {
		if child.isModule() && !seen[child.pointer] {
			seen[child.pointer] = child.pointer != nil
			child.apply(open, fn)
		}
	}
	fn(n.module())
}

// nodeOf is what v holds; false where it can hold no module.
func nodeOf(path string, v reflect.Value) (n node, ok bool) {
	var pointer any
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return n, false
		}
		if v.Kind() == reflect.Pointer {
			pointer = v.Interface()
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct && isNamed(v.Type()) {
		return nodeOf(path, v.FieldByName("Module")) // a Named is the module that it names
	}
	return node{path, v, pointer}, holdsModules(v)
}

// children are the parts of n that may be modules.
func (n node) children() iter.Seq[node] {
	return func(yield func(node) bool) {
		for p := range n.parts() {
			if p.value.Type() == tensorType {
				continue
			}
			if child, ok := nodeOf(join(n.path, p.name), p.value); ok && !yield(child) {
				return
			}
		}
	}
}

func holdsModules(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		return true
	case reflect.Slice, reflect.Array, reflect.Map:
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
			return true
		}
	}
	return false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// slots are the tensors of m and of all modules in it, in the order of PyTorch's
// state_dict: each module's parameters, its buffers, then the modules within.
func slots(m any) iter.Seq[slot] {
	return func(yield func(slot) bool) {
		for n := range walk(m) {
			for _, buffer := range []bool{false, true} {
				for p := range n.parts() {
					t, ok := asTensor(p.value)
					if ok && t.Defined() && p.buffer == buffer && !yield(slot{join(n.path, p.name), t, n.value.Type(), p.tag}) {
						return
					}
				}
			}
		}
	}
}

var (
	tensorType = reflect.TypeFor[torch.Tensor]()
	modeType   = reflect.TypeFor[Mode]()
	lenderType = reflect.TypeFor[lender]()
	namerType  = reflect.TypeFor[namer]()
)

func asTensor(v reflect.Value) (torch.Tensor, bool) {
	if v.Type() != tensorType {
		return torch.Tensor{}, false
	}
	return v.Interface().(torch.Tensor), true
}

// lender is a field whose tensors belong to the module around it, under names that depend
// on how the module was made.
type lender interface {
	lent() iter.Seq2[string, torch.Tensor]
	// with is a copy in which those tensors are replaced that have a name in this module; it
	// takes them off the list.
	with(path string, tensors map[string]torch.Tensor) any
}

// namer is an element of a slice that has a name of its own.
type namer interface{ elementName() string }

// part is a field of a struct, or an element of a slice or a map.
type part struct {
	tag
	value reflect.Value
}

func (n node) parts() iter.Seq[part] {
	return func(yield func(part) bool) {
		switch n.value.Kind() {
		case reflect.Struct:
			for _, f := range fieldsOf(n.value.Type()) {
				v, err := n.value.FieldByIndexErr(f.index)
				switch {
				case err != nil:
				case f.lends:
					if !yieldLent(v, yield) {
						return
					}
				case f.inline:
					for p := range within(v) {
						if !yield(p) {
							return
						}
					}
				case !yield(part{f.tag, v}):
					return
				}
			}
		case reflect.Map:
			for name, key := range keysOf(n.value) {
				if !yield(part{tag{name: name}, n.value.MapIndex(key)}) {
					return
				}
			}
		default:
			for i := range n.value.Len() {
				if at := n.value.Index(i); !yield(part{tag{name: elementName(i, at)}, at}) {
					return
				}
			}
		}
	}
}

// within are the parts of a field that is tagged inline.
func within(v reflect.Value) iter.Seq[part] {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() || !holdsModules(v) {
		return func(func(part) bool) {}
	}
	return node{value: v}.parts()
}

// elementName is that of an element of a slice: its index, or its own.
func elementName(i int, v reflect.Value) string {
	if v.Type().Implements(namerType) {
		return v.Interface().(namer).elementName()
	}
	return strconv.Itoa(i)
}

// keysOf are the keys of a map in the order of their names.
func keysOf(v reflect.Value) iter.Seq2[string, reflect.Value] {
	keys := map[string]reflect.Value{}
	for _, k := range v.MapKeys() {
		keys[fmt.Sprint(k)] = k
	}
	return func(yield func(string, reflect.Value) bool) {
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			if !yield(name, keys[name]) {
				return
			}
		}
	}
}

func yieldLent(v reflect.Value, yield func(part) bool) bool {
	for name, t := range v.Interface().(lender).lent() {
		if !yield(part{tag{name: name}, reflect.ValueOf(t)}) {
			return false
		}
	}
	return true
}

// modes are the fields of the module that [Train] and [Eval] set.
func (n node) modes() (list []*Mode) {
	for p := range n.parts() {
		if p.value.Type() != modeType {
			continue
		}
		if !p.value.CanAddr() {
			torch.Throw("module", torch.KindType, "the mode of %q (%v) cannot be set: hold the module by a pointer", n.path, n.value.Type())
		}
		list = append(list, p.value.Addr().Interface().(*Mode))
	}
	return list
}

// tag is what a field's declaration says.
type tag struct {
	name                        string
	buffer, transient, optional bool
	inline                      bool // its parts belong to the module around it
}

// within is the path of the field's parts in a module of that path.
func (t tag) within(path string) string {
	if t.inline {
		return path
	}
	return join(path, t.name)
}

type field struct {
	tag
	index []int
	lends bool // it is a lender
}

var fieldCache sync.Map // reflect.Type to []field

// fieldsOf lists the fields of a struct that count, those of embedded structs among them.
func fieldsOf(t reflect.Type) []field {
	if list, ok := fieldCache.Load(t); ok {
		return list.([]field)
	}
	var list []field
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		if hidden(t, f.Index) {
			continue
		}
		if !f.IsExported() {
			refuseUnexported(t, f)
			continue
		}
		text, tagged := f.Tag.Lookup("torch")
		if f.Anonymous && !tagged && embedded(f.Type) {
			continue // its fields follow
		}
		parsed := parseTag(t, f.Name, text)
		if names[parsed.name] {
			torch.Throw("module", torch.KindValue, "%v has two parts of the name %q", t, parsed.name)
		}
		names[parsed.name] = true
		list = append(list, field{parsed, f.Index, f.Type.Implements(lenderType)})
	}
	fieldCache.Store(t, list)
	return list
}

// refuseUnexported refuses a module in a field that is not exported: it would not be trained,
// moved or stored, and nothing would tell.
func refuseUnexported(t reflect.Type, f reflect.StructField) {
	if _, module := f.Type.MethodByName("Forward"); module && !f.Anonymous {
		torch.Throw("module", torch.KindType, "the field %s of %v is a module, but not exported, and so would be no part: "+
			"export it, or tag it `torch:\"-\"` if it is to be none", f.Name, t)
	}
}

func embedded(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t != tensorType
}

// hidden tells whether the field is tagged "-", or is reached through an embedded struct
// that carries a tag and so is a module of its own.
func hidden(t reflect.Type, index []int) bool {
	for depth := 1; depth <= len(index); depth++ {
		text, tagged := t.FieldByIndex(index[:depth]).Tag.Lookup("torch")
		if text == "-" || tagged && depth < len(index) {
			return true
		}
	}
	return false
}

func parseTag(t reflect.Type, fieldName, text string) tag {
	name, rest, _ := strings.Cut(text, ",")
	if name == "" {
		name = snake(fieldName)
	}
	parsed := tag{name: name}
	for option := range strings.SplitSeq(rest, ",") {
		switch option {
		case "":
		case "buffer":
			parsed.buffer = true
		case "transient":
			parsed.buffer, parsed.transient = true, true
		case "optional":
			parsed.optional = true
		case "inline":
			parsed.inline = true
		default:
			torch.Throw("module", torch.KindValue, "field %v.%s has a tag %q; expected buffer, transient, optional or inline after the name",
				t, fieldName, text)
		}
	}
	return parsed
}

// snake turns a Go name into PyTorch's: "RunningMean" into "running_mean", "BN1" into
// "bn1", "QKVProj" into "qkv_proj".
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) {
			next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if !unicode.IsUpper(runes[i-1]) || next {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
