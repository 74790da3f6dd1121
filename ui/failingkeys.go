package ui

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// describeFailingKeys says which keys of an object, and of those that were created for it, fail, as the status does. It leaves out
// the errors that the problem of the object has.
func describeFailingKeys(now observe.Snapshot, records []observe.Record, about observe.Object, problem string) (list []string) {
	for _, f := range trace.FailingKeys(now, records, about) {
		if IsFailing(f.FailingKey, now.Process.Settled) {
			if hasError(problem, f.FailingKey) {
				f.Error = ""
			}
			list = append(list, f.Sentence(now.Time))
			if did := f.DescribeWebhooks(records); did != "" && !slices.Contains(list, did) {
				list = append(list, did)
			}
		}
	}
	return list
}

// hasError reports whether a text has the error of a key, as a part of its own: a short one, such as "EOF", may be within words.
// Of the objects that upstream names after that of the key, the error names another one at each attempt.
func hasError(text string, f observe.FailingKey) bool {
	generated := regexp.MustCompile(regexp.QuoteMeta(words.OneLine(path.Base(f.Key))) + `-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
	normalize := func(s string) string {
		return strings.TrimSuffix(generated.ReplaceAllLiteralString(words.OneLine(s), "GENERATED"), ".")
	}
	part := regexp.MustCompile(`(^|: )` + regexp.QuoteMeta(normalize(f.Error)) + `($|[.,;:] | \()`)
	return part.MatchString(normalize(text))
}
