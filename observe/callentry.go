package observe

import "time"

// Calls take the most memory of all records, and the garbage collector looks at each of the 20 pointers of a Called. But most
// calls have the same few fields, and share the values of half of them. So the journal keeps only what differs. Those
// of clients are kept as they are.

// callRecord is a record of a call, one object with the call.
type callRecord struct {
	Record
	entry callEntry
}

// callEntry is a call as the journal keeps it. Readers receive it as a Called: see Record.forReader.
type callEntry struct {
	kind *knownCallKind

	namespace, name, uid, resourceVersion string

	before time.Duration // from Began to the time of the record
	took   time.Duration
	status int32
	flags  callFlags
	sync   uint64
	event  *KubernetesEvent
	more   *callMore // what most calls have not; nil if it is nothing
}

// callKind is what many calls have in common.
type callKind struct{ controller, verb, group, resource, kind, subresource, version string }

type knownCallKind struct {
	callKind
	groupResource string
}

// callMore has the fields of a Called that are rarely set.
type callMore struct {
	held         time.Duration
	began        time.Time // if it does not follow from the time of the record
	err          string
	wrote        []Written // other than its own object
	afterSync    uint64
	client       *Caller
	fieldManager string
	cause        uint64
	boundTo      string
	takenBy      string
	unexplained  *Received
	owner        *Object
	unknownSync  string
	readVersion  string
	webhooks     []Webhook
	warnings     []string
}

type callFlags uint16

const (
	callSelected callFlags = 1 << iota
	callAggregated
	callConflict
	callCanceled
	callWroteItself // Wrote has the version of the object, and nothing else
	callBeganBefore // Began follows from the time of the record
	callIsNotable
	callIsBackground
	callIsPlainRead
	callDryRun
	callApplied
	callToCreate
)

// Kind implements Event.
func (*callEntry) Kind() Kind { return KindCalled }

func (e *callEntry) has(f callFlags) bool { return e.flags&f != 0 }

func (e *callEntry) set(f callFlags, isSet bool) {
	if isSet {
		e.flags |= f
	}
}

// maxCallKinds is how many kinds of calls are kept once. Custom resources and the paths of failed discovery are not bounded.
const maxCallKinds = 1000

// maxClockDrift is how far the clocks of wall and monotonic time may drift apart during a call whose Began is computed:
// the wall clock is adjusted all the time.
const maxClockDrift = time.Millisecond

// knownKind returns the kind of a call, most often one that other calls have.
func (o *Observer) knownKind(c *Called) *knownCallKind {
	k := callKind{c.Controller, c.Verb, c.Object.Group, c.Object.Resource, c.Object.Kind, c.Subresource, c.Version}
	add := func() *knownCallKind { return &knownCallKind{k, c.Object.GroupResource()} }
	if known := o.callKinds.getOrAdd(maxCallKinds, k, add); known != nil {
		return known
	}
	return add()
}

// newCallRecord returns a record of a call at the present time.
func (o *Observer) newCallRecord(c *Called, now time.Time) *callRecord {
	r := &callRecord{Record: Record{Time: now}}
	r.Event = &r.entry
	e := &r.entry
	e.kind = o.knownKind(c)
	e.namespace, e.name, e.uid, e.resourceVersion = c.Object.Namespace, c.Object.Name, c.Object.UID, c.ResourceVersion
	e.took, e.status, e.sync, e.event = c.Took, int32(c.Status), c.Sync, c.Event //nolint:gosec // of HTTP
	e.set(callSelected, c.Selected)
	e.set(callAggregated, c.Aggregated)
	e.set(callConflict, c.Conflict)
	e.set(callCanceled, c.Canceled)
	e.set(callDryRun, c.DryRun)
	e.set(callApplied, c.Applied)
	e.set(callToCreate, c.ToCreate)
	e.set(callIsNotable, c.isNotable())
	e.set(callIsBackground, c.isBackground())
	e.set(callIsPlainRead, c.isPlainRead())
	more := callMore{
		held: c.Held, err: c.Error, afterSync: c.AfterSync, client: c.Client, fieldManager: c.FieldManager, cause: c.Cause,
		boundTo: c.BoundTo, takenBy: c.TakenBy,
		unexplained: c.Unexplained, owner: c.Owner, unknownSync: c.UnknownSync, readVersion: c.ReadVersion, webhooks: c.Webhooks, warnings: c.Warnings,
	}
	hasMore := more.held != 0 || more.err != "" || more.afterSync != 0 || more.client != nil || more.fieldManager != "" || more.cause != 0 ||
		more.boundTo != "" || more.takenBy != "" || more.unexplained != nil || more.owner != nil || more.unknownSync != "" || more.readVersion != "" || len(more.webhooks) > 0 || len(more.warnings) > 0
	if !c.Began.IsZero() {
		e.before = now.Sub(c.Began)
		jumped := now.Round(0).Sub(c.Began.Round(0)) - e.before // the wall clock, as during a suspend
		if b := now.Add(-e.before); b.Equal(c.Began) && b.Location() == c.Began.Location() && jumped.Abs() < maxClockDrift {
			e.flags |= callBeganBefore
		} else {
			more.began, hasMore = c.Began, true
		}
	}
	if hasMore {
		kept := more
		e.more = &kept
	}
	e.setWrote(c.Wrote)
	return r
}

