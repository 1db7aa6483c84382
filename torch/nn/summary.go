package nn

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/torch"
)

// MACCounter is a module that knows how many multiplications, each with an addition, a call
// of its Forward takes. Convolutions, linear, recurrent and attention layers do; a
// program's own modules may. Modules inside are not counted.
type MACCounter interface {
	MACs(inputs, outputs []torch.Tensor) int
}

// SummaryRow is one module in a [ModuleSummary].
type SummaryRow struct {
	Name            string  // with the path, as in [NamedModules]; "" for the model
	Type            string  // "Conv2d"
	Depth           int     // 0 for the model
	Calls           int     // of its Forward
	Output          [][]int // shapes of what the last call returned; nil without a call
	Params          int     // elements of its own parameters, not those of modules within; shared ones count where they come first
	Trainable       int     // of these, those that require gradients
	MACs            int     // in all calls, without those of modules within
	StateBytes      int     // of its own parameters and buffers
	ActivationBytes int     // of everything it returned, if it has no modules inside
}

// ModuleSummary is what [Summary] returns.
type ModuleSummary struct {
	Rows            []SummaryRow // in the order of [NamedModules]
	Params          int          // elements of all parameters
	Trainable       int          // of these, those that require gradients
	MACs            int
	StateBytes      int // of parameters and buffers
	InputBytes      int
	ActivationBytes int // of what the modules without modules within returned
}

// Summary runs the inputs through the Forward of model and tells what its modules returned,
// how large they are and what they cost. Further arguments of Forward are undefined or nil.
//
// What runs is a copy of the structure in evaluation, with the same parameters, copies of the
// buffers and without gradients: modes, running statistics and random numbers stay as they
// are. Modules that take part in hooks are seen, see [Hooked]; of others only their
// parameters. A module that is held by value, as [ReLU] is, is seen where its input comes
// right from another one.
//
//	fmt.Println(nn.Summary(model, torch.Empty(1, 3, 224, 224)))
func Summary(model any, inputs ...torch.Tensor) *ModuleSummary {
	s := &ModuleSummary{}
	c := newCounter(s, model)
	torch.Scope(func() {
		defer keepRandom(inputs)()
		twin := twinOf(model)
		c.note(inputs) // before others' calls are seen
		stop := c.watch(twin)
		defer stop()
		torch.NoGrad(func() { callForward(twin, inputs) })
	})
	for _, x := range inputs {
		s.InputBytes += bytesOf(x)
	}
	for _, r := range s.Rows {
		s.Params += r.Params
		s.Trainable += r.Trainable
		s.MACs += r.MACs
		s.StateBytes += r.StateBytes
		s.ActivationBytes += r.ActivationBytes
	}
	return s
}

// twinOf is a model that has the same parameters, buffers of its own, and is in evaluation.
func twinOf(model any) any {
	buffers := map[torch.Tensor]bool{}
	for _, t := range Buffers(model) {
		buffers[t] = true
	}
	c := newCloner(func(t torch.Tensor) torch.Tensor {
		if buffers[t] {
			return t.Clone()
		}
		return t
	})
	return Eval(c.clone(reflect.ValueOf(model)).Interface())
}

// keepRandom notes the states of the generators on the inputs' devices; what it returns puts
// them back.
func keepRandom(inputs []torch.Tensor) (restore func()) {
	states := map[torch.Device]torch.Tensor{torch.CPU: {}}
	for _, x := range inputs {
		states[x.Device()] = torch.Tensor{}
	}
	for d := range states {
		g := torch.DefaultGenerator(d)
		states[d] = g.State()
		g.Close()
	}
	return func() {
		for d, state := range states {
			g := torch.DefaultGenerator(d)
			g.SetState(state)
			g.Close()
		}
	}
}

// callForward calls Forward with the inputs and as many zero values as it wants besides; what
// it takes in any number, its options, it does without.
func callForward(model any, inputs []torch.Tensor) {
	forward := reflect.ValueOf(model).MethodByName("Forward")
	if !forward.IsValid() {
		torch.Throw("summary", torch.KindType, "%T has no Forward", model)
	}
	n := forward.Type().NumIn()
	if forward.Type().IsVariadic() {
		n--
	}
	args := make([]reflect.Value, n)
	for i := range args {
		if want := forward.Type().In(i); i < len(inputs) && want == tensorType {
			args[i] = reflect.ValueOf(inputs[i])
		} else {
			args[i] = reflect.Zero(want)
		}
	}
	if len(args) < len(inputs) {
		torch.Throw("summary", torch.KindValue, "Forward of %T takes %d arguments, got %d inputs", model, len(args), len(inputs))
	}
	forward.Call(args)
}

func bytesOf(t torch.Tensor) int {
	if !t.Defined() {
		return 0
	}
	return t.NumEl() * t.DType().Size()
}

// counter takes down what a twin of a model does.
type counter struct {
	rows  []SummaryRow
	inner []bool // the row has modules within

	mutex sync.Mutex            // hooks see the calls of all goroutines
	twins []any                 // the twins' modules, one for each row
	ours  map[torch.Tensor]bool // tensors that went into the twins, or came out
	open  []openCall            // the calls that are under way
}

