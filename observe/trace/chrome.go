package trace

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// chromeEvent is an event of Chrome's Trace Event Format. Times are in microseconds.
type chromeEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Time     float64        `json:"ts"`
	Duration float64        `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	ID       int            `json:"id,omitempty"`
	Binding  string         `json:"bp,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// lane is a track whose slices nest or follow each other.
type lane struct {
	thread int
	open   []time.Time // ends of the open slices
}

// reserveSlice reports whether a node fits on the lane, and reserves its place.
func (l *lane) reserveSlice(n *Node) bool {
	for len(l.open) > 0 && !l.open[len(l.open)-1].After(n.Time) {
		l.open = l.open[:len(l.open)-1]
	}
	if len(l.open) > 0 && l.open[len(l.open)-1].Before(n.End()) {
		return false
	}
	l.open = append(l.open, n.End())
	return true
}

// chromeWriter lays out nodes in lanes: one per controller or client, more if its workers run
// concurrently.
type chromeWriter struct {
	phrases
	start   time.Time
	events  []chromeEvent
	lanes   map[string][]*lane
	count   int
	threads map[*Node]int
}

func (t *Tree) writeChrome(w io.Writer) error {
	c := &chromeWriter{phrases: t.phrases(), start: t.Start, lanes: map[string][]*lane{}, threads: map[*Node]int{}}
	c.events = append(c.events, chromeEvent{Name: "process_name", Phase: "M", Process: 1, Args: map[string]any{"name": "ctrlplane: " + c.fullName(t.About)}})
	nodes := t.nodesByTime()
	slices.SortStableFunc(nodes, func(a, b *Node) int { // outer nodes first
		if d := a.Time.Compare(b.Time); d != 0 {
			return d
		}
		return b.End().Compare(a.End())
	})
	for _, n := range nodes {
		c.addSlice(n)
	}
	flow := 0
	for n := range t.All() {
		for _, to := range n.Children {
			if to.Cause.Rule != ByCall { // a call is drawn within its sync
				flow++
				c.addFlow(n, to, flow)
			}
		}
	}
	return writeJSONLine(w, map[string]any{"traceEvents": c.events, "displayTimeUnit": "ms"})
}

func (c *chromeWriter) addSlice(n *Node) {
	c.threads[n] = c.threadFor(n.laneName(), n)
	e := chromeEvent{
		Name: c.nodeTitle(n), Category: string(n.Kind), Phase: "X", Time: c.microsSinceStart(n.Time),
		Duration: max(float64(n.Took.Nanoseconds())/1000, 1), Process: 1, Thread: c.threads[n], Args: map[string]any{"id": n.ID},
	}
	for key, value := range nodeDetails(n) {
		e.Args[key] = value
	}
	c.events = append(c.events, e)
}

func (c *chromeWriter) threadFor(name string, n *Node) int {
	for _, l := range c.lanes[name] {
		if l.reserveSlice(n) {
			return l.thread
		}
	}
	c.count++
	l := &lane{thread: c.count}
	l.reserveSlice(n)
	c.lanes[name] = append(c.lanes[name], l)
	if i := len(c.lanes[name]); i > 1 {
		name = fmt.Sprintf("%s (%d)", name, i)
	}
	c.events = append(c.events, chromeEvent{Name: "thread_name", Phase: "M", Process: 1, Thread: l.thread, Args: map[string]any{"name": name}})
	return l.thread
}

// addFlow draws an arrow from the end of a node to the beginning of what it caused.
func (c *chromeWriter) addFlow(from, to *Node, id int) {
	name := string(to.Cause.Certainty)
	leave := c.microsSinceStart(from.End()) - 0.001                                     // within the slice
	leave = max(min(leave, c.microsSinceStart(to.Time)), c.microsSinceStart(from.Time)) // an event may be delivered before its call is answered
	c.events = append(c.events,
		chromeEvent{Name: name, Category: "cause", Phase: "s", Time: leave, Process: 1, Thread: c.threads[from], ID: id},
		chromeEvent{Name: name, Category: "cause", Phase: "f", Time: c.microsSinceStart(to.Time), Process: 1, Thread: c.threads[to], ID: id, Binding: "e"})
}

func (c *chromeWriter) microsSinceStart(t time.Time) float64 {
	return float64(t.Sub(c.start).Nanoseconds()) / 1000
}

// nodeTitle describes a node in a few words.
func (p phrases) nodeTitle(n *Node) string {
	switch n.Kind {
	case Sync:
		if n.Key == "" {
			return "sync"
		}
		return "sync " + n.Key
	case Event:
		return p.eventLabel(n)
	}
	return p.requestName(n)
}

// nodeDetails returns a node's fields for tools that show names and values.
func nodeDetails(n *Node) map[string]any {
	d := map[string]any{}
	set := func(key string, value any, known bool) {
		if known {
			d[key] = value
		}
	}
	set("version", n.ResourceVersion, n.ResourceVersion != "")
	set("status", n.Status, n.Status != 0)
	set("queue", n.Queue, n.Queue != "")
	set("waited_us", n.Waited.Microseconds(), n.Kind == Sync)
	set("key_is_likely", true, n.KeyBasis.Inferred())
	set("retried", true, n.Retried)
	set("error", n.Error, n.Error != "")
	set("change", string(n.Change), n.Change != observe.Change(""))
	if n.Cause != nil {
		d["cause"], d["certainty"], d["rule"] = n.Cause.ID, string(n.Cause.Certainty), string(n.Cause.Rule)
	}
	return d
}
