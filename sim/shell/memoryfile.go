package shell

import (
	"sync"
	"syscall"
)

// textFile is a here-document or the output of a command substitution.
type textFile struct{ data []byte }

func (t *textFile) read(_ *proc, b []byte) (int, error) {
	n := copy(b, t.data)
	t.data = t.data[n:]
	return n, nil
}

func (t *textFile) write(*proc, []byte) (int, error) { return 0, syscall.EBADF }

func (t *textFile) close() {}

// capture collects the output of a command substitution, of which background
// jobs may keep a reference.
type capture struct {
	mu   sync.Mutex
	data []byte
	over bool
}

func (c *capture) read(*proc, []byte) (int, error) { return 0, syscall.EBADF }

func (c *capture) write(p *proc, b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return len(b), nil
	}
	p.hold(len(b))
	c.data = append(c.data, b...)
	return len(b), nil
}

func (c *capture) close() {}

// take returns what was collected; later output is dropped.
func (c *capture) take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	return c.data
}
