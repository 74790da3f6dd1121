package ctrlplane

import (
	"errors"
	"fmt"
	"slices"
)

// end undoes the start, last step first, and returns when all has ended; cause
// is why, nil for Close. Later calls wait for the first.
func (p *plane) end(cause error) error {
	p.endOnce.Do(func() {
		p.cause = cause
		close(p.ending)
		var errs []error
		for _, undo := range slices.Backward(p.closers) {
			if err := undo(); err != nil {
				p.log.Error("stop", "err", err)
				errs = append(errs, err)
			}
		}
		p.endErr = errors.Join(errs...)
		close(p.done)
	})
	return p.endErr
}

// watch ends the control plane when a part of it dies by itself.
func (p *plane) watch() {
	var etcdDone <-chan struct{}
	if p.storage.server != nil {
		etcdDone = p.storage.server.Done()
	}
	go func() {
		var cause error
		select {
		case <-p.ending:
			return
		case <-etcdDone:
			cause = fmt.Errorf("etcd ended: %w", p.storage.server.Err())
		case <-p.api.Done():
			cause = fmt.Errorf("API server ended: %w", p.api.Err())
		case <-p.lease.lost():
			cause = errLeaseLost
		}
		p.log.Error("control plane ends", "err", cause)
		p.end(cause)
	}()
}
