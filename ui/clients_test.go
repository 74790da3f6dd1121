package ui

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestPausedClientIsMarked(t *testing.T) {
	var out strings.Builder
	list := []observe.Client{{Name: "kubectl (admin)", State: "paused"}, {Name: "curl (admin)", State: "running"}}
	if err := WriteClients(&out, list, false); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "kubectl (admin), paused ") || strings.Contains(got, "curl (admin),") {
		t.Errorf("got\n%s", got)
	}
}

func TestDroppedReportsAreSaid(t *testing.T) {
	s := observe.Snapshot{Clients: []observe.Client{{Name: "operator (admin)", State: "running", ReportsDropped: 2048}}}
	for _, format := range []string{"", "wide"} {
		var out strings.Builder
		if err := WriteStatus(&out, s, format); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, "dropped 2,048 records of its controllers: causes may be missing") {
			t.Errorf("%q: got\n%s", format, got)
		}
	}
}
