package rest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

func TestUnhealthy(t *testing.T) {
	want := []control.UnhealthyObject{{Object: observe.Object{Kind: "Namespace", Name: "gone"}, State: "Terminating", Since: time.Unix(1, 0).UTC(), Reason: "being deleted"}}
	answer := func(list []control.UnhealthyObject, err error) func(context.Context) ([]control.UnhealthyObject, error) {
		return func(context.Context) ([]control.UnhealthyObject, error) { return list, err }
	}
	c := newTestClient(t, Services{Nodes: fakeNodes{}, Unhealthy: answer(want, nil)})
	got, err := c.Unhealthy(t.Context())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	c = newTestClient(t, Services{Nodes: fakeNodes{}, Unhealthy: answer(nil, errors.New("list namespaces: no answer"))})
	if got, err := c.Unhealthy(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "no answer") {
		t.Errorf("%v, %v", got, err)
	}
}
