package ctrlplane

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// TestFailingWritesAreReadWhenCallsFail counts how often the records are read, which has to be rare.
func TestFailingWritesAreReadWhenCallsFail(t *testing.T) {
	start := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	wrong := trace.FailingWrite{FailingWrite: observe.FailingWrite{Controller: "shop (bob)", Object: observe.Object{Kind: "ConfigMap", Namespace: "default", Name: "wrong"}}}
	var found []trace.FailingWrite
	var failure error
	reads := 0
	f := &failingWrites{find: func(context.Context, observe.Snapshot) ([]trace.FailingWrite, error) {
		reads++
		return found, failure
	}}
	for _, step := range []struct {
		what         string
		at           time.Duration
		errors       int64
		conflicts    int64
		found        []trace.FailingWrite
		failure      error
		reads, count int
	}{
		{what: "no call has failed", reads: 0},
		{what: "one has", errors: 3, found: []trace.FailingWrite{wrong}, reads: 1, count: 1},
		{what: "another one too soon after it", at: 500 * time.Millisecond, errors: 4, found: []trace.FailingWrite{wrong, wrong}, reads: 1, count: 1},
		{what: "a second after it", at: time.Second, errors: 4, found: []trace.FailingWrite{wrong, wrong}, reads: 2, count: 2},
		{what: "no further one", at: 3 * time.Second, errors: 4, reads: 2, count: 2},
		{what: "the records cannot be read", at: 6 * time.Second, errors: 4, failure: errors.New("no records"), reads: 3, count: 2},
		{what: "just after that", at: 7 * time.Second, errors: 4, reads: 3, count: 2},
		{what: "the attempts have ended", at: 11 * time.Second, errors: 4, reads: 4, count: 0},
		{what: "a call has had a conflict", at: 20 * time.Second, errors: 4, conflicts: 1, found: []trace.FailingWrite{wrong}, reads: 5, count: 1},
		{what: "nothing fails", at: time.Hour, errors: 4, conflicts: 1, reads: 6, count: 0},
	} {
		found, failure = step.found, step.failure
		now := observe.Snapshot{Time: start.Add(step.at), Clients: []observe.Client{{Name: "shop (bob)", Errors: step.errors, Conflicts: step.conflicts}}}
		list, err := f.count(now)
		count := 0
		for _, p := range list {
			count += p.Count
		}
		if reads != step.reads || count != step.count || !errors.Is(err, step.failure) {
			t.Errorf("%s: %d reads, %d writes, %v; want %d, %d", step.what, reads, count, err, step.reads, step.count)
		}
	}
}

// TestFailingWritesOfEachClient has several of one client, of which the first one is the most frequent.
func TestFailingWritesOfEachClient(t *testing.T) {
	write := func(client, verb string) trace.FailingWrite {
		return trace.FailingWrite{FailingWrite: observe.FailingWrite{Controller: client, Verb: verb}}
	}
	f := &failingWrites{find: func(context.Context, observe.Snapshot) ([]trace.FailingWrite, error) {
		return []trace.FailingWrite{write("a", "update"), write("a", "patch"), write("b", "create")}, nil
	}}
	list, err := f.count(observe.Snapshot{Clients: []observe.Client{{Errors: 9}}})
	if err != nil || len(list) != 1 || len(list[0].Writes) != 2 || list[0].Writes[0].Verb != "update" || list[0].Writes[1].Verb != "create" {
		t.Errorf("got %+v, %v", list, err)
	}
}
