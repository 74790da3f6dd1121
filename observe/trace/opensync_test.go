package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The newest write of a controller that writes all the time belongs to a sync that has not ended.
// The write before it, whose cause is recorded, is explained.
func TestWhyOfAWriteInARunningSync(t *testing.T) {
	records := loopJournal(30, 0, "")
	records = records[:len(records)-1] // without the end of the last sync
	web := records[0].Event.(*observe.Delivered).Object
	chain, err := Why(records, web, Options{What: Changed})
	if err != nil {
		t.Fatal(err)
	}
	text := writeString(t, chain, Text, Style{})
	const want = "Later, at 03:04:05.293, widget updated Widget web in a sync without a recorded end: this explains its write before that."
	if chain.Links[0].ResourceVersion != "129" || !strings.Contains(text, want) {
		t.Errorf("version %s is explained; no %q in:\n%.2000s", chain.Links[0].ResourceVersion, want, text)
	}

	var alone []observe.Record // no cause of an earlier write is known, either
	for _, r := range records {
		if r.Event.Kind() == observe.KindCalled {
			alone = append(alone, r)
		}
	}
	if chain, err = Why(alone, web, Options{What: Changed}); err != nil || chain.Links[0].ResourceVersion != "130" || len(chain.Since) > 0 {
		t.Errorf("got %+v, %v", chain, err)
	}
}
