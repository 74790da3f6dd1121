package trace

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// writeText draws the tree, one line per write or sync.
func (t *Tree) writeText(w io.Writer, s Style) error {
	p := newPainter(s, t.phrases())
	if len(t.Roots) == 0 {
		fmt.Fprintf(&p.b, "Nothing that %s set off matches the options\n", p.strong(p.fullName(t.About)))
	} else {
		fmt.Fprintf(&p.b, "What %s set off (%s, from %s)\n", p.strong(p.fullName(t.About)), p.formatDuration(t.Took), p.formatClock(t.Start))
	}
	p.writeSentence(t.summarize(p.phrases))
	p.writeIncomplete(t)
	p.rounds = t.findRounds()
	p.fitTimes(t.All())
	p.b.WriteString("\n")
	for _, r := range foldRepeated(t.rootItems(), t.all) {
		if len(r.folded) > 0 {
			p.writeFolded(r.after(), "", "", r.describeFolded())
			continue
		}
		p.writeBranch(r.item, "", "", "", t.all)
	}
	p.writeIdle(t)
	if note := t.unexplainedNote(p.phrases); note != "" {
		p.b.WriteString("\n")
		p.writeSentence(note + ".")
	}
	p.writeLegend()
	_, err := io.WriteString(w, p.b.String())
	return err
}

// droppedNote says that records were dropped, unless all that are later than the first root are
// there: with the causes of later writes, what these belong to would be lost.
func (t *Tree) droppedNote() string {
	if t.Missed > 0 && (len(t.Roots) == 0 || t.completeAfter == 0 || t.Roots[0].seq <= t.completeAfter) {
		return "Dropped " + words.Count(t.Missed, "older record") + ": earlier causes and effects may be missing."
	}
	return ""
}

func (p *painter) writeIncomplete(t *Tree) {
	if note := t.droppedNote(); note != "" {
		p.writeSentence(note)
	}
}

// item is a line of the tree: a node, or an event (top) with a sync that it caused
// (node).
type item struct{ top, node *Node }

func (t *Tree) rootItems() []item {
	roots := make([]item, len(t.Roots))
	for i, n := range t.Roots {
		roots[i] = item{n, n}
	}
	return roots
}

// after returns the time of the line: that of the event, or of a write that no sync made, as of a client: there may
// be many for one event.
func (it item) after() *time.Duration {
	if n := it.node; n.Kind == Call && (n.Cause == nil || n.Cause.Rule != ByDelay) {
		return &it.node.After
	}
	return &it.top.After
}

// childItems returns the items drawn below n. Retries of a sync are drawn beside it
// because there may be many.
func childItems(n *Node) (list []item) {
	for _, c := range n.Children {
		switch {
		case c.isRetry():
		case c.Kind != Event || len(c.Children) == 0:
			list = append(list, withRetries(item{c, c})...)
		default:
			for _, s := range c.Children {
				list = append(list, withRetries(item{c, s})...)
			}
		}
	}
	return list
}

// withRetries returns an item and, for a sync, its retries.
func withRetries(it item) []item {
	list := []item{it}
	for _, c := range it.node.Children {
		if c.isRetry() {
			list = append(list, withRetries(item{c, c})...)
		}
	}
	return list
}

// isRetry reports whether n is a sync of a requeued key.
func (n *Node) isRetry() bool { return n.Kind == Sync && n.Cause != nil && n.Cause.Rule == ByRetry }

func (p *painter) writeIdle(t *Tree) {
	if note := t.idleNote(); note != "" {
		p.b.WriteString("\n" + p.truncate(p.faint(note)) + "\n")
	}
}

