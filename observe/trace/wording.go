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

// phrases describes nodes in words. It leaves out the namespace home, and the groups of kinds that are not ambiguous.
type phrases struct {
	home      string
	ambiguous map[string]bool
	ascii     bool
}

// pastTense returns the past tense of an API verb.
func pastTense(verb string) string {
	switch verb {
	case "create", "update", "delete":
		return verb + "d"
	case "patch":
		return "patched"
	case observe.VerbRestore:
		return "restored"
	case "deletecollection":
		return "deleted every"
	case "list":
		return "found"
	}
	return verb
}

// objectName returns kind and name, with the namespace unless that is home.
func (p phrases) objectName(o *observe.Object) string { return words.OneLine(p.rawObjectName(o)) }

func (p phrases) rawObjectName(o *observe.Object) string {
	what := p.kindName(o)
	switch {
	case o.Name == "" && o.Namespace == "":
		return what
	case o.Name == "":
		return what + " in " + o.Namespace
	case o.Namespace == "" || o.Namespace == p.home:
		return what + " " + o.Name
	}
	return what + " " + o.Namespace + "/" + o.Name
}

func (p phrases) targetName(n *Node) string {
	s := p.objectName(n.Object)
	if n.Subresource != "" {
		s += " " + words.OneLine(n.Subresource)
	}
	return s
}

// requestName says what a call asks for.
func (p phrases) requestName(n *Node) string {
	switch {
	case n.isBinding() && n.BoundTo != "":
		return "bind " + p.objectName(n.Object) + " to " + words.OneLine(n.BoundTo)
	case n.isEviction():
		return "evict " + p.objectName(n.Object)
	}
	verb := n.Verb
	if n.ToCreate {
		verb = "create"
	}
	name := verb + " " + p.targetName(n)
	if n.dryRun {
		name += " in a dry run"
	}
	return name
}

// describeWrite describes a call or an outside write.
func (p phrases) describeWrite(n *Node) string {
	what := p.targetName(n)
	switch {
	case n.isRetried && n.injectedConflict:
		return fmt.Sprintf("failed to %s: %s; retried", p.requestName(n), p.describeFailure(n))
	case n.isRetriedConflict() && n.refusedByRestore():
		return fmt.Sprintf("had a conflict when it tried to %s %s: %s; retried", n.Verb, what, restoredReason)
	case n.isRetriedConflict():
		return fmt.Sprintf("had a conflict when it tried to %s %s, which %s; retried", n.Verb, what, cmp.Or(p.modification(n, ""), "had been "+n.conflictingChange()))
	case n.foundGone():
		return p.shortWrite(n)
	case n.Failed && !n.isStored():
		return p.shortWrite(n) + ": " + p.describeFailure(n)
	}
	s := p.whatWasDone(n)
	gone := n.Gone && n.Kind == Call && n.Object.Name != ""
	switch {
	case n.Marked:
		s += " (version " + n.ResourceVersion + " is marked as deleted)"
	case !gone && n.ResourceVersion != "":
		s += " (version " + n.ResourceVersion + ")"
	}
	switch {
	case n.Verb == "list":
		return s + p.whenListed(n)
	case n.Kind == Outside:
		return s + ", by " + n.outsideActor() + n.conditionsNote()
	case n.replaced:
		return s + ": the restored snapshot has another object of this name"
	case n.Verb == observe.VerbRestore && n.Gone:
		return s + ": the restored snapshot does not have it"
	case n.Verb == observe.VerbRestore:
		return s + ", as it is in a snapshot"
	}
	if n.Took > 0 {
		s += " in " + p.formatDuration(n.Took)
	}
	if n.Held > 0 {
		s += " (held " + p.formatDuration(n.Held) + ")"
	}
	if gone && n.Verb != "delete" {
		s += ", which removed the object"
	}
	if n.Failed {
		s += "; " + p.describeFailure(n)
	}
	return s + n.noEffectNote()
}

// whatWasDone says what a write did to its object.
func (p phrases) whatWasDone(n *Node) string {
	name := p.objectName(n.Object)
	switch {
	case n.isBinding() && n.BoundTo != "":
		return "bound " + name + " to " + words.OneLine(n.BoundTo)
	case n.isBinding():
		return "bound " + name + " to a node"
	case n.isEviction():
		return "evicted " + name
	case n.Subresource == "scale":
		return "scaled " + name + n.managerNote()
	case n.Subresource == "finalize":
		return "finalized " + name
	case n.Selected:
		return "deleted " + p.selectedObjects(n.Object)
	}
	done := p.writeVerb(n) + " " + p.targetName(n) + n.managerNote()
	if n.unreported {
		return "likely " + done
	}
	return done
}

