package ui

import (
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
			if said := words.OneLine(strings.TrimSuffix(f.Error, ".")); strings.Contains(words.OneLine(problem), said) {
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
