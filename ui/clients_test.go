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