// selectedObjects names the objects of a collection that a delete with a selector is for.
func (p phrases) selectedObjects(o *observe.Object) string {
	s := o.GroupResource()
	if o.Kind != "" {
		s = pluralKind(p.kindName(o))
	}
	if s = "the " + s + " that match a selector"; o.Namespace != "" {
		s += " in " + o.Namespace
	}
	return words.OneLine(s)
}

// whenListed says when an object was found.
func (p phrases) whenListed(n *Node) string {
	if n.lister == "" {
		return " when they started"
	}
	return " when it started"
}

// writeVerb returns what a write did to its object, in the past tense.
func (p phrases) writeVerb(n *Node) string {
	if n.Gone && (n.Verb == "delete" && n.afterMark() || n.Verb == observe.VerbRestore) {
		return "removed"
	}
	if n.creates() {
		return pastTense("create")
	}
	return pastTense(n.Verb)
}

// afterMark reports whether an earlier delete, which led to n, has marked the object.
func (n *Node) afterMark() bool {
	for p := n.causedBy; p != nil; p = p.causedBy {
		if p.marks(n.Object) {
			return true
		}
	}
	return false
}

// isRetriedConflict reports whether n is a conflict that its sync answered with a retry,
// at once or of the whole sync, or its client with a later one.
func (n *Node) isRetriedConflict() bool {
	switch {
	case n.isRetried:
		return true
	case !n.Conflict || n.causedBy == nil:
		return false
	}
	return n.causedBy.Retried || slices.ContainsFunc(n.causedBy.Children, func(c *Node) bool {
		return c.Kind == Call && !c.gotError() && c.Time.After(n.Time) && c.Subresource == n.Subresource && placeOf(c.Object) == placeOf(n.Object)
	})
}

func (p phrases) describeFailure(n *Node) string {
	why := words.OneLine(n.Error)
	switch {
	case n.refusedByRestore():
		return "conflict: " + restoredReason
	case n.Conflict:
		return "conflict: " + cmp.Or(p.modification(n, " the object"), "the object has been "+n.conflictingChange())
	case n.Status == 0:
		return "no answer: " + why
	case n.noStatus:
		return fmt.Sprintf("%d: %s, although it existed: %s", n.Status, why, n.missingStatusNote())
	case strings.Contains(why, observe.InjectedFault):
		why = observe.InjectedFault
	case why == "":
		return fmt.Sprintf("status %d", n.Status)
	case strings.HasPrefix(why, fmt.Sprintf("%d ", n.Status)):
		return why
	}
	return fmt.Sprintf("%d: %s", n.Status, why)
}

// describeChange describes an event that a controller received.
func describeChange(e *Node) string {
	if e.Change == observe.Listed {
		return "listed it"
	}
	s := "saw it " + e.seenChange()
	if e.Ignored {
		s += ignoredNote
	}
	return s
}

// whatChanged says what has happened to the object of an event.
func (n *Node) whatChanged() string {
	if n.deleting && n.Change == observe.Updated {
		return "marked as deleted"
	}
	if by := n.causedBy; n.Change == observe.Updated && by != nil && by.isBinding() && by.BoundTo != "" {
		return "bound to " + words.OneLine(by.BoundTo)
	}
	return string(n.Change)
}

// transitionVerbs say what an object has become: a Pod "became Ready", and a controller saw it "become Ready".
var transitionVerbs = map[observe.Transition]transition{
	observe.BecameReady:         {"became Ready", "become Ready"},
	observe.BecameNotReady:      {"became not Ready", "become not Ready"},
	observe.BecameSucceeded:     {"succeeded", "succeed"},
	observe.BecameFailed:        {"failed", "fail"},
	observe.BecameBound:         {"was bound", "bound"},
	observe.BecameUnschedulable: {"was cordoned", "cordoned"},
	observe.BecameSchedulable:   {"was uncordoned", "uncordoned"},
}

// transition says what an object has become, and as what a controller saw it.
type transition struct{ past, seen string }

