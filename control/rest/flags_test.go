package rest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
)

func TestFlags(t *testing.T) {
	want := []control.Flag{{Set: "job-controller", Name: "concurrent-job-syncs", Default: "5", Value: "7", Usage: "How many."}}
	c := newTestClient(t, Services{Nodes: fakeNodes{}, Flags: func() ([]control.Flag, error) { return want, nil }})
	got, err := c.Flags(t.Context())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestFlagsErrors(t *testing.T) {
	c := newTestClient(t, Services{Nodes: fakeNodes{}, Flags: func() ([]control.Flag, error) { return nil, errors.New("no options") }})
	if got, err := c.Flags(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "no options") {
		t.Errorf("%v, %v", got, err)
	}
}
