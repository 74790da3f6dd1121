package container

import (
	"context"
	"sync"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// terminalSize is the size of the terminal of the client that has sent it last.
type terminalSize struct {
	first chan struct{} // closed when there is one

	mu   sync.Mutex
	last remotecommand.TerminalSize
}

func newTerminalSize() *terminalSize { return &terminalSize{first: make(chan struct{})} }

// maxFirstSize is how long a program waits for the first size: clients send it after the command.
const maxFirstSize = 500 * time.Millisecond

// get returns the size; zeros if no client has sent it.
func (t *terminalSize) get(ctx context.Context) (rows, columns int) {
	ctx, cancel := context.WithTimeout(ctx, maxFirstSize)
	defer cancel()
	select {
	case <-t.first:
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(t.last.Height), int(t.last.Width)
}

// receive receives the sizes of a client until it has gone, or ctx ends. Of a nil terminalSize they are discarded.
func (t *terminalSize) receive(ctx context.Context, sizes <-chan remotecommand.TerminalSize) {
	for {
		select {
		case size, ok := <-sizes:
			if !ok {
				return
			}
			t.set(size)
		case <-ctx.Done():
			return
		}
	}
}

func (t *terminalSize) set(size remotecommand.TerminalSize) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = size
	select {
	case <-t.first:
	default:
		close(t.first)
	}
}
