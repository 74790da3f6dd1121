package ui

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// DescribeFailing says what fails although work may be done: "1 controller failed, 3 keys
// fail". It is empty if nothing does.
func DescribeFailing(s observe.Snapshot) string {
	var controllers, keys int
	more := ""
	for i := range s.Controllers {
		c := &s.Controllers[i]
		if c.State == "failed" {
			controllers++
		}
		for _, f := range c.Failing {
			if IsFailing(f, s.Process.Settled) {
				keys++
			}
		}
		if c.MoreFailing > 0 {
			more = "+"
		}
	}
	var parts []string
	if controllers > 0 {
		parts = append(parts, CountNoun(controllers, "controller")+" failed")
	}
	switch {
	case keys == 1:
		parts = append(parts, "1 key fails")
	case keys > 0:
		parts = append(parts, fmt.Sprintf("%d%s keys fail", keys, more))
	}
	return strings.Join(parts, ", ")
}

// IsFailing reports whether a key whose last sync failed is worth attention. A conflict is
// normal, and so is a first failure while controllers work: most retries succeed.
func IsFailing(f observe.FailingKey, settled bool) bool {
	return !IsConflict(f.Error) && (f.Times > 1 || settled)
}

// IsConflict reports whether an error is upstream's for an object that had been modified.
// That is normal: the controller tries again.
func IsConflict(err string) bool { return strings.Contains(err, "the object has been modified") }

var (
	aboutObject  = regexp.MustCompile(`^(Operation cannot be fulfilled on )?[a-z0-9.-]+ "[^"]*":? (is )?`)
	notPermitted = regexp.MustCompile(`^User "[^"]*" (cannot \w+) resource "([^"]*)"`)
)

// ShortError returns an error without what stands before the reason, so that a narrow column
// shows the reason: "exceeded quota: small", "cannot create pods in the namespace".
func ShortError(err string) string {
	if IsConflict(err) {
		return "conflict"
	}
	err = strings.TrimPrefix(err, "Internal error occurred: ")
	if _, reason, ok := strings.Cut(err, " is forbidden: "); ok {
		return notPermitted.ReplaceAllString(reason, "$1 $2")
	}
	return strings.TrimPrefix(err, aboutObject.FindString(err))
}
