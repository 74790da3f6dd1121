package main

import (
	"context"
	"errors"
	"net/http"
	"time"
)

var errStill = errors.New("it is still there")

// deleteEmpty measures how long a namespace takes to go that has nothing in it
// but what controllers have put there.
func (m *meter) deleteEmpty(ctx context.Context, a *api) error {
	const ns = "empty"
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return err
	}
	took, err := a.deleted(ctx, "/api/v1/namespaces/"+ns, lookEvery)
	m.seconds("emptyGone", took)
	return err
}

// deleteFull measures the same of the namespace that the large burst has left,
// and what that takes.
func (m *meter) deleteFull(ctx context.Context, a *api) error {
	cpu := m.plane.stopwatch()
	took, err := a.deleted(ctx, "/api/v1/namespaces/"+large.namespace(), 10*lookEvery)
	if err != nil {
		return err
	}
	m.seconds("fullGone", took)
	used, err := cpu()
	if err := m.told("fullGoneCPU", used.Seconds(), err); err != nil {
		return err
	}
	if err := m.rss("rssGone"); err != nil {
		return err
	}
	if err := pause(ctx, m.idle); err != nil {
		return err
	}
	return m.rss("rssGoneIdle")
}

// deleted deletes an object and returns how long it was seen for. It is looked
// for again and again: a look costs the server a fraction of a millisecond.
func (a *api) deleted(ctx context.Context, path string, every time.Duration) (time.Duration, error) {
	began := time.Now()
	if err := a.request(ctx, http.MethodDelete, path, ""); err != nil {
		return 0, err
	}
	err := a.gone(ctx, path, every)
	return time.Since(began), err
}

// gone returns when there is nothing at a path.
func (a *api) gone(ctx context.Context, path string, every time.Duration) error {
	return await(ctx, every, func(ctx context.Context) error {
		status, err := a.status(ctx, http.MethodGet, path, "")
		switch {
		case status == http.StatusNotFound:
			return nil
		case err == nil:
			return errStill
		}
		return err
	})
}
