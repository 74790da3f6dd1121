package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/observe"
)

// loopingSource is a busy control plane in which a client reacts to its own writes from a time on.
type loopingSource struct{ from time.Time }

func (s loopingSource) Snapshot(context.Context) (observe.Snapshot, error) {
	return observe.Snapshot{}, nil // not ready
}

func (s loopingSource) Records(context.Context, observe.Query) (observe.Page, error) {
	var page observe.Page
	object := observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: "default", Name: "c"}
	for at := s.from; at.Before(time.Now()); at = at.Add(100 * time.Millisecond) {
		seq, version := uint64(len(page.Records)), at.Format("150405.000")
		page.Records = append(page.Records,
			observe.Record{Seq: seq + 1, Time: at, Event: &observe.Called{
				Controller: "loop", Client: &observe.Caller{User: "me"}, Verb: "patch", Object: object, Status: 200, ResourceVersion: version, Cause: seq,
				Wrote: []observe.Written{{Resource: "configmaps", Namespace: "default", Name: "c", ResourceVersion: version}},
			}},
			observe.Record{Seq: seq + 2, Time: at, Event: &observe.Delivered{Controller: "loop", Change: observe.Updated, Object: object, ResourceVersion: version}})
	}
	return page, nil
}

// A loop is found at once, or when the time to settle is over.
func TestSettleOrLoop(t *testing.T) {
	for name, tc := range map[string]struct {
		begins, takes time.Duration
		loop          bool
	}{
		"at once":       {0, hotLoopWatch, true},
		"after a while": {hotLoopWatch + time.Second, time.Minute, true},
		"never":         {time.Hour, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				r := &runCommand{settle: true, assertions: runAssertions{rules: assert.Rules{NoHotLoop: true}}}
				_, err := r.settleOrLoop(ctx, loopingSource{began.Add(tc.begins)})
				if _, loop := errors.AsType[*hotLoopError](err); err == nil || loop != tc.loop {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took != tc.takes {
					t.Errorf("it took %v, want %v", took, tc.takes)
				}
			})
		})
	}
}
