package ctrlplane

import (
	"errors"
	"fmt"
	"slices"
)

// close undoes the start, last step first, and returns when all has ended; cause
// is why, nil for Close. Later calls wait for the first.
func (p *controlPlane) close(cause error) error {
	p.closeOnce.Do(func() {
		p.cause = cause
		close(p.closing)
		var errs []error
		for _, undo := range slices.Backward(p.closers) {
			if err := undo(); err != nil {
				p.log.Error("stop", "err", err)
				errs = append(errs, err)
			}
		}
		p.closeErr = errors.Join(errs...)
		close(p.done)
	})
	return p.closeErr
}

// watchComponents ends the control plane when a part of it dies by itself.
func (p *controlPlane) watchComponents() {
	var etcdDone <-chan struct{}
	if p.etcd.server != nil {
		etcdDone = p.etcd.server.Done()
	}
	go func() {
		var cause error
		select {
		case <-p.closing:
			return
		case <-etcdDone:
			cause = fmt.Errorf("etcd ended: %w", p.etcd.server.Err())
		case <-p.api.Done():
			cause = fmt.Errorf("API server ended: %w", p.api.Err())
		case <-p.lease.lost():
			cause = errLeaseLost
		}
		p.log.Error("control plane ends", "err", cause)
		p.close(cause)
	}()
}
