package pickle

// works are the opcodes that work on the stack.
var works = map[byte]func(*machine) error{
	opMark:    (*machine).mark,
	opTuple:   func(m *machine) error { return m.tupleOf(-1) },
	opTuple1:  func(m *machine) error { return m.tupleOf(1) },
	opTuple2:  func(m *machine) error { return m.tupleOf(2) },
	opTuple3:  func(m *machine) error { return m.tupleOf(3) },
	opAppend:  func(m *machine) error { return m.extend(1) },
	opAppends: func(m *machine) error { return m.extend(-1) },
	opSetItem: func(m *machine) error { return m.set(2) },
	opSetAll:  func(m *machine) error { return m.set(-1) },
	opAddAll:  (*machine).add,
	opFrozen:  (*machine).freeze,
	opReduce:  func(m *machine) error { return m.call(false) },
	opNewObj:  func(m *machine) error { return m.call(true) },
	opBuild:   (*machine).build,
	opRef:     (*machine).refer,
	opMemo:    func(m *machine) error { return m.remember(uint32(len(m.memo) + len(m.rare))) },
	opNamed:   (*machine).named,
	opPop:     func(m *machine) error { _, err := m.pop(); return err },
	opPopMark: func(m *machine) error { _, err := m.popMark(); return err },
	opDup: func(m *machine) error {
		v, err := m.top()
		if err != nil {
			return err
		}
		return m.push(v, 0)
	},
}

// push charges for the value, and for the stack where it was never as high.
func (m *machine) push(v any, cost int64) error {
	if len(m.stack) >= m.high {
		m.high++
		cost += costStack
	}
	if err := m.charge(cost); err != nil {
		return err
	}
	m.stack = append(m.stack, v)
	return nil
}

// floor is the height below which values belong to whoever set the last mark.
func (m *machine) floor() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

func (m *machine) top() (any, error) {
	if len(m.stack) <= m.floor() {
		return nil, malformed("an opcode finds no value")
	}
	return m.stack[len(m.stack)-1], nil
}

func (m *machine) pop() (any, error) {
	v, err := m.top()
	if err == nil {
		m.stack = m.stack[:len(m.stack)-1]
	}
	return v, err
}

func (m *machine) mark() error {
	if err := m.charge(costSlot); err != nil {
		return err
	}
	m.marks = append(m.marks, len(m.stack))
	return nil
}

// popMark takes the values above the last mark. They are valid until the next push.
func (m *machine) popMark() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, malformed("an opcode finds no mark")
	}
	from := m.floor()
	m.marks = m.marks[:len(m.marks)-1]
	values := m.stack[from:]
	m.stack = m.stack[:from]
	return values, nil
}

// take takes n values, or those above the last mark for a negative n. They are valid until the
// next push.
func (m *machine) take(n int) ([]any, error) {
	if n < 0 {
		return m.popMark()
	}
	from := len(m.stack) - n
	if from < m.floor() {
		return nil, malformed("an opcode finds too few values")
	}
	values := m.stack[from:]
	m.stack = m.stack[:from]
	return values, nil
}

// copied copies values from the stack into what keeps them.
func (m *machine) copied(to, values []any) ([]any, error) {
	if err := m.charge(costSlot * int64(len(values))); err != nil {
		return nil, err
	}
	return append(to, values...), nil
}

func (m *machine) tupleOf(n int) error {
	values, err := m.take(n)
	if err != nil {
		return err
	}
	own, err := m.copied(nil, values)
	if err != nil {
		return err
	}
	t := Tuple(own)
	return m.push(&t, costTuple)
}

func (m *machine) extend(n int) error {
	values, err := m.take(n)
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case *List:
		*v, err = m.copied(*v, values)
	case *Object:
		v.List, err = m.copied(v.List, values)
	default:
		err = malformed("values are appended to a %T", v)
	}
	return err
}

func (m *machine) set(n int) error {
	values, err := m.take(n)
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	var items *[]Item
	switch v := v.(type) {
	case *Dict:
		items = (*[]Item)(v)
	case *Object:
		items = &v.Dict
	default:
		return malformed("items are set in a %T", v)
	}
	if len(values)%2 != 0 {
		return malformed("the last of the items has no value")
	}
	if err := m.charge(costItem * int64(len(values)/2)); err != nil {
		return err
	}
	for i := 0; i < len(values); i += 2 {
		*items = append(*items, Item{values[i], values[i+1]})
	}
	return nil
}

func (m *machine) add() error {
	values, err := m.popMark()
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	s, ok := v.(*Set)
	if !ok {
		return malformed("values are added to a %T", v)
	}
	s.Items, err = m.copied(s.Items, values)
	return err
}

func (m *machine) freeze() error {
	values, err := m.popMark()
	if err != nil {
		return err
	}
	own, err := m.copied(nil, values)
	if err != nil {
		return err
	}
	return m.push(&Set{Items: own, Frozen: true}, costObject)
}

// call notes that a class or a function was called.
func (m *machine) call(made bool) error {
	values, err := m.take(2)
	if err != nil {
		return err
	}
	class, ok := values[0].(Global)
	if !ok {
		return malformed("a %T is called, expected a class or a function", values[0])
	}
	args, ok := values[1].(*Tuple)
	if !ok {
		return malformed("%v is called with a %T, expected a tuple", class, values[1])
	}
	return m.push(&Object{Class: class, Args: *args, New: made}, costObject)
}

func (m *machine) build() error {
	state, err := m.pop()
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	o, ok := v.(*Object)
	if !ok {
		return malformed("a %T is built from a state", v)
	}
	if o.State != nil {
		return malformed("a %v is built twice", o.Class)
	}
	o.State = state
	return nil
}

func (m *machine) refer() error {
	id, err := m.pop()
	if err != nil {
		return err
	}
	return m.push(m.reference(id), costObject)
}

// named makes a global of two texts.
func (m *machine) named() error {
	values, err := m.take(2)
	if err != nil {
		return err
	}
	module, ok := values[0].(string)
	name, okName := values[1].(string)
	if !ok || !okName {
		return malformed("the name of a global is a %T and a %T", values[0], values[1])
	}
	return m.pushGlobal(module, name)
}

// reference notes a reference to something outside.
func (m *machine) reference(id any) *Ref {
	r := &Ref{id}
	if m.limits.Refs != nil {
		*m.limits.Refs = append(*m.limits.Refs, r)
	}
	return r
}