// idleNote says how much was left out because it changed nothing.
func (t *Tree) idleNote() string {
	syncs, empty, unchanged := 0, 0, t.unchangedRoots
	for n := range t.All() {
		syncs, empty, unchanged = syncs+n.Idle, empty+n.Empty, unchanged+n.UnchangedWrites
	}
	var parts []string
	if syncs > 0 {
		parts = append(parts, words.Count(syncs, "sync"))
	}
	if empty > 0 {
		parts = append(parts, words.Count(empty, "delete")+" of collections")
	}
	if unchanged > 0 {
		parts = append(parts, words.Count(unchanged, "write"))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Not shown, because they changed nothing: " + strings.Join(parts, " and ")
}

// writeBranch draws an item with the prefix lead, and what follows from it: a single item below
// it, with chain, several as branches, with rest. So only branches need room to the right.
func (p *painter) writeBranch(it item, lead, chain, rest string, all bool) {
	if folded, ok := p.rounds[it.node]; ok {
		p.writeFolded(it.after(), chain, chain, describeRounds(folded.count))
		p.writeBranch(folded.next, lead, chain, rest, all)
		return
	}
	n, text := it.node, p.describeItem(it)
	if c := n.onlyWrite(); c != nil {
		n, text = c, p.describeSyncAndWrite(it, c)
	}
	items := foldRepeated(childItems(n), all)
	under, notes := rest, rest+continued
	if len(items) > 1 {
		under = rest + p.bar()
		notes = under
	}
	p.writeLine(it.after(), lead, under, text)
	for _, note := range n.notes() {
		p.writeLine(nil, notes, notes, p.faint(note))
	}
	if len(items) == 1 {
		p.writeBranch(items[0].item, chain+p.arrow(items[0].item), chain, chain+strings.Repeat(" ", arrowWidth), all)
		return
	}
	for i, c := range items {
		below := rest + p.bar()
		if len(c.folded) > 0 {
			p.writeFolded(c.after(), below, below, c.describeFolded())
			continue
		}
		last := i == len(items)-1
		if last {
			below = rest + blank
		}
		p.writeBranch(c.item, rest+p.branchMark(c.item, last), below, below, all)
	}
}

// notes returns what else is said about a node.
func (n *Node) notes() (notes []string) {
	if !n.isRetry() || !slices.Equal(n.LogLines, n.causedBy.LogLines) {
		notes = logNotes(n.LogLines)
	}
	notes = append(notes, n.answerNotes()...)
	if n.Deeper > 0 {
		notes = append(notes, fmt.Sprintf("and %d more below", n.Deeper))
	}
	return notes
}

// onlyWrite returns the only write of a sync about which there is nothing else to say,
// or nil.
func (n *Node) onlyWrite() (only *Node) {
	if n.Kind != Sync || n.Open || n.Error != "" || n.isRetry() || len(n.LogLines) > 0 || n.Deeper > 0 {
		return nil
	}
	for _, c := range n.Children {
		switch {
		case c.isRetry():
		case only != nil || c.Kind != Call:
			return nil
		default:
			only = c
		}
	}
	return only
}

// describeSyncAndWrite describes a sync and its only write on one line.
func (p *painter) describeSyncAndWrite(it item, write *Node) string {
	s := p.controllerName(it.top.Controller) + " "
	if it.top != it.node {
		s += describeChange(it.top) + p.laterNote(it) + ", "
	}
	text := p.describeWrite(write)
	if it.node.Waited > time.Millisecond {
		text += " (queued " + p.formatDuration(it.node.Waited) + ")"
	}
	return s + p.paintWrite(write, text)
}

// paintWrite colors the description of a write that failed.
func (p *painter) paintWrite(n *Node, text string) string {
	switch {
	case n.isRetriedConflict():
		return p.warn(text)
	case n.Failed:
		return p.bad(text)
	}
	return text
}

// paintSync describes a sync, and colors one that failed.
func (p *painter) paintSync(n *Node) string {
	switch text := p.describeSync(n); {
	case n.isNormalRetry():
		return p.warn(text)
	case n.Error != "":
		return p.bad(text)
	default:
		return text
	}
}

// laterNote says how long after an event the key was added, if that was later: with a delay, perhaps that of an earlier event.
func (p *painter) laterNote(it item) string {
	later := it.node.addedAt().Sub(it.top.Time)
	wasDelayed := it.node.record != nil && it.node.record.Timed && later > 0
	if rule := it.node.Cause.Rule; rule != ByDelay && !(rule == ByMerge && wasDelayed) {
		return ""
	}
	return " and, " + p.formatDuration(later) + " later"
}

// answerNotes says what webhooks and policies did to a write, other than to refuse it, what it has taken from other field
// managers, what its answer warns of, and that a heartbeat is missing, which no event says.
func (n *Node) answerNotes() (notes []string) {
	if n.Kind == Call && n.Controller == controllernames.NodeLifecycle && n.Object.Resource == "nodes" && n.Subresource == "status" {
		notes = append(notes, "no heartbeat of "+words.OneLine(n.Object.Name)+" had arrived for the grace period")
	}
	for _, w := range n.Webhooks {
		notes = append(notes, describeWebhook(w, n.Failed))
	}
	if n.Forced != nil {
		notes = append(notes, describeForced(n.Forced))
	}
	for _, w := range n.Warnings {
		notes = append(notes, "the API server warned: "+words.OneLine(w))
	}
	return notes
}

// describeWebhook says what a webhook or policies did to a write: before it was refused, if it was.
func describeWebhook(w observe.Webhook, refused bool) string {
	name, has := "webhook "+words.OneLine(w.Name), " has"
	switch w.Outcome {
	case observe.WebhookIgnored:
		return name + " could not be called and was ignored"
	case observe.WebhookUnapplied:
		return "the answer of " + name + " could not be applied"
	}
	if w.Name == "" { // one or more
		name, has = "MutatingAdmissionPolicies", " have"
	}
	if refused {
		has = " had"
	}
	return name + has + " changed the object" + listFields(w.Fields, w.MoreFields)
}

// listFields lists the first of some paths of fields, after a colon, with the number of the others.
func listFields(fields []string, more int) (text string) {
	const most = 4
	for i, f := range fields[:min(most, len(fields))] {
		text += [...]string{": ", ", "}[min(i, 1)] + words.OneLine(f)
	}
	if more += max(len(fields)-most, 0); more > 0 {
		text += ", and " + words.Count(more, "other field")
	}
	return text
}

// logNotes returns notes for the first few log lines.
func logNotes(lines []string) (notes []string) {
	const most = 3
	for i, l := range lines {
		if i == most {
			return append(notes, "and "+words.Count(len(lines)-most, "more log line"))
		}
		notes = append(notes, "logs "+words.OneLine(l))
	}
	return notes
}

// blank is as wide as the mark of a branch.
const blank = "   "

// bar continues a branch.
func (p *painter) bar() string { return p.pickGlyph("│  ", "|  ") }

// branchMark returns the line that connects one of several items to its parent.
func (p *painter) branchMark(it item, last bool) string {
	switch likely := it.isLikely(); {
	case last && likely:
		return p.noteLikely(p.pickGlyph("└╌ ", "`~ "), p.pickGlyph("╌", "~"))
	case last:
		return p.pickGlyph("└─ ", "`- ")
	case likely:
		return p.noteLikely(p.pickGlyph("├╌ ", "|~ "), p.pickGlyph("╌", "~"))
	}
	return p.pickGlyph("├─ ", "|- ")
}

// arrowWidth is the width of an arrow.
const arrowWidth = 2

// arrow returns what connects a single item to its parent, above it.
func (p *painter) arrow(it item) string {
	if it.isLikely() {
		return p.noteLikely(p.pickGlyph("⇣ ", "~ "), p.pickGlyph("⇣", "~"))
	}
	return p.pickGlyph("↓ ", "v ")
}

// isLikely reports whether a link that the line of an item stands for is only likely.
func (it item) isLikely() bool {
	write := it.node.onlyWrite()
	return it.top.isLikely() || it.node.isLikely() || write != nil && write.isLikely()
}

func (n *Node) isLikely() bool { return n.Cause != nil && n.Cause.Certainty == Likely }

// describeItem describes an item in words.
func (p *painter) describeItem(it item) string {
	n, s := it.node, ""
	switch {
	case n.Kind == Outside && n.Verb == "list":
		s = p.controllerName(p.actor(n)) + " "
	case n.Kind != Outside && (n.Kind != Call || n.causedBy == nil || n.root):
		s = p.controllerName(n.Controller) + n.asWhom() + " "
	}
	switch n.Kind {
	case Event:
		return s + describeChange(n)
	case Sync:
		if it.top != n {
			s += describeChange(it.top) + p.laterNote(it) + ", "
		}
		return s + p.paintSync(n)
	}
	text := p.paintWrite(n, p.describeWrite(n))
	if it.top != n { // a write after an event, without a sync: of a client, or by a timer of a controller
		who, saw := p.controllerName(n.Controller)+n.asWhom()+" ", describeChange(it.top)+p.laterNote(it)+", "
		if s = who + saw; it.top.Controller != n.Controller { // the process has received it with another user agent
			s = p.controllerName(it.top.Controller) + " " + saw + who
		}
	}
	if n.root {
		text += p.rootCause(n)
	}
	return s + text
}

// rootCause says what else a root follows from.
func (p *painter) rootCause(n *Node) string {
	if why := n.trigger(); why != nil {
		if n.Failed && !n.isRetriedConflict() {
			return "; it " + p.because(n, why, "tried ")
		}
		return ", " + p.because(n, why, "")
	}
	if n.causedBy != nil && n.causedBy.Key != "" {
		return ", while syncing " + words.OneLine(n.causedBy.Key)
	}
	return ""
}
