package ctrlplane

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// onClose adds what close undoes.
func (p *controlPlane) onClose(undo func() error) { p.closers = append(p.closers, undo) }

// close undoes the start, last step first, and returns when all parts have ended;
// cause is the failure that made it necessary, nil for Close. Later calls wait for
// the first.
func (p *controlPlane) close(cause error) error {
	p.closeOnce.Do(func() {
		p.cause = cause
		close(p.closing)
		if p.api != nil {
			p.api.BeginClose() // now, because the parts that close first wait for their requests
			p.clients.Close()  // likewise for held writes
		}
		var errs []error
		for _, undo := range slices.Backward(p.closers) {
			err := undo()
			if err == nil || cause != nil && strings.Contains(cause.Error(), err.Error()) { // said already
				continue
			}
			p.log.Error("close", "err", err)
			errs = append(errs, err)
		}
		p.apiHandler.Set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // of a start that has failed
			http.Error(w, "the control plane has ended before its API server was assembled", http.StatusServiceUnavailable)
		}))
		p.closeErr = errors.Join(errs...)
		close(p.done)
	})
	return p.closeErr
}

// watchComponents closes the control plane when a part of it fails. Server.Close
// waits for its goroutine, which close cannot: it may call close itself.
func (p *controlPlane) watchComponents() {
	var leaseFailed <-chan error // none without leader election
	if p.config.Controllers.LeaderElect {
		leaseFailed = p.lease.failed
	}
	p.watcher.Go(func() {
		var cause error
		select {
		case <-p.closing:
			return
		case <-p.etcd.server.Done():
			cause = fmt.Errorf("etcd ended: %w", p.etcd.server.Err())
		case <-p.api.Done():
			cause = fmt.Errorf("API server ended: %w", p.api.Err())
		case cause = <-leaseFailed:
		}
		p.log.Error("the control plane closes because a part of it has failed", "err", cause)
		p.close(cause)
	})
}
