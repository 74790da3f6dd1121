package ui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// DescribeFailing says what fails although work may be done: "1 controller failed, 3 keys
// fail". Of stopped controllers it says what failed before. It is empty if nothing does.
func DescribeFailing(s observe.Snapshot) string {
	controllers := 0
	var failing, stopped keyCount
	for i := range s.Controllers {
		c := &s.Controllers[i]
		keys := &failing
		switch c.State {
		case observe.StateFailed:
			controllers++
		case observe.StateOff:
			keys = &stopped
		}
		for _, f := range c.Failing {
			if IsFailing(f, s.Process.Settled) {
				keys.listed++
			}
		}
		keys.more = keys.more || c.MoreFailing > 0
	}
	var parts []string
	if !s.Process.EndedOperator.Time.IsZero() {
		parts = append(parts, "the operator of dev does not run")
	}
	if controllers > 0 {
		parts = append(parts, CountNoun(controllers, "controller")+" failed")
	}
	if failing.listed > 0 {
		parts = append(parts, failing.String()+map[bool]string{true: " fails", false: " fail"}[failing.listed == 1])
	}
	if stopped.listed > 0 {
		parts = append(parts, stopped.String()+" failed before the stop")
	}
	for i := range s.Problems {
		parts = append(parts, describeProblem(&s.Problems[i]))
	}
	for _, c := range s.Clients {
		if c.Refused != "" {
			parts = append(parts, "reads of "+ShortName(c.Name)+" are refused")
		}
	}
	return strings.Join(parts, ", ")
}

// problemTexts says what the problem of one object, and of several, is.
var problemTexts = map[observe.ProblemKind][2]string{
	observe.CannotStart:     {"cannot start", "cannot start"},
	observe.WaitsForRestart: {"waits for a restart", "wait for a restart"},
	observe.Unschedulable:   {"is unschedulable", "are unschedulable"},
	observe.HasFailed:       {"failed", "failed"},
	observe.MissingNode:     {"is on a missing node", "are on missing nodes"},
	observe.NotReady:        {"is not Ready", "are not Ready"},
	observe.KeepsFailing:    {"fails", "fail"},
	"":                      {"has a problem", "have a problem"}, // any of these
}

// MergeProblems returns a snapshot that counts the objects with problems together, for a text that must be short. Writes
// that fail are no objects.
func MergeProblems(s observe.Snapshot) observe.Snapshot {
	merged := observe.Problem{Kind: "object"}
	kinds := 0
	var writes []observe.Problem
	for _, p := range s.Problems {
		if p.What == observe.KeepsFailing {
			writes = append(writes, p)
			continue
		}
		merged.Count += p.Count
		kinds++
	}
	if kinds > 1 {
		s.Problems = append([]observe.Problem{merged}, writes...)
	}
	return s
}

// describeProblem counts objects with a problem: "2 Pods wait for a restart".
func describeProblem(p *observe.Problem) string { return countProblem(p.Count, p.Kind, p.What) }

func countProblem(n int, noun string, what observe.ProblemKind) string {
	return CountNoun(n, noun) + " " + problemText(n, what)
}

// problemText says what one object, or several, have as a problem.
func problemText(n int, what observe.ProblemKind) string {
	if n == 1 {
		return problemTexts[what][0]
	}
	return problemTexts[what][1]
}

// nameProblem is like describeProblem, with the names of the first objects, at most so many: "2 Pods cannot start: default/a, default/b".
func nameProblem(p *observe.Problem, most int) string {
	names := make([]string, min(len(p.Objects), most))
	for i := range names {
		if names[i] = p.Objects[i].Key(); p.What == observe.KeepsFailing {
			names[i] = p.Objects[i].String()
		}
	}
	text := describeProblem(p) + ": " + strings.Join(names, ", ")
	if more := p.Count - len(names); more > 0 {
		text += fmt.Sprintf(" and %s more", GroupDigits(more))
	}
	return text
}

// MoreProblemLines says, one line each, how many objects have a problem beside those that are named, which unhealthy describes.
func MoreProblemLines(s observe.Snapshot, unhealthy []control.UnhealthyObject) (lines []string) {
	for i := range s.Problems {
		p := &s.Problems[i]
		if p.What == observe.KeepsFailing || p.Count <= len(p.Objects) {
			continue
		}
		n := p.Count - len(p.Objects)
		more := CountNoun(n, "more "+p.Kind)
		if owner := onlyOwner(p.Objects, unhealthy); owner != (observe.Object{}) {
			more += " of " + owner.Kind + " " + owner.Name
		}
		lines = append(lines, "and "+more+" "+problemText(n, p.What))
	}
	return lines
}

// onlyOwner returns the owner of all objects that are named of a problem, and so of those that are not: the first one of each owner
// is named. It is zero if there are several or if one has none.
func onlyOwner(named []observe.Object, unhealthy []control.UnhealthyObject) (owner observe.Object) {
	for i, o := range named {
		at := slices.IndexFunc(unhealthy, func(u control.UnhealthyObject) bool { return u.Object.Kind == o.Kind && u.Object.Key() == o.Key() })
		if at < 0 || i > 0 && unhealthy[at].Owner != owner {
			return observe.Object{}
		}
		owner = unhealthy[at].Owner
	}
	return owner
}

