package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// graph has all records as nodes, each with its cause if one is found.
type graph struct {
	nodes      []*Node // in order of time
	calls      []*Node
	events     []*Node
	syncs      []*Node
	syncByID   map[uint64]*Node
	eventBySeq map[uint64]*Node

	takenOver []*observe.Called // Leases, from another holder

	writesReported bool // by the storage, with the call that made each
}

// newGraph links records. It skips Events and Leases unless o.All is set or the trace
// is about one.
func newGraph(records []observe.Record, about observe.Object, o Options) *graph {
	g := &graph{syncByID: map[uint64]*Node{}, eventBySeq: map[uint64]*Node{}}
	for i := range records {
		r := &records[i]
		switch e := r.Event.(type) {
		case *observe.Called:
			if !e.Object.IsRoutine() || o.All || e.Object.Resource == about.Resource {
				g.addCall(r, e)
			}
			if e.TakenBy != "" && !e.Failed() {
				g.takenOver = append(g.takenOver, e)
			}
		case *observe.Delivered:
			if !e.Object.IsRoutine() || o.All || e.Object.Resource == about.Resource {
				g.addEvent(r, e)
			}
		case *observe.Synced:
			g.addSync(r, e)
		}
	}
	for i := range records {
		if l, ok := records[i].Event.(*observe.Logged); ok {
			g.addLog(l)
		}
	}
	// First what the records lack that other records have: the rest compares kinds, times and versions.
	g.completeKinds()
	g.completeTransitions()
	g.addRunning(o.State)
	g.completeSyncs()
	g.linkClientWrites(watchingClients(o.State))
	g.completeListed()
	// Then the write behind each event: the steps below ask who made it.
	writes := g.linkVersions()
	g.noteNoEffect()
	g.noteMissingStatus(o)
	g.noteConflicts(writes)
	g.noteRetries()
	g.noteReplaced()
	// Why each key was queued. The last three prefer news that the sync found to a cause that brings none, such as a timer.
	g.linkAdds()
	g.noteDueStarts()
	if !o.following {
		g.linkOpenSyncs()
	}
	g.linkMerged()
	g.linkReplacements()
	g.linkSpecChanges()
	// Last, calls and outside writes that have no cause yet.
	g.linkLooseCalls()
	g.noteOrphanedPods(records)
	g.linkNodeTimers()
	g.linkInstances(writes)
	g.linkDefinitions(writes)
	g.nodes = slices.Concat(writes, g.calls, g.events, g.syncs)
	slices.SortStableFunc(g.nodes, compareTime)
	g.breakCycles()
	g.linkRemovals() // follows the causes
	g.noteAbsentOwners(o.Missed)
	return g
}

func compareTime(a, b *Node) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.seq, b.seq)) }

func (g *graph) addCall(r *observe.Record, c *observe.Called) {
	if !c.IsWrite() && (!c.Failed() || c.Client != nil) { // clients such as kubectl ask whether an object exists
		return
	}
	o := c.Object // the node's is completed
	n := &Node{
		ID: fmt.Sprintf("r%d", r.Seq), Kind: Call, Time: callStart(r, c), Took: c.Took, Held: c.Held, seq: r.Seq,
		Controller:      c.Controller,
		Verb:            c.Verb,
		Object:          &o,
		Subresource:     c.Subresource,
		Selected:        c.Selected,
		ResourceVersion: c.ResourceVersion,
		Status:          c.Status,
		Conflict:        c.Conflict && !c.IsInjected(),
		Failed:          c.IsFailure(),
		Error:           c.Error,
		BoundTo:         c.BoundTo,
		Webhooks:        c.Webhooks,
		ToCreate:        c.ToCreate,
		Forced:          c.Forced(),
		Warnings:        c.Warnings,

		version:          c.Version,
		uid:              c.Object.UID,
		wrote:            c.Wrote,
		claimedCause:     c.Cause,
		unexplained:      c.Unexplained,
		owner:            c.Owner,
		unknownSync:      c.UnknownSync,
		readVersion:      c.ReadVersion,
		afterSync:        c.AfterSync,
		byClient:         c.Client != nil,
		dryRun:           c.DryRun,
		injectedConflict: c.Conflict && c.IsInjected(),
		aggregated:       c.Aggregated,
	}
	if c.Applied {
		n.FieldManager = c.FieldManager
	}
	if n.byClient {
		n.Impersonates = c.Client.Impersonates
	}
	n.applyWritten()
	g.writesReported = g.writesReported || c.ReportsWrites()
	g.calls = append(g.calls, n)
	if c.Sync == 0 {
		return
	}
	s := g.syncByID[c.Sync]
	if s == nil { // a sync is recorded at its end, after its calls
		s = &Node{ID: fmt.Sprintf("s%d", c.Sync), Kind: Sync, Time: n.Time, seq: r.Seq, Controller: c.Controller, Open: true}
		g.syncByID[c.Sync] = s
		g.syncs = append(g.syncs, s)
	}
	n.setCause(s, Certain, ByCall)
}

// completeKinds completes the kinds of custom resources in calls that were answered without the
// object, as a conflict is, and in events.
func (g *graph) completeKinds() {
	kinds := map[place]string{}
	of := func(o *observe.Object) place { return place{group: o.Group, resource: o.Resource} }
	for _, n := range slices.Concat(g.calls, g.events) {
		if n.Object.Kind != "" {
			kinds[of(n.Object)] = n.Object.Kind
		}
	}
	for _, n := range slices.Concat(g.calls, g.events) {
		n.Object.Kind = cmp.Or(n.Object.Kind, kinds[of(n.Object)])
	}
}

