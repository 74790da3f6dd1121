package health

import (
	"strings"
	"testing"
)

// A controller may set the observedGeneration of a status only once it has succeeded, as those of Flux do. What it has written
// about the object since its last change is in the conditions, which have one of their own.
func TestConditionsOfTheLatestGeneration(t *testing.T) {
	const byOperator = `, managedFields: [{manager: operator, operation: Update, apiVersion: example.com/v1, subresource: status, fieldsType: FieldsV1, fieldsV1: {"f:status": {}}}]`
	const byUser = `, managedFields: [{manager: kubectl, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}]`
	const failed = `{type: Ready, status: "False", observedGeneration: 2, reason: ArtifactFailed, message: "Source artifact not found, retrying in 5s"}`
	const works = `{type: Reconciling, status: "True", observedGeneration: 2, reason: ProgressingWithRetry, message: Fulfilling prerequisites}`
	for name, test := range map[string]struct {
		metadata, observed, conditions string
		want                           string
	}{
		"never ready":            {byOperator, "-1", failed, "ArtifactFailed: Source artifact not found, retrying in 5s"},
		"not since a change":     {byOperator, "1", works + ", " + failed, "ArtifactFailed: Source artifact not found, retrying in 5s"},
		"ready before":           {byOperator, "2", works + ", " + failed, "ArtifactFailed: Source artifact not found, retrying in 5s"},
		"it works":               {byOperator, "-1", works + `, {type: Ready, status: Unknown, observedGeneration: 2, reason: Progressing, message: Reconciliation in progress}`, "ProgressingWithRetry: Fulfilling prerequisites"},
		"it works without words": {byOperator, "-1", `{type: Ready, status: Unknown, observedGeneration: 2, reason: Progressing, message: In progress}`, "Progressing: In progress"},
		"it is stalled":          {byOperator, "1", `{type: Stalled, status: "True", observedGeneration: 2, reason: BadPath, message: no such path}`, "BadPath: no such path"},
		"of the generation before": {byOperator, "1", strings.ReplaceAll(failed, "observedGeneration: 2", "observedGeneration: 1"),
			"LatestGenerationNotObserved: Widget generation is 2, but latest observed generation is 1"},
		"of no generation": {byOperator, "1", strings.ReplaceAll(failed, "observedGeneration: 2, ", ""),
			"LatestGenerationNotObserved: Widget generation is 2, but latest observed generation is 1"},
		"without a message": {byOperator, "-1", `{type: Ready, status: "False", observedGeneration: 2, reason: ArtifactFailed, message: ""}`, "ArtifactFailed"},
		"without generations": {byOperator, "2", strings.ReplaceAll(works+", "+failed, "observedGeneration: 2, ", ""),
			"ArtifactFailed: Source artifact not found, retrying in 5s"},
		"of no generation while it works": {byOperator, "2", works + ", " + strings.ReplaceAll(failed, "observedGeneration: 2, ", ""),
			"ProgressingWithRetry: Fulfilling prerequisites"},
		"defaults of its schema": {byUser, "-1", "", "no client has written its status"},
		"no conditions":          {byOperator, "-1", "", "LatestGenerationNotObserved: Widget generation is 2, but latest observed generation is -1"},
	} {
		u := parseObject(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 2`+test.metadata+`}, status: {observedGeneration: `+test.observed+`, conditions: [`+test.conditions+`]}}`)
		if got := StateOf(u); got.Status != InProgress || got.Message != test.want {
			t.Errorf("%s:\ngot  %s %s\nwant %s", name, got.Status, got.Message, test.want)
		}
	}
}
