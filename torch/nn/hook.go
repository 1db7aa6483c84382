package nn

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/libtorch-go/libtorch/torch"
)

// A ForwardPreHook sees the inputs of a module before Forward does. It returns replacements
// for them, as many tensors, or nil to leave them.
//
// The tensors that a hook is given belong to others: it must Keep those that are to outlive
// the call. The tensors that it returns belong to the caller from then on.
type ForwardPreHook func(m any, inputs []torch.Tensor) []torch.Tensor

// A ForwardHook sees the inputs and outputs of a module after Forward. It returns
// replacements for the outputs, as many tensors, or nil to leave them. The tensors belong to
// others, as in a [ForwardPreHook].
type ForwardHook func(m any, inputs, outputs []torch.Tensor) []torch.Tensor

// A HookHandle stands for a registered hook.
type HookHandle struct {
	once   sync.Once
	remove func()
}

// Remove removes the hook. Calls that have begun may still run it. A second Remove does
// nothing.
func (h *HookHandle) Remove() { h.once.Do(h.remove) }

// RegisterForwardPreHook lets hook run before every Forward of m, after the hooks registered
// earlier. All modules of this package that are held by a pointer take part, and so does
// [Sequential], but losses do not. A program's own modules take part by [Hooked]. The module and
// the hook live until the hook is removed.
//
// Modules held by value, such as [ReLU], cannot be told from others like them. Put one alone
// into a Sequential and hook that, nn.Sequential{nn.ReLU{}}, or hook all modules by
// [RegisterModuleForwardPreHook]. They panic with a *torch.Error.
func RegisterForwardPreHook(m any, hook ForwardPreHook) *HookHandle {
	return register(m, hooks{pre: hook})
}

// RegisterForwardHook lets hook run after every Forward of m, as [RegisterForwardPreHook]
// does before.
//
//	features := map[string]torch.Tensor{}
//	handle := nn.RegisterForwardHook(net.Layer4, func(_ any, _, y []torch.Tensor) []torch.Tensor {
//		features["layer4"] = y[0].Keep()
//		return nil
//	})
//	defer handle.Remove()
func RegisterForwardHook(m any, hook ForwardHook) *HookHandle {
	return register(m, hooks{post: hook})
}

// RegisterModuleForwardPreHook lets hook run before every Forward of every module, before
// the module's own hooks.
func RegisterModuleForwardPreHook(hook ForwardPreHook) *HookHandle {
	return add(&hooks{pre: hook})
}

// RegisterModuleForwardHook lets hook run after every Forward of every module, before
// the module's own hooks.
func RegisterModuleForwardHook(hook ForwardHook) *HookHandle {
	return add(&hooks{post: hook})
}

// hooks is what one registration added.
type hooks struct {
	of     *identity // nil: all modules
	module any       // kept alive, so that no other module gets its address
	pre    ForwardPreHook
	post   ForwardHook

	backwardPre BackwardPreHook
	backward    BackwardHook
}

// registry holds all hooks, in the order of their registration; those for all modules come
// first. The list is never changed; it is replaced.
var registry struct {
	mutex sync.Mutex
	list  atomic.Pointer[[]*hooks] // nil if there are none
}

func register(m any, h hooks) *HookHandle {
	own := identify(m)
	if own.address == nil || own.anonymous() {
		torch.Throw("register_hook", torch.KindType,
			"a %T cannot be told from others of its kind: hook a pointer to a struct with fields, a Sequential that holds it, or all modules", m)
	}
	h.of, h.module = &own, m
	return add(&h)
}

func add(h *hooks) *HookHandle {
	edit(func(list []*hooks) []*hooks {
		at := len(list)
		if h.of == nil {
			at = 0
			for at < len(list) && list[at].of == nil {
				at++
			}
		}
		return slices.Insert(list, at, h)
	})
	return &HookHandle{remove: func() {
		edit(func(list []*hooks) []*hooks {
			return slices.DeleteFunc(list, func(other *hooks) bool { return other == h })
		})
	}}
}

func edit(change func(list []*hooks) []*hooks) {
	registry.mutex.Lock()
	defer registry.mutex.Unlock()
	var list []*hooks
	if old := registry.list.Load(); old != nil {
		list = slices.Clone(*old)
	}
	if list = change(list); len(list) == 0 {
		registry.list.Store(nil)
		return
	}
	registry.list.Store(&list)
}

// identity distinguishes a module from others.
type identity struct {
	kind    reflect.Type
	address unsafe.Pointer // nil for a module held by value
	length  int            // of a slice, because a part of a slice is another module
}

func identify(m any) (i identity) {
	v := reflect.ValueOf(m)
	if v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Slice {
		v = v.Elem() // the Forward of a Sequential has the slice
	}
	i.kind = v.Type()
	switch v.Kind() {
	case reflect.Slice:
		i.length = v.Len()
		fallthrough
	case reflect.Pointer, reflect.Map:
		i.address = v.UnsafePointer()
	}
	return i
}

// anonymous tells whether the module has no identity: its Forward gets a copy of it, or it
// is an empty struct, which shares its address with others.
func (i identity) anonymous() bool {
	if i.kind.Kind() != reflect.Pointer {
		return i.kind.Kind() == reflect.Slice && i.length == 0
	}
	_, byValue := i.kind.Elem().MethodByName("Forward")
	return byValue || i.kind.Elem().Size() == 0
}

// covers tells whether a call of the module of identity c is one of i, whose Forward may be
// that of an embedded struct.
func (i identity) covers(c identity) bool {
	if i.address != c.address || i.length != c.length {
		return false
	}
	for kind := i.kind; kind != c.kind; {
		if kind.Kind() != reflect.Pointer || kind.Elem().Kind() != reflect.Struct || kind.Elem().NumField() == 0 {
			return false
		}
		first := kind.Elem().Field(0)
		if !first.Anonymous {
			return false
		}
		kind = reflect.PointerTo(first.Type)
	}
	return true
}
