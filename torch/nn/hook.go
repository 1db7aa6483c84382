package nn

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/libtorch-go/libtorch/torch"
)

// A ForwardPreHook sees the inputs of a module before Forward does. It returns what Forward
// is to see in their place, as many tensors, or nil to leave them.
//
// Tensors that a hook is given belong to others: it takes Keep of those that are to outlive
// the call. Tensors that it returns it hands over.
type ForwardPreHook func(m any, inputs []torch.Tensor) []torch.Tensor

// A ForwardHook sees the inputs and outputs of a module after Forward. It returns what the
// caller is to see in the place of the outputs, as many tensors, or nil to leave them. Of the
// tensors the same holds as in a [ForwardPreHook].
type ForwardHook func(m any, inputs, outputs []torch.Tensor) []torch.Tensor

// A HookHandle stands for a registered hook.
type HookHandle struct {
	once   sync.Once
	remove func()
}

// Remove takes the hook away. Calls that have begun may still run it. A second Remove does
// nothing.
func (h *HookHandle) Remove() { h.once.Do(h.remove) }

// RegisterForwardPreHook has hook run before every Forward of m, after those registered
// before it. All of this package's modules that are held by a pointer take part, and
// [Sequential], but losses do not; modules of one's own do so by [Hooked]. The module and the hook live on
// until the hook is removed.
//
// Modules held by value, as [ReLU] is, cannot be told from others like them: hook one that is
// alone in a Sequential, nn.Sequential{nn.ReLU{}}, or all modules by
// [RegisterModuleForwardPreHook]. They panic with a *torch.Error.
func RegisterForwardPreHook(m any, hook ForwardPreHook) *HookHandle {
	return register(m, hooks{pre: hook})
}

// RegisterForwardHook has hook run after every Forward of m, as [RegisterForwardPreHook] has
// it before.
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

// RegisterModuleForwardPreHook has hook run before every Forward of every module, before the
// module's own hooks.
func RegisterModuleForwardPreHook(hook ForwardPreHook) *HookHandle {
	return add(&hooks{pre: hook})
}

// RegisterModuleForwardHook has hook run after every Forward of every module, before the
// module's own hooks.
func RegisterModuleForwardHook(hook ForwardHook) *HookHandle {
	return add(&hooks{post: hook})
}

// hooks is what one registration added.
type hooks struct {
	of     *identity // nil: all modules
	module any       // kept alive, so that no other module comes to its address
	pre    ForwardPreHook
	post   ForwardHook

	backwardPre BackwardPreHook
	backward    BackwardHook
}

// registry holds all hooks, in the order of their registration; those for all modules come
// first. The list is never changed, but replaced.
var registry struct {
	mutex sync.Mutex
	list  atomic.Pointer[[]*hooks] // nil where there are none
}

func register(m any, h hooks) *HookHandle {
	own := identify(m)
	if own.address == nil || own.anonymous() {
		torch.Throw("register_hook", torch.KindType, "%T is a module like any other of its kind: hook a pointer to a struct with fields, a Sequential that holds it, or all modules", m)
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

// identity is what tells a module from others.
type identity struct {
	kind    reflect.Type
	address unsafe.Pointer // nil for what is held by value
	length  int            // of a slice: those of a part are not those of the whole
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

// anonymous tells whether the module loses its identity in its Forward, which has a copy of
// it, or never had one, as empty structs share an address.
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