// SummarizeProblems returns a sentence about the problems of objects that names one of them: "2 Pods cannot start: default/a and
// 1 more; 1 Job failed". It is empty if there are none.
func SummarizeProblems(s observe.Snapshot) (sentence string) {
	for i := range s.Problems {
		if p := &s.Problems[i]; i == 0 {
			sentence = nameProblem(p, 1)
		} else {
			sentence += "; " + describeProblem(p)
		}
	}
	return sentence
}

// failedTimers returns the timers of what waits because it has failed: Pods in CrashLoopBackOff.
func failedTimers(s observe.Snapshot) (list []observe.Timer) {
	for _, t := range s.Timers {
		if t.Reason != "" {
			list = append(list, t)
		}
	}
	return list
}

// keyCount counts keys, of which there may be more than are listed.
type keyCount struct {
	listed int
	more   bool
}

func (k keyCount) String() string {
	if k.more && k.listed > 1 {
		return fmt.Sprintf("%d+ keys", k.listed)
	}
	return CountNoun(k.listed, "key")
}

// IsFailing reports whether a key whose last sync failed is worth attention. A conflict is
// normal, and so is a first failure while controllers work: most retries succeed.
func IsFailing(f observe.FailingKey, settled bool) bool {
	return !IsPassing(f) && (f.Times > 1 || f.AtLeast || settled)
}

// IsPassing reports whether a key has failed because of a conflict or a stale cache, as is normal: it has not
// done so many times in a row.
func IsPassing(f observe.FailingKey) bool {
	return IsNormalRetry(f.Error) && f.Times <= observe.MaxConflicts
}

// IsNormalRetry reports whether an error is as is normal if the sync is repeated: a conflict, or a stale cache.
func IsNormalRetry(err string) bool { return RetryReason(err) != "" }

// RetryReason says why an error is normal if the sync is repeated: "conflict" or "stale cache"; empty if it is not.
func RetryReason(err string) string {
	switch {
	case observe.StaleCacheOf(err) != "":
		return "stale cache"
	case isConflict(err):
		return "conflict"
	}
	return ""
}

// isConflict reports whether an error is upstream's for an object that had been modified, or such a
// fault that was injected. That is normal: the controller tries again.
func isConflict(err string) bool {
	return strings.Contains(err, "the object has been modified") ||
		strings.Contains(err, "Operation cannot be fulfilled on ") && strings.Contains(err, observe.InjectedFault)
}

var (
	aboutObject  = regexp.MustCompile(`^(Operation cannot be fulfilled on )?[a-z0-9.-]+ "[^"]*":? (is )?`)
	notPermitted = regexp.MustCompile(`^User "[^"]*" (cannot \w+) resource "([^"]*)"`)
	notFound     = regexp.MustCompile(`^([a-z0-9-]+)[a-z0-9.-]* "([^"]*)" not found$`)
	overQuota    = regexp.MustCompile(`^(exceeded quota: .+), requested: (\S+), used: (\S+), limited: (\S+)`)
)

// ShortError returns an error without what stands before the reason, so that a narrow column
// shows the reason: "exceeded quota: small, pods 10+1 of 10", "cannot create pods in the
// namespace".
func ShortError(err string) string {
	if isConflict(err) && strings.Contains(err, observe.InjectedFault) {
		return "conflict: " + observe.InjectedFault
	} else if isConflict(err) {
		return "conflict"
	}
	err = strings.TrimPrefix(err, "Internal error occurred: ")
	if _, reason, ok := strings.Cut(err, " is forbidden: "); ok {
		return shortenQuota(notPermitted.ReplaceAllString(reason, "$1 $2"))
	}
	return strings.TrimPrefix(err, aboutObject.FindString(err))
}

// ShortErrorOf is like ShortError for the sync of a key, but keeps which object is not found: it is most often another one than
// that of the key.
func ShortErrorOf(err, key string) string {
	m := notFound.FindStringSubmatch(err)
	if m == nil || m[2] == key[strings.LastIndexByte(key, '/')+1:] {
		return ShortError(err)
	}
	return fmt.Sprintf("%s %q not found", m[1], m[2])
}

// shortenQuota joins the three lists of numbers of upstream's error: "pods 10+1 of 10" are those
// in use, those requested, and the limit.
func shortenQuota(reason string) string {
	m := overQuota.FindStringSubmatch(reason)
	if m == nil {
		return reason
	}
	used, limited := quotaAmounts(m[3]), quotaAmounts(m[4])
	text := m[1]
	for r := range strings.SplitSeq(m[2], ",") {
		resource, requested, _ := strings.Cut(r, "=")
		if used[resource] == "" || limited[resource] == "" {
			return reason
		}
		text += ", " + resource + " " + used[resource] + "+" + requested + " of " + limited[resource]
	}
	return text + reason[len(m[0]):]
}

