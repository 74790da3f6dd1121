package trace

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// FailingWrite is a write that a client tries again and again, with what its last attempt says.
type FailingWrite struct {
	observe.FailingWrite
	// Renamed is set if it is a creation, and each attempt had another name: Object is that of the last one. Owner is
	// the first owner that the object would have: kind, name and UID.
	Renamed bool            `json:"renamed,omitempty"`
	Owner   *observe.Object `json:"owner,omitempty"`
	Error   string          `json:"error"` // of the last attempt
	Last    time.Time       `json:"last"`

	text string
}

// String says without the name of the client what fails, how often, when last unless that was just now, and why.
func (f FailingWrite) String() string { return f.text }

const (
	// searchedCalls is how many of the newest calls are searched for writes that fail.
	searchedCalls = 4000
	// failingOften is how often in a row a write fails until it counts: a first attempt may be too early.
	failingOften = 3
	// minPolledFailing is how long a client that polls must have tried, as a test may list while it expects refusals.
	minPolledFailing = 2 * time.Second
)

// FindFailingWrites returns the writes that connected clients try again and again and that fail, by client, the most
// frequent first. now is a snapshot of the source.
func FindFailingWrites(ctx context.Context, source observe.Source, now observe.Snapshot) ([]FailingWrite, error) {
	if !HasFailedWrites(now) {
		return nil, nil
	}
	page, err := source.Records(ctx, observe.Query{Kinds: []observe.Kind{observe.KindCalled}, Notable: true, Limit: searchedCalls})
	if err != nil {
		return nil, err
	}
	return failingWritesIn(page.Records, now), nil
}

// mayFail reports whether the failures of a client count.
func mayFail(c *observe.Client) bool {
	return (c.IsWatching() || c.IsPolling()) && observe.ProgramOf(c.Name) != "kubectl"
}

// HasFailedWrites reports whether as many requests of a client that may try again have failed as a write that counts needs.
func HasFailedWrites(now observe.Snapshot) bool {
	return slices.ContainsFunc(now.Clients, func(c observe.Client) bool { return mayFail(&c) && c.Errors+c.Conflicts >= failingOften })
}

// workBegan returns when the process of a client began to watch, or to poll if it does not watch.
func workBegan(c *observe.Client) time.Time {
	if c.IsWatching() || len(c.Polls) == 0 {
		return c.WatchBegan
	}
	return slices.MinFunc(c.Polls, func(a, b observe.ClientPoll) int { return a.Since.Compare(b.Since) }).Since
}

// isTriedBy reports whether a client that watches or polls may try the write again. One that polls does so after a further
// list. A test that expects refusals does not.
func (f *failedEffect) isTriedBy(c *observe.Client) bool {
	return c.IsWatching() || f.last.Time.Sub(f.first.Time) >= minPolledFailing &&
		slices.ContainsFunc(c.Polls, func(p observe.ClientPoll) bool { return p.Last.After(f.first.Time) })
}

// failingWritesIn returns the writes that fail again and again. It leaves out those of kubectl, which is used to try,
// those of a process that neither watches nor polls, as a test that expects a refusal, those from before the process began
// to, attempts that were given up while they were held or delayed, conflicts that are passing, creations of objects that
// exist, as many clients create first and are content with that answer, unless they back off, and creations in namespaces that
// are being deleted. Creations under a generated name count together: see foldRenamed.
func failingWritesIn(calls []observe.Record, now observe.Snapshot) (list []FailingWrite) {
	failing, existing, watching := failingWrites{}, newExistingObjects(), map[string]*observe.Client{}
	creatorOf := creators{}
	for i := range now.Clients {
		if c := &now.Clients[i]; mayFail(c) {
			watching[c.Name] = c
		}
	}
	g := newGraph(calls, observe.Object{}, Options{})
	for _, n := range slices.SortedFunc(slices.Values(g.nodes), compareEnd) {
		creatorOf.note(n)
		if n.Kind != Call || !n.isWrite() {
			continue
		}
		k, ok := n.subject()
		existing.noteWrite(k, n)
		client := watching[n.Controller]
		switch {
		case !n.Failed || n.isStored():
			failing.noteStored(n)
			existing.noteStored(n)
		case !ok, client == nil || n.Time.Before(workBegan(client)), !n.isUnexplainedFailure(), n.wasGivenUp(), n.foundNamespaceEnding():
		case n.foundExisting():
			existing.noteFailed(k, n, creatorOf.of(n))
		default:
			failing.noteFailed(k, n)
		}
	}
	found := slices.DeleteFunc(append(g.foldRenamed(failing.sorted()), existing.refused()...), func(f *failedEffect) bool {
		return !f.isTriedBy(watching[f.last.Controller]) || f.times < failingOften || f.isPassing(watching[f.last.Controller], now.Time) || !f.isStillTried(now.Time)
	})
	var shown []*observe.Object
	for _, f := range found {
		shown = append(shown, f.last.Object)
	}
	p := phrases{ambiguous: ambiguousKinds(shown)}
	for _, f := range found {
		n := f.last
		w := FailingWrite{
			FailingWrite: observe.FailingWrite{
				Controller: n.Controller, Verb: n.Verb, Object: *n.Object, Subresource: n.Subresource, Times: f.times, Status: n.Status, Conflict: n.isConflict(),
			},
			Renamed: f.renamed, Error: n.Error, Last: n.Time, text: strings.TrimSpace(n.asWhom() + " " + p.describeAttempts(f, now.Time)),
		}
		if f.renamed {
			w.Owner = n.owner
		}
		list = append(list, w)
	}
	slices.SortStableFunc(list, func(a, b FailingWrite) int {
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(b.Times, a.Times))
	})
	return list
}
