package live

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A restore refuses the writes that wait, without a change of their objects.
func TestARecordSaysWhatAConflictIsWith(t *testing.T) {
	for message, want := range map[string]string{
		"the object has been modified":                        ", a conflict: the object had been modified or deleted meanwhile after",
		observe.RestoredMeanwhile + ": read the object again": ", a conflict: the control plane was restored while the write waited after",
		observe.InjectedFault:                                 "409 after",
	} {
		m := newPlainModel(t, Options{Source: &fixedSource{snapshot: idleSnapshot()}}, 100, 24)
		r := observe.Record{Event: &observe.Called{Controller: "shop-operator", Verb: "update", Object: webDeployment, Status: 409, Conflict: true, Error: message}}
		var status string
		for _, f := range m.recordFields(r, describeRecord(r)) {
			if f.label == "status" {
				status = f.value
			}
		}
		if !strings.Contains(status, want) {
			t.Errorf("%s: no %q in %q", message, want, status)
		}
	}
}
