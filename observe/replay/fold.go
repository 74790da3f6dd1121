package replay

import (
	"fmt"
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// fold is a snapshot that changes are applied to. It modifies its own lists, but not what
// their elements refer to.
type fold struct {
	last        observe.Snapshot // without the lists that follow
	controllers foldedList[observe.Controller]
	queues      foldedList[foldedQueue]
	clients     foldedList[observe.Client]
	idle        int // all IdleSamples
}

// foldedQueue is a queue as it was last listed. Its history has gone on since then, which snapshot adds: lines are short, and
// there may be many queues.
type foldedQueue struct {
	observe.Queue
	idle int // fold.idle when it was listed
}

func foldedID(q *foldedQueue) string { return queueID(&q.Queue) }

// newFold begins with a snapshot, which it does not modify.
func newFold(s *observe.Snapshot) *fold {
	f := &fold{last: *s}
	f.controllers.replace(s.Controllers)
	f.queues.replace(f.toFolded(s.Queues))
	f.clients.replace(s.Clients)
	return f
}

// toFolded returns queues that are listed now.
func (f *fold) toFolded(queues []observe.Queue) (folded []foldedQueue) {
	for _, q := range queues {
		folded = append(folded, foldedQueue{q, f.idle})
	}
	return folded
}

// snapshot returns a copy of the snapshot.
func (f *fold) snapshot() observe.Snapshot {
	s := f.last
	s.Controllers, s.Clients = slices.Clone(f.controllers.all), slices.Clone(f.clients.all)
	s.Queues = make([]observe.Queue, len(f.queues.all))
	for i, q := range f.queues.all {
		s.Queues[i] = q.Queue
		s.Queues[i].History = withIdle(q.History, q.Depth, f.idle-q.idle)
	}
	return s
}

// apply applies a change. After an error, the snapshot is of no use.
func (f *fold) apply(c *stateChange) error {
	f.last.Time, f.last.Process, f.last.Journal = c.Time, c.Process, c.Journal
	if c.IdleSamples < 0 || c.IdleSamples > maxSamples {
		return fmt.Errorf("its histories go on with %d samples, and at most %d are read", c.IdleSamples, maxSamples)
	}
	f.idle += c.IdleSamples
	if err := f.controllers.merge(c.Controllers, c.isWhole(controllersList), controllerID); err != nil {
		return fmt.Errorf("controller %w", err)
	}
	if err := f.clients.merge(c.Clients, c.isWhole(clientsList), clientID); err != nil {
		return fmt.Errorf("client %w", err)
	}
	queues, err := f.queuesOf(c)
	if err != nil {
		return err
	}
	if err := f.queues.merge(f.toFolded(queues), c.isWhole(queuesList), foldedID); err != nil {
		return fmt.Errorf("queue %w", err)
	}
	if c.isWhole(timersList) {
		f.last.Timers = c.Timers
	}
	if c.isWhole(problemsList) {
		f.last.Problems = c.Problems
	}
	return nil
}

func (c *stateChange) isWhole(list string) bool { return slices.Contains(c.Whole, list) }

// queuesOf returns the queues of a change, with their histories.
func (f *fold) queuesOf(c *stateChange) ([]observe.Queue, error) {
	var queues []observe.Queue
	for i := range c.Queues {
		q := c.Queues[i].Queue
		var old []observe.Sample
		if before := f.queues.find(queueID(&q), foldedID); before != nil {
			old = before.History
		}
		keep := c.Queues[i].Keep
		if keep < 0 || keep > len(old) {
			return nil, fmt.Errorf("queue %q: it keeps %d samples of %d", q.Name, keep, len(old))
		}
		q.History = slices.Concat(old[len(old)-keep:], c.Queues[i].Samples)
		queues = append(queues, q)
	}
	return queues, checkHistories(queues)
}

// foldedList is a list and where its elements are.
type foldedList[T any] struct {
	all []T
	at  map[string]int // by ID; nil until it is needed
}

func (l *foldedList[T]) replace(all []T) { l.all, l.at = slices.Clone(all), nil }

func (l *foldedList[T]) find(name string, id func(*T) string) *T {
	if l.at == nil {
		l.at = make(map[string]int, len(l.all))
		for i := range l.all {
			l.at[id(&l.all[i])] = i
		}
	}
	if i, ok := l.at[name]; ok {
		return &l.all[i]
	}
	return nil
}

// merge puts changed elements in the place of those before.
func (l *foldedList[T]) merge(changed []T, whole bool, id func(*T) string) error {
	if whole {
		l.replace(changed)
		return nil
	}
	for i := range changed {
		name := id(&changed[i])
		before := l.find(name, id)
		if before == nil {
			return fmt.Errorf("%q has changed, but was not there before", name)
		}
		*before = changed[i]
	}
	return nil
}
