package parity

import (
	"errors"
	"iter"

	"github.com/libtorch-go/libtorch/internal/optable"
	"github.com/libtorch-go/libtorch/torch"
)

// Repeated are the recorded calls of typed functions that succeed, each ready to be made
// again and again within the loop.
func (c *chunk) Repeated() iter.Seq2[optable.Form, func()] {
	return func(yield func(form optable.Form, again func()) bool) {
		for i := range c.cases {
			k, more := &c.cases[i], true
			if k.Error != nil {
				continue
			}
			torch.Scope(func() {
				if form, again, err := c.repeatable(k); err == nil {
					more = yield(form, again)
				}
			})
			if !more {
				return
			}
		}
	}
}

// repeatable makes a case ready. An operator that writes to its arguments gets new ones
// every time.
func (c *chunk) repeatable(k *Case) (form optable.Form, again func(), err error) {
	call, err := prepare(c, k)
	if err != nil {
		return form, nil, err
	}
	if call.form.Func == nil {
		return form, nil, errNoForm
	}
	again = func() {
		one := call
		if len(k.Write) > 0 {
			one, err = prepare(c, k)
		}
		if err == nil {
			_, err = one.call(k)
		}
		if err != nil {
			panic(err)
		}
	}
	thrown := torch.Try(func() { torch.Scope(again) })
	return call.form, again, errors.Join(err, thrown)
}
