// Package assert checks what controllers and clients did during a run against the limits
// that a user has set: how many writes met a conflict, how many syncs failed, and whether
// any work caused itself again and again.
//
// It judges by the counts of a snapshot, which are exact. The evidence comes from the
// records, of which the oldest may have been dropped.
package assert

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// The names of the assertions, as flags of "ctrlplane run".
const (
	Healthy        = "--healthy" // of objects, not checked here
	Settle         = "--settle"  // not checked here
	MaxConflicts   = "--max-conflicts"
	MaxFailedSyncs = "--max-failed-syncs"
	NoHotLoop      = "--no-hot-loop"
)

// Limit bounds a count.
type Limit struct {
	Of   string // a controller or client; empty for all controllers together
	Most int64
}

// ParseLimit reads N or NAME=N.
func ParseLimit(text string) (Limit, error) {
	number, l := text, Limit{}
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		l.Of, number = strings.TrimSpace(text[:i]), text[i+1:]
		if l.Of == "" {
			return l, fmt.Errorf("%q: missing name before =: write N or NAME=N", text)
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 {
		return l, fmt.Errorf("%q: %q is not a number from 0 on: write N or NAME=N", text, number)
	}
	l.Most = n
	return l, nil
}

func (l Limit) String() string {
	if l.Of == "" {
		return strconv.FormatInt(l.Most, 10)
	}
	return fmt.Sprintf("%s=%d", l.Of, l.Most)
}

// Rules are what is asserted. The zero value asserts nothing.
type Rules struct {
	Conflicts, FailedSyncs []Limit
	NoHotLoop              bool
	// FullName returns the controller that a short name stands for, or the name itself; nil if
	// there are no short names.
	FullName func(string) string
}

// Empty reports whether nothing is asserted.
func (r *Rules) Empty() bool { return !r.Limits() && !r.NoHotLoop }

// Result is the result of an assertion.
type Result struct {
	Rule     string   // the flag with its value
	Failure  string   // why it does not hold, in one line; empty if it holds
	Evidence []string // of a failure, one line each
	Warnings []string // of a result that holds, one line each
	Skipped  string   // why it was not checked; empty if it was
}

// Limits reports whether a count is limited.
func (r *Rules) Limits() bool { return len(r.Conflicts)+len(r.FailedSyncs) > 0 }

// Check checks all assertions, in the order of the rules. The start of the control plane itself
// does not count, if the snapshot tells it apart.
func Check(r Rules, now observe.Snapshot, records []observe.Record) []Result {
	var all []Result
	first, _ := slices.BinarySearchFunc(records, now.Journal.StartEnd+1, func(r observe.Record, seq uint64) int { return cmp.Compare(r.Seq, seq) })
	later := records[first:]
	for _, l := range r.Conflicts {
		all = append(all, checkLimit(MaxConflicts, l, now, conflicts, r.FullName, later))
	}
	for _, l := range r.FailedSyncs {
		all = append(all, checkLimit(MaxFailedSyncs, l, now, failedSyncs, r.FullName, later))
	}
	if r.NoHotLoop {
		all = append(all, checkLoops(records))
	}
	return all
}

// Names returns the rules of the results of Check.
func (r *Rules) Names() (names []string) {
	for _, l := range r.Conflicts {
		names = append(names, MaxConflicts+" "+l.String())
	}
	for _, l := range r.FailedSyncs {
		names = append(names, MaxFailedSyncs+" "+l.String())
	}
	if r.NoHotLoop {
		names = append(names, NoHotLoop)
	}
	return names
}

// counted is a number that can be limited.
type counted struct {
	noun         string
	ofController func(*observe.Controller) int64
	ofClient     func(*observe.Client) int64 // nil if unknown
	evidence     func(observe.Record) (who, line string)
}

var (
	conflicts = counted{
		"conflict", func(c *observe.Controller) int64 { return c.Conflicts - c.StartConflicts }, func(c *observe.Client) int64 { return c.Conflicts }, conflictLine,
	}
	failedSyncs = counted{"failed sync", func(c *observe.Controller) int64 { return c.Failures - c.StartFailures }, nil, failedSyncLine}
)

func checkLimit(flag string, l Limit, now observe.Snapshot, what counted, fullName func(string) string, records []observe.Record) Result {
	result := Result{Rule: flag + " " + l.String()}
	names, n, err := what.count(l.Of, now)
	if err != nil && fullName != nil && fullName(l.Of) != l.Of {
		names, n, err = what.count(fullName(l.Of), now)
	}
	switch {
	case err != nil:
		result.Failure = err.Error()
	case n > l.Most:
		result.Failure = fmt.Sprintf("%s of %s, at most %d allowed", words.Count(n, what.noun), describeWho(l.Of, names), l.Most)
		result.Evidence = collectEvidence(records, names, what.evidence)
	}
	return result
}

// describeWho names those whose numbers were added.
func describeWho(of string, names []string) string {
	if of == "" {
		return "all controllers"
	}
	return strings.Join(names, ", ")
}

// count adds the numbers of what a name stands for: a controller by its name, which may
// lack "-controller", or an alias, a client by its name or by that of its program; all controllers for no name.
func (w counted) count(of string, now observe.Snapshot) (names []string, total int64, err error) {
	for i := range now.Controllers {
		c := &now.Controllers[i]
		if of == "" || c.Name == of || c.Name == of+"-controller" || slices.Contains(c.Aliases, of) {
			names, total = append(names, c.Name), total+max(w.ofController(c), 0)
		}
	}
	for i := range now.Clients {
		c := &now.Clients[i]
		if of == "" || c.Name != of && observe.ProgramOf(c.Name) != of {
			continue
		}
		if w.ofClient == nil {
			return nil, 0, fmt.Errorf("%s is a client: its syncs are not known, only those of controllers are", c.Name)
		}
		names, total = append(names, c.Name), total+w.ofClient(c)
	}
	if of != "" && names == nil {
		return nil, 0, fmt.Errorf("unknown controller or client %q: correct the name, or check that the program connects", of)
	}
	return names, total, nil
}
