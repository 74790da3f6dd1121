package replay

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Moment is a source that shows a recording at one position.
type Moment struct {
	recording *Recording
	position  Position
	first     int // record of the process
}

var _ observe.Source = (*Moment)(nil)

// Time is the time of the moment.
func (m *Moment) Time() time.Time { return m.position.At }

// Snapshot implements observe.Source. Of a time from which no snapshot was recorded, it
// has what the records say.
func (m *Moment) Snapshot(context.Context) (observe.Snapshot, error) {
	last := m.recording.stateAt(m.position.At)
	if last < 0 {
		return m.fromRecords(), nil
	}
	return m.recording.stateOf(last)
}

// Records implements observe.Source. Missed counts the records that the recording lacks.
func (m *Moment) Records(_ context.Context, q observe.Query) (observe.Page, error) {
	records := m.recording.records[m.first:max(m.position.records, m.first)]
	p := observe.Page{Next: q.After}
	if len(records) == 0 {
		return p, nil
	}
	p.Next = max(p.Next, records[len(records)-1].Seq)
	after := slices.IndexFunc(records, func(r observe.Record) bool { return r.Seq > q.After })
	if after < 0 {
		return p, nil
	}
	records = records[after:]
	if p.Missed = p.Next - q.After - uint64(len(records)); p.Missed > 0 {
		p.CompleteAfter = lastGap(records)
	}
	for i := range records {
		if r, ok := q.Select(&records[i]); ok {
			p.Records = append(p.Records, r)
		}
	}
	if over := len(p.Records) - q.Limit; q.Limit > 0 && over > 0 {
		p.CompleteAfter = max(p.CompleteAfter, p.Records[over-1].Seq)
		p.Records, p.LeftOut = p.Records[over:], uint64(over)
	}
	return p, nil
}

// lastGap returns the Seq after which no record is missing.
func lastGap(records []observe.Record) uint64 {
	i := len(records) - 1
	for i > 0 && records[i-1].Seq+1 == records[i].Seq {
		i--
	}
	return records[i].Seq - 1
}

// fromRecords returns the controllers and queues as far as records tell.
func (m *Moment) fromRecords() observe.Snapshot {
	s := observe.Snapshot{Time: m.position.At, Process: observe.Process{Requests: -1, RequestRate: -1}}
	controllers, queues := map[string]int{}, map[string]int{}
	for _, r := range m.recording.records[m.first:max(m.position.records, m.first)] {
		s.Journal.Last = r.Seq
		switch e := r.Event.(type) {
		case *observe.ControllerChanged:
			i, ok := controllers[e.Controller]
			if !ok {
				i = len(s.Controllers)
				controllers[e.Controller] = i
				s.Controllers = append(s.Controllers, observe.Controller{
					Name: e.Controller, Delivered: -1, Reads: -1, Changes: -1, Errors: -1, Conflicts: -1, Syncs: -1, Failures: -1,
				})
			}
			c := &s.Controllers[i]
			if c.ProcessState() != e.ProcessState() {
				c.Since = r.Time
			}
			c.State, c.Reason, c.Interventions, c.Process, c.Gone = e.State, e.Reason, e.Interventions, e.Process, e.Gone
		case *observe.QueueChanged:
			q := observe.Queue{
				Controller: e.Controller, Name: e.Queue, Depth: e.Depth, MaxDepth: max(e.Depth, e.MaxDepth), InFlight: e.InFlight,
				Adds: e.Adds, Gets: e.Gets, Done: e.Done, Retries: e.Retries, ErrorRetries: -1, Delayed: -1, AddRate: -1, DoneRate: -1,
			}
			i, ok := queues[queueID(&q)]
			if !ok {
				i = len(s.Queues)
				queues[queueID(&q)] = i
				s.Queues = append(s.Queues, q)
			}
			s.Queues[i] = q
		}
	}
	slices.SortFunc(s.Controllers, func(a, b observe.Controller) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Queues, func(a, b observe.Queue) int { return strings.Compare(queueID(&a), queueID(&b)) })
	return s
}
