package trace

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// summarize says in one sentence what happened.
func (t *Tree) summarize(p phrases) string {
	switch {
	case len(t.Roots) == 0:
		return ""
	case t.chain != nil: // it may begin with a sync
		return t.chain.summarize(p)
	}
	e := newEffects(p)
	for _, n := range t.below {
		e.add(n)
	}
	s := p.sentence(p.actor(t.Roots[0]) + " " + p.outcome(t.Roots[0]) + followedBy(t.Roots[1:]) + e.describe())
	if t.controller != "" {
		s += " Only what " + words.OneLine(t.controller) + " did is shown, and what led to it."
	}
	return s
}

// followedBy counts the roots after the first one.
func followedBy(roots []*Node) string {
	var parts []string
	count := map[string]int{}
	for _, n := range roots {
		count[n.effectNoun()]++
	}
	for _, noun := range []string{"more change", "conflict", "refused write", "failed write"} {
		if n := count[noun]; n > 0 {
			parts = append(parts, words.Count(n, noun))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ", followed by " + words.And(parts)
}

// effectNoun says what a write after the first one is; "" for one without an effect.
func (n *Node) effectNoun() string {
	switch {
	case n.noEffect, n.foundGone(), !n.isWrite():
		return ""
	case !n.gotError() || n.isStored():
		return "more change"
	case n.isConflict():
		return "conflict"
	case n.writeFailure() == Refused:
		return "refused write"
	}
	return "failed write"
}

// effects counts what controllers and clients did.
type effects struct {
	phrases
	controllers       map[string]bool
	clients           map[string]bool // what they do not report as of a controller
	writes            int
	created, deleted  map[string]int  // by kind
	every             map[string]bool // kinds of which an unknown number was deleted
	conflicts, failed int
}

func newEffects(p phrases) *effects {
	return &effects{phrases: p, controllers: map[string]bool{}, clients: map[string]bool{}, created: map[string]int{}, deleted: map[string]int{}, every: map[string]bool{}}
}

func (e *effects) add(n *Node) {
	if n.Kind != Call || !n.isWrite() || n.noEffect || n.foundGone() {
		return
	}
	switch {
	case n.Controller == "":
	case n.byClient && !observe.IsReported(n.Controller):
		e.clients[n.Controller] = true
	default:
		e.controllers[n.Controller] = true
	}
	failed := n.Failed && !n.isStored()
	if !failed {
		e.writes++
	}
	kind := e.kindName(n.Object)
	switch {
	case n.isConflict():
		e.conflicts++
	case failed:
		e.failed++
	case n.Verb == "deletecollection":
		e.addCollection(n, kind)
	case n.Gone && n.Object.Name != "":
		e.deleted[kind]++
	case n.creates():
		e.created[kind]++
	}
}

// addCollection counts what the delete of a collection has removed. If the storage has not reported that, it is not
// known of how many objects the events are.
func (e *effects) addCollection(n *Node, kind string) {
	for _, w := range n.wrote {
		if w.Deleted && w.Resource == n.Object.GroupResource() {
			e.deleted[kind]++
		}
	}
	if len(n.wrote) == 0 && n.Watchers > 0 && !n.Selected {
		e.every[kind] = true
	}
}

// describe says what they did, with a separator before it.
func (e *effects) describe() string {
	did := e.list()
	if e.writes > 0 {
		did = slices.Insert(did, 0, words.Count(e.writes, "write"))
	}
	if len(did) == 0 {
		return ""
	}
	s := "; " + e.who() + " answered with "
	if e.writes > 0 && len(did) > 1 {
		return s + did[0] + ": " + strings.Join(did[1:], "; ")
	}
	return s + strings.Join(did, "; ")
}

// who counts the controllers and clients.
func (e *effects) who() string {
	var parts []string
	if n := len(e.controllers); n > 0 || len(e.clients) == 0 {
		parts = append(parts, words.Count(n, "controller"))
	}
	if n := len(e.clients); n > 0 {
		parts = append(parts, words.Count(n, "client"))
	}
	return words.And(parts)
}

// list lists the effects.
func (e *effects) list() (parts []string) {
	for _, of := range []struct {
		verb  string
		kinds map[string]int
	}{{"created", e.created}, {"deleted", e.deleted}} {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(of.kinds)) {
			kinds = append(kinds, countKind(of.kinds[kind], kind))
		}
		if len(kinds) > 0 {
			parts = append(parts, of.verb+" "+strings.Join(kinds, ", "))
		}
	}
	if len(e.every) > 0 {
		parts = append(parts, "deleted every "+words.OneLine(strings.Join(slices.Sorted(maps.Keys(e.every)), ", ")))
	}
	if e.conflicts > 0 {
		parts = append(parts, words.Count(e.conflicts, "conflict"))
	}
	if e.failed > 0 {
		parts = append(parts, words.Count(e.failed, "failed call"))
	}
	return parts
}

// Request returns the write that has requested the change: of a removal, the delete that has marked the object before.
// It is nil if no write is known.
func (c *Chain) Request() *Node {
	_, decisive, _ := c.writes()
	return decisive
}

// writes returns the first write of the chain, the decisive one and, if that has only marked the object as deleted, the
// one that has removed it for that.
func (c *Chain) writes() (first, decisive, removal *Node) {
	for _, n := range c.Links { // the change is the first one
		if !n.isWrite() {
			continue
		}
		first, decisive = n, cmp.Or(decisive, n)
		if last := cmp.Or(removal, decisive); last.Gone && n.marks(last.Object) {
			decisive, removal = n, last
		}
	}
	return first, decisive, removal
}

// summarize says in one sentence what led to the change.
func (c *Chain) summarize(p phrases) string {
	first, decisive, removal := c.writes()
	if decisive == nil {
		return ""
	}
	s := p.actor(decisive) + " " + p.outcome(decisive)
	reason, tried, since := "", "", decisive
	if decisive.saysReason() {
		tried = "tried "
	}
	switch why, owner := decisive.trigger(), decisive.absentOwner; {
	case owner != nil && (why == nil || why.Kind == Sync || placeOf(why.Object) == placeOf(decisive.Object)): // another trigger is the reason, as the deletion of another owner
		reason = tried + "because " + p.describeAbsentOwner(owner)
	case decisive.start != nil:
		reason = tried + "because " + p.describeDueStart(decisive.start)
	case decisive.missingNode != "" && why == nil:
		reason = tried + "because its Node " + words.OneLine(decisive.missingNode) + " did not exist"
	case why != nil:
		reason, since = p.because(decisive, why, tried), why
	}
	switch {
	case reason == "":
	case tried != "":
		s = p.sentence(s) + " It " + reason
	default:
		s += " " + reason
	}
	if removal != nil {
		s += "; " + p.actor(removal) + " then removed " + p.objectName(removal.Object)
	}
	if first != decisive && since.leadsBackTo(first) {
		s += ". It " + since.likelyFrom(first) + "began when " + p.actor(first) + " " + p.shortWrite(first)
	}
	return p.sentence(s)
}

// likelyFrom returns a word for a sentence if a link between the node and a cause of it is only likely.
func (n *Node) likelyFrom(cause *Node) string {
	for ; n != nil && n != cause; n = n.causedBy {
		if n.isLikely() {
			return "likely "
		}
	}
	return ""
}

// because gives what trigger returns as the reason of a write; tried is "tried " in a sentence of its own, and empty after what was done.
func (p phrases) because(n, e *Node, tried string) string {
	if n.eviction != nil {
		return n.likelyFrom(e) + tried + p.describeEviction(n.eviction)
	}
	known := e
	if e.Kind == Sync {
		known = e.causedBy // which has asked for it
	}
	return n.likelyFrom(known) + tried + "because " + p.describeTrigger(e)
}

// describeTrigger describes what trigger returns as the reason of a write.
func (p phrases) describeTrigger(e *Node) string {
	if e.Kind == Sync {
		return "the sync before had asked to be requeued after " + p.formatDuration(e.causedBy.requeueDelay())
	}
	if e.Change == observe.Listed {
		return "it found " + p.objectName(e.Object) + " when it started"
	}
	return p.objectName(e.Object) + " " + cmp.Or(transitionVerbs[e.Became].past, "was "+e.whatChanged())
}

// actor names who has made a write or found an object.
func (p phrases) actor(n *Node) string { return n.laneName() + n.asWhom() }

// laneName names the lane of n in a diagram. It is the same for all users as whom a client acts, so that its writes
// are in the lane of what it received.
func (n *Node) laneName() string {
	if n.Verb == "list" && n.Kind == Outside {
		return cmp.Or(words.OneLine(n.lister), "controllers")
	}
	return cmp.Or(words.OneLine(n.Controller), n.outsideActor())
}

// ofAPIServer is the actor of the API server's own writes.
const ofAPIServer = "the API server"

// asWhom names the user as whom a client has made the call, if another.
func (n *Node) asWhom() string {
	if n.Impersonates == "" {
		return ""
	}
	return " as " + words.OneLine(n.Impersonates)
}

// outsideActor names who has made an outside write.
func (n *Node) outsideActor() string {
	switch {
	case n.unrecorded && n.causedBy != nil:
		return ofAPIServer
	case n.unrecorded:
		return "the API server or an unrecorded client"
	}
	return "a client"
}

// shortWrite describes a write without its version and duration.
func (p phrases) shortWrite(n *Node) string {
	switch {
	case n.foundGone():
		return "tried to " + p.requestName(n) + ", which did not exist"
	case n.Failed && !n.isStored():
		return "failed to " + p.requestName(n) + n.managerNote()
	}
	if n.Verb == "list" {
		return p.whatWasDone(n) + p.whenListed(n)
	}
	return p.whatWasDone(n)
}

// maxReason is how much of why a write was refused is said in a sentence, and reasonEnd how much of that is from its
// end: what an error of Go wraps, its cause, comes last.
const maxReason, reasonEnd = 240, 100

// validationHint is what upstream's validation appends to its messages: examples and a regular
// expression, for which a sentence has no room.
var validationHint = regexp.MustCompile(` \((e\.g\. [^(]*)?regex used for validation is '[^']*'\)`)

// certificateHint is what Go appends to the reason why a certificate is not trusted: a guess, which names the certificate.
var certificateHint = regexp.MustCompile(` \(possibly because of ".*" while trying to verify candidate authority certificate ".*"\)`)

// storageDetails is internal to the storage, before the reason why it has refused a write.
var storageDetails = regexp.MustCompile(`StorageError: [^"]* AdditionalErrorMsg: `)

// calledService matches the error that a Service leads to no program, with the URL, of which the Service is known. For why that is so,
// and for the alternative to its advice, the sentence has no room.
var calledService = regexp.MustCompile(`(?:failed to call webhook: )?Post "[^"]*": (Service \S+ leads to no program), because [^:]*(: [^,]*), (set .* ExternalName), .*`)

// blockedResource is what Kyverno says before the names of the policies that a write violates: the object, which the sentence names.
var blockedResource = regexp.MustCompile(`resource \S+ was blocked due to the following policies `)

// outcome describes a write without its version and duration, and why it failed.
func (p phrases) outcome(n *Node) string {
	s := p.shortWrite(n)
	switch {
	case !n.saysReason():
		return s
	case n.isStored():
		return s + "; " + p.reason(n)
	}
	return s + ": " + p.reason(n)
}

// saysReason reports whether a write has failed, which its outcome gives the reason of.
func (n *Node) saysReason() bool { return n.Failed && n.isStored() || n.writeFailure() != "" }

// reason says in a part of a sentence why a write has failed.
func (p phrases) reason(n *Node) string {
	text := p.describeFailure(n)
	for _, detail := range []*regexp.Regexp{validationHint, certificateHint, storageDetails, blockedResource} {
		text = detail.ReplaceAllString(text, "")
	}
	text = calledService.ReplaceAllString(text, "$1$2 and $3")
	return p.shorten(strings.TrimSuffix(text, "."))
}

// shorten leaves out the middle of a long reason, whole words if there are any.
func (p phrases) shorten(reason string) string {
	runes := []rune(reason)
	if len(runes) <= maxReason {
		return reason
	}
	begin, end := string(runes[:maxReason-reasonEnd]), string(runes[len(runes)-reasonEnd:])
	if at := strings.LastIndex(begin, " "); at > 0 {
		begin = begin[:at]
	}
	if _, words, found := strings.Cut(end, " "); found && words != "" {
		end = words
	}
	return begin + " " + p.ellipsis() + " " + end
}

func (p phrases) ellipsis() string {
	if p.ascii {
		return "..."
	}
	return "…"
}

// sentence completes a sentence.
func (p phrases) sentence(s string) string {
	if strings.HasSuffix(s, p.ellipsis()) {
		return capitalize(s)
	}
	return capitalize(s) + "."
}

// capitalize begins a sentence, unless it begins with a name.
func capitalize(s string) string {
	for _, who := range []string{"a client ", "the API server ", "controllers "} {
		if strings.HasPrefix(s, who) {
			return strings.ToUpper(s[:1]) + s[1:]
		}
	}
	return s
}
