package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A conflict that an intervention has injected is named as such: nothing had modified the object.
func TestInjectedConflict(t *testing.T) {
	records := loadJournal(t, "conflict")
	replace := strings.NewReplacer("the object has been modified; please apply your changes to the latest version and try again", "fault injected by ctrlplane")
	for _, r := range records {
		switch e := r.Event.(type) {
		case *observe.Called:
			e.Error = replace.Replace(e.Error)
		case *observe.Synced:
			e.Error = replace.Replace(e.Error)
		}
	}
	tree, err := Build(records, deployment("busy"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := writeString(t, tree, Text, Style{})
	if strings.Contains(text, "modified") {
		t.Errorf("the text says that the object was modified:\n%s", text)
	}
	for _, want := range []string{"; 20 conflicts.\n", "failed to update Deployment busy status: 409: fault injected by ctrlplane\n", "; failed, will retry\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the text:\n%s", want, text)
		}
	}
	if page := writeString(t, tree, HTML, Style{}); strings.Contains(page, ": conflict") {
		t.Error("the page has a conflict")
	}
	chain, err := Why(records, deployment("busy"), Options{What: Refused})
	if err != nil {
		t.Fatal(err)
	}
	if text := writeString(t, chain, Text, Style{}); !strings.Contains(text, "failed to update Deployment busy status: 409: fault injected by ctrlplane. It likely tried because ") {
		t.Errorf("why says:\n%s", text)
	}
}
