package container

import (
	"context"
	"io"
	"sync"

	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// maxPendingBytes is how much output a client may leave unread until it is detached.
const maxPendingBytes = 8 << 20

// client is a client that is attached to a run. A goroutine of its own writes to it, so
// that a client that does not read cannot block the command.
type client struct {
	Streams
	cancel  context.CancelFunc
	ready   chan struct{} // receives when output is pending; closed when no more follows
	written chan struct{} // closed when all has been written

	mu      sync.Mutex
	pending []output
	size    int
	ended   bool // nothing writes what is pending
}

// output is what one stream gets.
type output struct {
	stderr bool
	data   []byte
}

func newClient(streams Streams, cancel context.CancelFunc) *client {
	c := &client{Streams: streams, cancel: cancel, ready: make(chan struct{}, 1), written: make(chan struct{})}
	go c.copyOut()
	return c
}

func (c *client) stream(stderr bool) io.Writer {
	if stderr {
		return c.Stderr
	}
	return c.Stdout
}

// add adds output for one of the client's streams.
func (c *client) add(p []byte, stderr bool) {
	if c.stream(stderr) == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.size+len(p) > maxPendingBytes || !shell.Reserve(len(p)) {
		c.cancel()
		return
	}
	c.size += len(p)
	if last := len(c.pending) - 1; last >= 0 && c.pending[last].stderr == stderr {
		c.pending[last].data = append(c.pending[last].data, p...)
	} else {
		c.pending = append(c.pending, output{stderr, append([]byte(nil), p...)})
	}
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// take returns what is pending.
func (c *client) take() []output {
	c.mu.Lock()
	defer c.mu.Unlock()
	pending := c.pending
	shell.Release(c.size)
	c.pending, c.size = nil, 0
	return pending
}

func (c *client) copyOut() {
	defer close(c.written)
	defer c.drop()
	for range c.ready {
		for _, o := range c.take() {
			if _, err := c.stream(o.stderr).Write(o.data); err != nil {
				c.cancel()
				return
			}
		}
	}
}

// drop forgets what is pending; nothing is added any more.
func (c *client) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	shell.Release(c.size)
	c.pending, c.size, c.ended = nil, 0, true
}