// openCall is a call of a module that has a row, or -1.
type openCall struct {
	of  identity
	row int
}

func newCounter(s *ModuleSummary, model any) *counter {
	seen := map[torch.Tensor]bool{}
	for name, m := range NamedModules(model) {
		row := SummaryRow{Name: name, Type: typeName(m), Depth: depth(name)}
		for _, s := range own(m) {
			if !seen[s.tensor] {
				seen[s.tensor] = true
				row.add(s)
			}
		}
		s.Rows = append(s.Rows, row)
	}
	c := &counter{rows: s.Rows, ours: map[torch.Tensor]bool{}}
	for _, row := range s.Rows {
		c.inner = append(c.inner, slices.ContainsFunc(s.Rows, func(other SummaryRow) bool { return other.within(row) }))
	}
	return c
}

// within tells whether the module of r lies in that of other, at any depth.
func (r SummaryRow) within(other SummaryRow) bool {
	return r.Depth > other.Depth && (other.Name == "" || strings.HasPrefix(r.Name, other.Name+"."))
}

// own are the tensors of a module itself.
func own(m any) (list []slot) {
	for n := range walk(m) {
		for p := range n.parts() {
			if t, ok := asTensor(p.value); ok && t.Defined() {
				list = append(list, slot{p.name, t, n.value.Type(), p.tag})
			}
		}
		break
	}
	return list
}

// add counts a tensor of the module.
func (r *SummaryRow) add(s slot) {
	n := s.tensor.NumEl()
	r.StateBytes += bytesOf(s.tensor)
	if s.buffer {
		return
	}
	r.Params += n
	if s.tensor.RequiresGrad() {
		r.Trainable += n
	}
}

// depth is how many modules are around the one of that name.
func depth(name string) int {
	if name == "" {
		return 0
	}
	return strings.Count(name, ".") + 1
}

// watch begins to see calls of the twin; what it returns ends it.
func (c *counter) watch(twin any) (stop func()) {
	for _, m := range NamedModules(twin) {
		c.twins = append(c.twins, m)
	}
	h := add(&hooks{pre: func(m any, inputs []torch.Tensor) []torch.Tensor {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if i, ok := c.find(m, inputs); ok {
			c.open = append(c.open, openCall{identify(m), i})
			c.note(inputs)
		}
		return nil
	}, post: func(m any, inputs, outputs []torch.Tensor) []torch.Tensor {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if _, ok := c.find(m, inputs); ok {
			c.leave(m, inputs, outputs)
		}
		return nil
	}})
	return h.Remove
}

func (c *counter) note(tensors []torch.Tensor) {
	for _, t := range tensors {
		if t.Defined() {
			c.ours[t] = true
		}
	}
}

// find is the row of a module that is called, -1 if it has none; false if the call is
// somebody else's. A module without an identity is the first like it, in the innermost one
// around, that was called least.
func (c *counter) find(m any, inputs []torch.Tensor) (row int, ours bool) {
	called := identify(m)
	for i, twin := range c.twins {
		if called.address != nil && identify(twin).covers(called) {
			return i, true
		}
	}
	if !slices.ContainsFunc(inputs, func(t torch.Tensor) bool { return c.ours[t] }) {
		return -1, false
	}
	around, found := c.innermost(), -1
	for i, r := range c.rows {
		candidate := len(c.open) == 0 && r.Depth == 0 // the model itself
		if around >= 0 {
			candidate = r.Depth == c.rows[around].Depth+1 && r.within(c.rows[around])
		}
		if candidate && called.address == nil && c.like(i, m) && (found < 0 || r.Calls < c.rows[found].Calls) {
			found = i
		}
	}
	return found, true
}

// like tells whether a module held by value is that of a row.
func (c *counter) like(row int, m any) bool {
	return reflect.DeepEqual(reflect.Indirect(reflect.ValueOf(c.twins[row])).Interface(), m)
}

// innermost is the row of the innermost call that has one, or -1.
func (c *counter) innermost() int {
	for _, o := range slices.Backward(c.open) {
		if o.row >= 0 {
			return o.row
		}
	}
	return -1
}

// leave takes down what a call returned. One that began before its input was known as ours is
// not among those under way, and not counted.
func (c *counter) leave(m any, inputs, outputs []torch.Tensor) {
	at := c.begun(m)
	if at < 0 {
		return
	}
	c.note(outputs)
	if n, counts := m.(MACCounter); counts {
		if i := c.innermost(); i >= 0 { // that of the module around, where m is a copy that it made
			c.rows[i].MACs += n.MACs(inputs, outputs)
		}
	}
	i := c.open[at].row
	c.open = slices.Delete(c.open, at, at+1)
	if i < 0 {
		return
	}
	row := &c.rows[i]
	row.Calls, row.Output = row.Calls+1, nil
	for _, t := range outputs {
		if t.Defined() {
			row.Output = append(row.Output, t.Shape())
			if !c.inner[i] {
				row.ActivationBytes += bytesOf(t)
			}
		}
	}
}

// begun is the place of the last call of m among those under way, or -1.
func (c *counter) begun(m any) int {
	of := identify(m)
	for at, o := range slices.Backward(c.open) {
		if o.of == of {
			return at
		}
	}
	return -1
}
