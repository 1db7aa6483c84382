package pickle

// Dict is a Python dict in its order. [Read] returns pointers to it.
type Dict []Item

// Item is one entry of a [Dict].
type Item struct{ Key, Value any }

// Tuple is a Python tuple. [Read] returns pointers to it.
type Tuple []any

// List is a Python list. [Read] returns pointers to it; [Write] takes a []any as well.
type List []any

// Set is a Python set, or a frozenset. [Read] returns pointers to it.
type Set struct {
	Items  []any
	Frozen bool
}

// Global is a class or a function, by name.
type Global struct{ Module, Name string }

// String is the name with its module.
func (g Global) String() string { return g.Module + "." + g.Name }

// Object is what a class or a function makes of arguments. It is a note of that and nothing
// more: nobody calls anything.
type Object struct {
	Class Global
	Args  Tuple
	New   bool   // made by __new__, not by a call
	List  []any  // what was appended to it
	Dict  []Item // what was set in it
	State any    // what it was built from, nil if nothing
}

// Ref stands for something outside of the pickle, such as a storage.
type Ref struct{ ID any }
