package clitest

import (
	"bytes"
	"sync"
)

// A Console is what several write to at once: processes, or a server and its test. Its zero value is empty.
type Console struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *Console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(b)
}

// String is what was written so far.
func (c *Console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}