// quotaAmounts returns the amount of each resource of "cpu=1,memory=1Gi".
func quotaAmounts(list string) map[string]string {
	amounts := map[string]string{}
	for r := range strings.SplitSeq(list, ",") {
		resource, amount, _ := strings.Cut(r, "=")
		amounts[resource] = amount
	}
	return amounts
}

// FailingLines describes the keys of a controller that fail, in at most a few lines.
func FailingLines(state string, failing []observe.FailingKey, more int, settled bool, now time.Time) (lines []string) {
	for _, f := range failing {
		if IsFailing(f, settled) {
			lines = append(lines, "failing: "+describeFailingKey(state, f, now))
		}
	}
	if over := len(lines) - maxFailing; over > 0 {
		lines, more = lines[:maxFailing], more+over
	}
	if more > 0 {
		lines = append(lines, "failing: "+countMoreKeys(more))
	}
	return lines
}

func countMoreKeys(n int) string { return CountNoun(n, "more key") }

// SettledWarnings says, one line each, what a settled control plane does not do: keys fail, the
// process of an operator has ended, a kind cannot be listed, a client is paused or delayed, its reads are refused, its writes fail,
// or Pods, Jobs or Nodes have a problem.
func SettledWarnings(s observe.Snapshot, failing []trace.FailingWrite) (lines []string) {
	for _, line := range EndedOperatorLines(s) {
		lines = append(lines, "settled, but "+line)
	}
	for _, c := range s.Controllers {
		if c.ProcessState() == observe.StateOff && observe.IsReported(c.Name) {
			lines = append(lines, fmt.Sprintf("settled, but %s does not run: %s", c.Name, DescribeReason(c, s.Time)))
			continue
		}
		if c.Unlisted != "" {
			lines = append(lines, "settled, but "+c.Name+" waits: "+DescribeUnlisted(c.Unlisted))
		}
		for _, l := range FailingLines(c.ProcessState(), c.Failing, c.MoreFailing, true, s.Time) {
			lines = append(lines, "settled, but "+c.Name+" is "+l)
		}
	}
	for _, c := range s.Clients {
		if is := c.PausedOrDelayed(); is != "" { // its program may try again later
			lines = append(lines, fmt.Sprintf("settled, but %s is %s", c.Name, is))
		}
		if c.Refused != "" {
			lines = append(lines, "settled, but "+describeRefused(c))
		}
	}
	for _, line := range FailingWriteLines(failing) {
		lines = append(lines, "settled, but "+line)
	}
	for i := range s.Problems {
		if p := &s.Problems[i]; p.What != observe.KeepsFailing {
			lines = append(lines, problemWarnings(s, p)...)
		}
	}
	return lines
}

// problemWarnings describes a problem. Of Pods that wait for a restart it says when the first ones have it, as far as that is known.
func problemWarnings(s observe.Snapshot, p *observe.Problem) (lines []string) {
	if p.What != observe.WaitsForRestart {
		return []string{"settled, but " + nameProblem(p, len(p.Objects))}
	}
	waiting := failedTimers(s)
	waiting = waiting[:min(len(waiting), maxFailing, max(p.Count, 0))]
	for _, t := range waiting {
		lines = append(lines, fmt.Sprintf("settled, but %s waits for a restart: %s, next attempt in %s", t.What, t.Reason, words.Duration(max(t.Due.Sub(s.Time), 0))))
	}
	switch more := p.Count - len(waiting); {
	case len(waiting) == 0:
		lines = append(lines, "settled, but "+nameProblem(p, len(p.Objects)))
	case more > 0:
		lines = append(lines, "settled, but "+countProblem(more, "more "+p.Kind, p.What))
	}
	return lines
}

// FailingWriteLines says, one line each, which writes fail again and again: a few of each client. They are sorted by
// client.
func FailingWriteLines(failing []trace.FailingWrite) (lines []string) {
	for len(failing) > 0 {
		client := failing[0].Controller
		n := 0
		for ; n < len(failing) && failing[n].Controller == client; n++ {
			if n < maxFailing {
				lines = append(lines, client+" "+failing[n].String())
			}
		}
		if more := n - maxFailing; more > 0 {
			lines = append(lines, client+" fails to make "+CountNoun(more, "more write"))
		}
		failing = failing[n:]
	}
	return lines
}

// FailingFor describes the controllers whose last sync of an object failed, by its key, without the errors that a reason has.
func FailingFor(s observe.Snapshot, namespace, name, reason string) (lines []string) {
	key := observe.Object{Namespace: namespace, Name: name}.Key()
	for _, c := range s.Controllers {
		for _, f := range c.Failing {
			if f.Key == key {
				if hasError(reason, f) {
					f.Error = ""
				}
				lines = append(lines, "the last sync of "+c.Name+" failed: "+describeFailingKey(c.ProcessState(), f, s.Time))
			}
		}
	}
	return lines
}
