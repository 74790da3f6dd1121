package learn

import (
	"context"
	"time"

	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/observe"
)

func (p *probe) controllerState(ctx context.Context, name string) (value, error) {
	name, err := p.resolveController(name)
	if err != nil {
		return value{}, err
	}
	list, err := p.control.Controllers(ctx)
	for _, c := range list {
		if c.Name == name {
			return value{text: c.State}, nil
		}
	}
	return value{absent: true}, err
}

func (p *probe) countHeldWrites(ctx context.Context, name, resource string) (value, error) {
	name, err := p.resolveController(name)
	if err != nil {
		return value{}, err
	}
	list, err := p.control.Interventions().HeldWrites(ctx, name, maxHeldWrites)
	n := int64(0)
	for _, h := range list.Items {
		if matchesString(resource, h.Object.Resource) {
			n++
		}
	}
	return numberValue(n), err
}

func (p *probe) queueNumber(ctx context.Context, c *Check) (value, error) {
	s, err := p.snapshot(ctx)
	if err != nil {
		return value{}, err
	}
	now, ok := findQueue(s, c.Queue)
	if !ok {
		return value{absent: true}, nil // that of an operator exists while it runs
	}
	then, _ := findQueue(p.before, c.Queue)
	return numberValue(map[string]int64{
		"depth": now.Depth, "inFlight": now.InFlight,
		"adds": now.Adds - then.Adds, "done": now.Done - then.Done, "retries": retriesOf(now) - retriesOf(then),
	}[c.Of]), nil
}

func findQueue(s observe.Snapshot, name string) (observe.Queue, bool) {
	for _, q := range s.Queues {
		if q.Name == name {
			return q, true
		}
	}
	return observe.Queue{}, false
}

func (p *probe) isSettled(ctx context.Context) (value, error) {
	s, err := p.snapshot(ctx)
	if err != nil {
		return value{}, err
	}
	if work := settled.RemainingWork(s, time.Second); len(work) > 0 {
		return value{busy: work[0].String()}, nil
	}
	return value{text: "true"}, nil
}

// retriesOf returns how many keys were added again after a failed sync. The metrics of most
// programs count planned requeues, too.
func retriesOf(q observe.Queue) int64 {
	if q.ErrorRetries < 0 {
		return q.Retries
	}
	return q.ErrorRetries
}
