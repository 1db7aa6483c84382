package cgo

// ask runs an entry of this package's own: it does without what Run sees to, and answers with zeros
// where libtorch was not opened yet, so that there is nothing to ask, or has no answer: nested
// tensors have no sizes.
func (c *Call) ask() {
	if !opened.Load() {
		return
	}
	door(c.op, &c.words[0], &c.frame)
	if c.frame.kind != 0 {
		takeString(c.frame.msg, -1)
		c.frame = frame{kind: c.frame.kind}
	}
}

// answer runs an entry that takes no argument and returns a number.
func answer(op Op) int64 {
	var c Call
	c.Begin(op)
	c.ask()
	return int64(c.frame.out[0])
}

// word runs an entry that takes one word and returns nothing.
func word(op Op, w uint64) {
	var c Call
	c.Begin(op)
	c.put(w)
	c.ask()
}
