package replay

import (
	"fmt"
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// apply returns the snapshot after a change. It does not modify s, nor what s refers to.
func (c *stateChange) apply(s observe.Snapshot) (observe.Snapshot, error) {
	s.Time, s.Process, s.Journal = c.Time, c.Process, c.Journal
	var err error
	if s.Controllers, err = merge(s.Controllers, c.Controllers, c.isWhole(controllersList), controllerID); err != nil {
		return s, fmt.Errorf("controller %w", err)
	}
	if s.Clients, err = merge(s.Clients, c.Clients, c.isWhole(clientsList), clientID); err != nil {
		return s, fmt.Errorf("client %w", err)
	}
	queues, err := c.queues(s.Queues)
	if err != nil {
		return s, err
	}
	if s.Queues, err = merge(s.Queues, queues, c.isWhole(queuesList), queueID); err != nil {
		return s, fmt.Errorf("queue %w", err)
	}
	if c.isWhole(timersList) {
		s.Timers = c.Timers
	}
	return s, nil
}

func (c *stateChange) isWhole(list string) bool { return slices.Contains(c.Whole, list) }

// queues returns the queues of a change, with their histories.
func (c *stateChange) queues(before []observe.Queue) ([]observe.Queue, error) {
	histories := make(map[string][]observe.Sample, len(before))
	for i := range before {
		histories[queueID(&before[i])] = before[i].History
	}
	var queues []observe.Queue
	for i := range c.Queues {
		q := c.Queues[i].Queue
		old, keep := histories[queueID(&q)], c.Queues[i].Keep
		if keep < 0 || keep > len(old) {
			return nil, fmt.Errorf("queue %q: it keeps %d samples of %d", q.Name, keep, len(old))
		}
		q.History = slices.Concat(old[len(old)-keep:], c.Queues[i].Samples)
		queues = append(queues, q)
	}
	return queues, checkHistories(queues)
}

// merge returns a list with the changed elements, in the order of the list before.
func merge[T any](before, changed []T, whole bool, id func(*T) string) ([]T, error) {
	if whole {
		return changed, nil
	}
	if len(changed) == 0 {
		return before, nil
	}
	now := slices.Clone(before)
	for i := range changed {
		name := id(&changed[i])
		at := slices.IndexFunc(now, func(one T) bool { return id(&one) == name })
		if at < 0 {
			return nil, fmt.Errorf("%q has changed, but was not there before", name)
		}
		now[at] = changed[i]
	}
	return now, nil
}
