package cgo

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
)

var warningHandler atomic.Pointer[func(string)]

// OnWarning sets who is told of libtorch's warnings; nil restores the default, which
// logs each text once.
func OnWarning(fn func(text string)) {
	if fn == nil {
		warningHandler.Store(nil)
		return
	}
	warningHandler.Store(&fn)
}

func deliverWarnings() {
	var c Call
	c.Begin(OpWarnings)
	c.ask()
	for text := range strings.SplitSeq(strings.TrimSuffix(c.Text(0), "\x00"), "\x00") {
		Warn(text)
	}
}

// Warn hands a warning to whom OnWarning named.
func Warn(text string) {
	if fn := warningHandler.Load(); fn != nil {
		(*fn)(text)
	} else if text != "" && warned.first(text) {
		slog.Warn("torch: " + text)
	}
}

// warned holds the texts that were logged.
var warned once

type once struct {
	mu   sync.Mutex
	seen map[string]bool
}

// first tells whether a text is new. Some texts have numbers in them and are new every
// time: there is an end to what is remembered.
func (o *once) first(text string) bool {
	const most = 1000
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen[text] {
		return false
	}
	if o.seen == nil || len(o.seen) == most {
		o.seen = map[string]bool{}
	}
	o.seen[text] = true
	return true
}
