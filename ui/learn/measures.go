package learn

import (
	"context"
	"errors"
	"time"

	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/observe"
)

func (p *probe) state(ctx context.Context, name string) (value, error) {
	name, err := p.controller(name)
	if err != nil {
		return value{}, err
	}
	list, err := p.control.Controllers(ctx)
	for _, c := range list {
		if c.Name == name {
			return value{text: c.State}, nil
		}
	}
	return value{gone: true}, err
}

func (p *probe) held(ctx context.Context, name, resource string) (value, error) {
	name, err := p.controller(name)
	if err != nil {
		return value{}, err
	}
	list, err := p.control.Gates().Held(ctx, name, mostHeld)
	n := int64(0)
	for _, h := range list.Items {
		if is(resource, h.Object.Resource) {
			n++
		}
	}
	return number(n), err
}

func (p *probe) queue(ctx context.Context, c *Check) (value, error) {
	s, err := p.control.Snapshot(ctx)
	if err != nil {
		return value{}, err
	}
	now, ok := queueOf(s, c.Queue)
	if !ok {
		return value{}, errors.New("there is no such queue")
	}
	then, _ := queueOf(p.then, c.Queue)
	return number(map[string]int64{
		"depth": now.Depth, "inFlight": now.InFlight,
		"adds": now.Adds - then.Adds, "done": now.Done - then.Done, "retries": now.Retries - then.Retries,
	}[c.Of]), nil
}

func queueOf(s observe.Snapshot, name string) (observe.Queue, bool) {
	for _, q := range s.Queues {
		if q.Name == name {
			return q, true
		}
	}
	return observe.Queue{}, false
}

func (p *probe) settled(ctx context.Context) (value, error) {
	s, err := p.control.Snapshot(ctx)
	if err != nil {
		return value{}, err
	}
	if work := settled.Left(s, time.Second); len(work) > 0 {
		return value{text: ""}, nil
	}
	return value{text: "true"}, nil
}