// seenChange says what a controller saw of the object of an event.
func (n *Node) seenChange() string {
	return cmp.Or(transitionVerbs[n.Became].seen, n.whatChanged())
}

// eventLabel describes an event in a few words.
func (p phrases) eventLabel(n *Node) string {
	return p.objectName(n.Object) + " " + cmp.Or(transitionVerbs[n.Became].past, n.whatChanged())
}

// describeSync describes a sync.
func (p phrases) describeSync(n *Node) string {
	switch {
	case n.processGone:
		return "began to sync " + p.keyName(n) + ";" + lostProcess
	case n.running:
		return "began to sync " + p.keyName(n) + ", and still does after " + p.formatDuration(n.Took)
	case n.Open:
		return "a sync without a recorded end"
	}
	s := "synced " + p.keyName(n)
	if n.isRetry() {
		s += " again"
	}
	s += fmt.Sprintf(" in %s (queued %s%s)", p.formatDuration(n.Took), p.formatDuration(n.Waited), n.queueNote())
	switch {
	case n.endedInConflict():
		return s + "; conflict, will retry"
	case n.awaitsCache():
		return s + "; its cache did not have its last write of " + words.OneLine(observe.StaleCacheOf(n.Error)) + " yet, will retry"
	case n.Error != "" && n.Retried:
		s += "; failed, will retry"
	case n.Error != "":
		s += "; failed"
	case n.Retried:
		s += "; requeued"
	}
	if n.Error != "" && !n.hasCallWithSameError() {
		s += ": " + words.OneLine(n.Error)
	}
	return s
}

// keyName names the key of a sync, without the namespace home.
func (p phrases) keyName(n *Node) string {
	key := words.OneLine(n.Key)
	if namespace, name, ok := strings.Cut(key, "/"); ok && namespace == p.home {
		key = name
	}
	switch {
	case key == "":
		return "a key"
	case n.KeyBasis.Inferred():
		return "a key (likely " + key + ")"
	}
	return key
}

// queueNote names the queue of a sync, unless it is named like its controller.
func (n *Node) queueNote() string {
	if n.Queue == "" || strings.HasPrefix(n.Controller, strings.ReplaceAll(n.Queue, "_", "-")) {
		return ""
	}
	return " in " + words.OneLine(n.Queue)
}

// endedInConflict reports whether a sync failed with a conflict and is repeated.
func (n *Node) endedInConflict() bool {
	return n.Retried && n.Error != "" && n.errorIsConflict
}

// awaitsCache reports whether a sync is repeated because the cache of its controller was older than what the controller
// had written.
func (n *Node) awaitsCache() bool {
	return n.Kind == Sync && n.Retried && observe.StaleCacheOf(n.Error) != ""
}

// isNormalRetry reports whether a sync failed as is normal, and is repeated.
func (n *Node) isNormalRetry() bool { return n.endedInConflict() || n.awaitsCache() }

// hasCallWithSameError reports whether a call of the sync failed with its error.
func (n *Node) hasCallWithSameError() bool {
	return slices.ContainsFunc(n.Children, func(c *Node) bool { return c.Kind == Call && isSameError(c.Error, n.Error) })
}

// isSameError reports whether the error of a call is that of a sync. Of a call it is on one line.
func isSameError(ofCall, ofSync string) bool {
	return ofCall == ofSync || ofCall != "" && words.OneLine(ofCall) == words.OneLine(ofSync)
}

// formatDuration formats a duration as elsewhere, and a short one with more digits.
func (p phrases) formatDuration(d time.Duration) string {
	micro := "µs"
	if p.ascii {
		micro = "us"
	}
	switch {
	case d < time.Microsecond:
		return "0 " + micro
	case d < time.Millisecond:
		return fmt.Sprintf("%d %s", d.Microseconds(), micro)
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	}
	return words.Duration(d)
}

// formatOffset formats a time since the start, to the millisecond: the order of lines can be read
// from it.
func (p phrases) formatOffset(d time.Duration) string {
	switch d = d.Truncate(time.Microsecond); {
	case d < 100*time.Millisecond:
		return p.formatDuration(d)
	case d < time.Second:
		return words.Duration(d.Truncate(time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%.3f s", d.Truncate(time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%06.3fs", int(d.Minutes()), (d % time.Minute).Truncate(time.Millisecond).Seconds())
	}
	return fmt.Sprintf("%dh%02dm%02ds", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}