// setWrote sets what the call has written. No reader must have the record yet.
func (e *callEntry) setWrote(wrote []Written) {
	switch {
	case len(wrote) == 0:
		return
	case len(wrote) == 1 && wrote[0] == e.ownVersion():
		e.flags |= callWroteItself
		return
	case len(wrote) == 1: // the list is part of what the call needs while it runs, and its strings are of longer ones
		w := wrote[0]
		for _, s := range []struct{ mine, other *string }{
			{&w.Namespace, &e.namespace}, {&w.Name, &e.name}, {&w.ResourceVersion, &e.resourceVersion},
		} {
			if *s.mine == *s.other {
				*s.mine = *s.other
			}
		}
		wrote = []Written{w}
	}
	if e.more == nil {
		e.more = &callMore{}
	}
	e.more.wrote = wrote
}

// ownVersion is the version of the object that most writes store.
func (e *callEntry) ownVersion() Written {
	return Written{Resource: e.kind.groupResource, Namespace: e.namespace, Name: e.name, ResourceVersion: e.resourceVersion}
}

// wrote returns what the call has written. room is for that.
func (e *callEntry) wrote(room *[1]Written) []Written {
	if e.has(callWroteItself) {
		room[0] = e.ownVersion()
		return room[:]
	}
	if e.more == nil {
		return nil
	}
	return e.more.wrote
}

func (e *callEntry) webhooks() []Webhook {
	if e.more == nil {
		return nil
	}
	return e.more.webhooks
}

// called returns the call of a record. room is for what it has written.
func (e *callEntry) called(recorded time.Time, room *[1]Written) (c Called) {
	k := e.kind
	c.Controller, c.Verb, c.Subresource, c.Version = k.controller, k.verb, k.subresource, k.version
	c.Object = Object{Group: k.group, Resource: k.resource, Kind: k.kind, Namespace: e.namespace, Name: e.name, UID: e.uid}
	c.ResourceVersion, c.Took, c.Status, c.Sync, c.Event = e.resourceVersion, e.took, int(e.status), e.sync, e.event
	c.Selected, c.Aggregated, c.Conflict, c.Canceled = e.has(callSelected), e.has(callAggregated), e.has(callConflict), e.has(callCanceled)
	c.DryRun, c.Applied, c.ToCreate = e.has(callDryRun), e.has(callApplied), e.has(callToCreate)
	if e.has(callBeganBefore) {
		c.Began = recorded.Add(-e.before)
	}
	if m := e.more; m != nil {
		if !m.began.IsZero() {
			c.Began = m.began
		}
		c.Error, c.AfterSync, c.Client, c.FieldManager = m.err, m.afterSync, m.client, m.fieldManager
		c.Cause, c.BoundTo, c.TakenBy, c.Unexplained, c.Owner, c.UnknownSync = m.cause, m.boundTo, m.takenBy, m.unexplained, m.owner, m.unknownSync
		c.Held, c.Warnings, c.ReadVersion = m.held, m.warnings, m.readVersion
	}
	c.Wrote, c.Webhooks = e.wrote(room), e.webhooks()
	return c
}

// forReader returns the call as a reader receives it.
func (e *callEntry) forReader(recorded time.Time) *Called {
	read := &struct {
		Called
		room [1]Written
	}{}
	read.Called = e.called(recorded, &read.room)
	return &read.Called
}
