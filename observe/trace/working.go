package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// minWorking is how long work for an object has to last until it is worth saying.
const minWorking = time.Second

// Working says which syncs of the key of an object, or of one that its controllers have created for it, have not ended,
// in which queues its key most likely waits, which writes of the object, or of what it owns, have no answer, and which operators that work
// for it do not run, one sentence each. It leaves out what has begun just now.
func Working(o Options, records []observe.Record, about observe.Object, s Style) (list []string) {
	now := o.State
	about.UID = ""
	p, said := newPainter(s, phrases{}), map[string]bool{}
	for _, of := range createdFor(records, about) {
		if len(list) >= maxWorking {
			break
		}
		list = append(list, p.running(now, records, of, said)...)
	}
	waiting := waitingSince(now, records, about)
	for i := range now.Queues {
		q := &now.Queues[i]
		if since, waits := waiting[queueName{q.Controller, q.Name}]; waits && !q.Parked && q.Depth > 0 && now.Time.Sub(since) >= minWorking {
			list = append(list, words.OneLine(about.Key()+" most likely waits in the queue of "+q.Controller)+p.since(since, now.Time)+p.behind(q, now)+".")
			said[q.Controller] = true
		}
	}
	return slices.Concat(list, p.unanswered(now, records, about), p.notRunning(o, records, about, said))
}

// AwaitingAnswers returns the controllers that wait for the answers to their writes, and are not paused, in a snapshot without the others.
func AwaitingAnswers(now observe.Snapshot) observe.Snapshot {
	now.Controllers = slices.DeleteFunc(slices.Clone(now.Controllers), func(c observe.Controller) bool {
		return c.Writing <= 0 || len(c.Running) == 0 || c.State == observe.StatePaused
	})
	return now
}

// DescribeAwaited says which syncs for an object have not ended while their controllers wait for answers, as Working does.
func DescribeAwaited(now observe.Snapshot, records []observe.Record, about observe.Object, s Style) (list []string) {
	if now = AwaitingAnswers(now); len(now.Controllers) == 0 {
		return nil
	}
	about.UID = ""
	p := newPainter(s, phrases{})
	for _, of := range createdFor(records, about) {
		if len(list) < maxWorking {
			list = append(list, p.running(now, records, of, map[string]bool{})...)
		}
	}
	return list
}

// maxWorking is after how many syncs no further object is looked at: one may have many Pods.
const maxWorking = 3

// running says which syncs of an object's key have not ended, and notes their controllers.
func (p *painter) running(now observe.Snapshot, records []observe.Record, o observe.Object, said map[string]bool) (list []string) {
	for i := range now.Controllers {
		c := &now.Controllers[i]
		for _, r := range c.Running {
			if r.Key == o.Key() && !r.Waits && now.Time.Sub(r.Since) >= minWorking && isRunningFor(now, records, c, r, o) {
				list = append(list, p.describeRunning(c, r, now.Time))
				said[c.Name] = true
			}
		}
	}
	return list
}

// isRunningFor reports whether a sync with the key of an object is of that object. A key that is only likely may be that of
// an object that the sync works on for another one, such as a Pod of a ReplicaSet. If the controller is paused and holds
// writes, that says enough.
func isRunningFor(now observe.Snapshot, records []observe.Record, c *observe.Controller, r observe.RunningSync, o observe.Object) bool {
	isLikely := r.KeyBasis.Inferred() && heldNote(c) == "" && hasKeysOf(now, records, queueName{c.Name, r.Queue}, o)
	return (r.KeyBasis.Certain() || isLikely) && isObjectKey(records, c.Name, r.Queue, r.Key, o)
}

// describeRunning says since when a sync of a controller has lasted.
func (p *painter) describeRunning(c *observe.Controller, r observe.RunningSync, now time.Time) string {
	likely := ""
	if !r.KeyBasis.Certain() {
		likely = " most likely"
	}
	if isLost(c) {
		return words.OneLine(c.Name+likely+" had been syncing "+r.Key) + " since " + p.formatClock(r.Since) + " when" + lostProcess + "."
	}
	text := words.OneLine(c.Name+likely+" has been syncing "+r.Key) + p.since(r.Since, now)
	if held := heldNote(c); held != "" {
		return text + held + "."
	}
	return text + unansweredNote(c) + "."
}

// unansweredNote says that writes of a controller have no answer: one of them may be why a sync lasts. The cause may be an
// intervention, such as a delay, which is named elsewhere.
func unansweredNote(c *observe.Controller) string {
	if c.Writing <= 0 {
		return ""
	}
	note := ": the controller waits for the answer to " + words.Count(int(c.Writing), "write")
	if c.Reason == "" {
		note += ", as from a webhook"
	}
	return note
}

// lostProcess says of what has not ended in an operator that it may never: the process has most likely ended.
const lostProcess = " its process closed its connection without a last report"

// isLost reports whether the process of an operator has closed its connection. What it did is known until it is
// clear that it has ended.
func isLost(c *observe.Controller) bool { return cmp.Or(c.Process, c.State) == observe.StateUnknown }

// heldNote says why a sync of a paused controller lasts: a pause holds writes, and nothing else.
func heldNote(c *observe.Controller) string {
	if c.State != observe.StatePaused || c.Held == 0 {
		return ""
	}
	return ": the controller is paused and its writes are held"
}

// isObjectKey reports whether a key of a queue is that of the object.
func isObjectKey(records []observe.Record, controller, queue, key string, about observe.Object) bool {
	return key == about.Key() && keysStandFor(records, controller, observe.FailingKey{Queue: queue, Key: key}, about)
}

// since says since when something lasts.
func (p *painter) since(t, now time.Time) string {
	return " since " + p.formatClock(t) + " (" + p.formatDuration(now.Sub(t)) + ")"
}

// behind says which keys the workers of a queue work on. A pause explains a wait if writes are held, or if nothing
// else does.
func (p *painter) behind(q *observe.Queue, now observe.Snapshot) string {
	var keys []string
	otherwise := ""
	for i := range now.Controllers {
		c := &now.Controllers[i]
		if c.Name != q.Controller {
			continue
		}
		switch held := heldNote(c); {
		case isLost(c):
			return ":" + lostProcess
		case c.ProcessState() == observe.StateBuilding && c.Reason != "":
			return ": " + words.OneLine(c.Reason)
		case held != "":
			return held
		case c.State == observe.StatePaused:
			otherwise = ": the controller is paused"
		}
		for _, r := range c.Running {
			if r.Queue == q.Name && r.Key != "" && len(keys) < 3 {
				keys = append(keys, words.OneLine(r.Key)+", which has been syncing"+p.since(r.Since, now.Time))
			}
		}
	}
	if len(keys) == 0 {
		return otherwise
	}
	return fmt.Sprintf(", behind %s", strings.Join(keys, ", and "))
}