// callStart returns when a call began. A record may lack the time.
func callStart(r *observe.Record, c *observe.Called) time.Time {
	if c.Began.IsZero() {
		return r.Time.Add(-c.Took)
	}
	return c.Began
}

func (g *graph) addEvent(r *observe.Record, d *observe.Delivered) {
	o := d.Object
	n := Node{
		ID: fmt.Sprintf("r%d", r.Seq), Kind: Event, Time: r.Time.Add(-d.Took), Took: d.Took, seq: r.Seq,
		Controller: d.Controller, Change: d.Change, Object: &o, ResourceVersion: d.ResourceVersion,
		queues: d.Queues, adds: d.Adds, delayedKeys: d.Later, delays: d.Delays, uid: d.Object.UID, deleting: d.Deleting, noExecute: d.NoExecute,
	}
	if !d.Deleting { // otherwise that is what counts
		n.Became = d.Became
	}
	g.events, g.eventBySeq[r.Seq] = append(g.events, &n), &n
	for i, name := range d.AlsoTo {
		other := n
		other.ID, other.Controller, other.Took, other.alsoTo = fmt.Sprintf("r%d.%d", r.Seq, i+1), name, 0, nil
		g.events, n.alsoTo = append(g.events, &other), append(n.alsoTo, &other)
	}
}

func (g *graph) addSync(r *observe.Record, s *observe.Synced) {
	n := g.syncByID[s.ID]
	if n == nil {
		n = &Node{Kind: Sync}
		g.syncByID[s.ID] = n
		g.syncs = append(g.syncs, n)
	}
	n.ID, n.Open, n.seq = fmt.Sprintf("s%d", s.ID), false, r.Seq
	n.Time, n.Took, n.Waited = r.Time.Add(-s.Took), s.Took, s.Waited
	n.Controller, n.Queue, n.Key, n.KeyBasis = s.Controller, s.Queue, s.Key, s.KeyBasis
	n.Retried, n.Failed, n.Error = s.Retried, s.Failed(), s.Error
	n.claimedCause, n.record = s.Cause, s
}

// errorSyncing is part of the line, "Error syncing deployment" or the like, with which
// a controller of Kubernetes logs a failed sync.
const errorSyncing = "rror syncing"

// addLog keeps the notable log lines of a sync, much as klog formats them: those of its V(2) and above, except
// failures, which the sync has itself.
func (g *graph) addLog(l *observe.Logged) {
	s := g.syncByID[l.Sync]
	if s == nil || l.Level < -2 || l.IsWarning() || l.IsError() || strings.Contains(l.Message, errorSyncing) {
		return
	}
	line := strconv.Quote(l.Message)
	for _, a := range l.Attrs {
		if l.Message == otherNamespace && a.Key == "owner" {
			s.foreignOwners = append(s.foreignOwners, a.Value)
		}
		if a.Value != s.Key {
			line += " " + a.String()
		}
	}
	s.LogLines = append(s.LogLines, line)
}

// completeSyncs notes which syncs ended in a conflict, and sets the time of those without a
// recorded end from their calls.
func (g *graph) completeSyncs() {
	for _, c := range g.calls {
		s := c.causedBy
		if s == nil {
			continue
		}
		s.errorIsConflict = s.errorIsConflict || c.Conflict && isSameError(c.Error, s.Error)
		if s.Open && !s.running {
			if c.Time.Before(s.Time) {
				s.Time = c.Time
			}
			s.Took = max(s.Took, c.End().Sub(s.Time))
		}
	}
}

// completeListed completes the events of objects that a client has found in a list, of which the version is not
// known: it was the last one that was stored before.
func (g *graph) completeListed() {
	unknown := map[place][]*Node{}
	for _, e := range g.events {
		if e.Change == observe.Listed && e.ResourceVersion == "" {
			unknown[placeOf(e.Object)] = append(unknown[placeOf(e.Object)], e)
		}
	}
	if len(unknown) == 0 {
		return
	}
	for _, c := range g.calls {
		for _, w := range c.wrote {
			for _, e := range unknown[placeOfWritten(w)] {
				if !w.Deleted && !c.End().After(e.Time) && observe.VersionNumber(w.ResourceVersion) > observe.VersionNumber(e.ResourceVersion) {
					e.ResourceVersion = w.ResourceVersion
				}
			}
		}
	}
}

// applyWritten completes a call with what the storage reports about its object.
func (n *Node) applyWritten() {
	n.completeName()
	for _, w := range n.wrote {
		if placeOfWritten(w) != placeOf(n.Object) {
			continue
		}
		n.Gone = n.Gone || w.Deleted
		n.Marked = (n.Verb == "delete" && n.Subresource == "" || n.isEviction()) && !n.Gone
		if !w.Deleted {
			n.ResourceVersion = w.ResourceVersion
		}
	}
}

// completeName sets the name of an object whose creation was answered without it: the answer was lost,
// or is so long that the name was not read.
func (n *Node) completeName() {
	if n.Verb != "create" || n.Object.Name != "" {
		return
	}
	for _, w := range n.wrote {
		if n.isTarget(placeOfWritten(w)) {
			n.Object.Name = w.Name
		}
	}
}

// place identifies an object except for its UID.
type place struct{ group, resource, namespace, name string }

func placeOf(o *observe.Object) place { return place{o.Group, o.Resource, o.Namespace, o.Name} }

func placeOfWritten(w observe.Written) place {
	resource, group, _ := strings.Cut(w.Resource, ".")
	return place{group, resource, w.Namespace, w.Name}
}

// isWithin reports whether t lies between from and to.
func isWithin(t, from, to time.Time) bool { return !t.Before(from) && !t.After(to) }
