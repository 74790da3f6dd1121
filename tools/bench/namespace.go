package main

import (
	"context"
	"errors"
	"net/http"
	"time"
)

var errStillExists = errors.New("it still exists")

// measureEmptyDelete measures the deletion of a namespace that contains only the
// objects that every namespace gets.
func (m *measurement) measureEmptyDelete(ctx context.Context, a *apiClient) error {
	const ns = "empty"
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return err
	}
	took, err := a.deleteAndWait(ctx, "/api/v1/namespaces/"+ns, pollInterval)
	m.recordSeconds("emptyGone", took)
	return err
}

// measureFullDelete measures the deletion of the namespace of the large burst, with
// CPU and memory.
func (m *measurement) measureFullDelete(ctx context.Context, a *apiClient) error {
	cpu := m.controlPlane.startCPUTimer()
	took, err := a.deleteAndWait(ctx, "/api/v1/namespaces/"+largeBurst.namespace(), 10*pollInterval)
	if err != nil {
		return err
	}
	m.recordSeconds("fullGone", took)
	if err := m.recordCPU("fullGoneCPU", cpu); err != nil {
		return err
	}
	if err := m.recordRSS("rssGone"); err != nil {
		return err
	}
	if err := sleepContext(ctx, m.idle); err != nil {
		return err
	}
	return m.recordRSS("rssGoneIdle")
}

// deleteAndWait deletes an object and returns how long it existed after that. It polls,
// which costs the server a fraction of a millisecond each time.
func (a *apiClient) deleteAndWait(ctx context.Context, path string, every time.Duration) (time.Duration, error) {
	began := time.Now()
	if err := a.sendRequest(ctx, http.MethodDelete, path, ""); err != nil {
		return 0, err
	}
	err := a.awaitDeleted(ctx, path, every)
	return time.Since(began), err
}

// awaitDeleted returns when a path is not found.
func (a *apiClient) awaitDeleted(ctx context.Context, path string, every time.Duration) error {
	return pollUntil(ctx, every, func(ctx context.Context) error {
		status, err := a.requestStatus(ctx, http.MethodGet, path, "")
		switch {
		case status == http.StatusNotFound:
			return nil
		case err == nil:
			return errStillExists
		}
		return err
	})
}
