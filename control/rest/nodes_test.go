package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// fakeNodes refuses nodes called bad.
type fakeNodes struct {
	added *[]string // by Add; nil = Add returns the same two each time
}

func (fakeNodes) List(context.Context) ([]control.Node, error) {
	return []control.Node{{Name: "node-1", Pods: 3}}, nil
}

func (f fakeNodes) Add(_ context.Context, n int) ([]string, error) {
	switch {
	case f.added != nil && len(*f.added) >= 200:
		return nil, usage.Errorf("too many nodes")
	case f.added == nil:
		return []string{"node-2", "node-3"}[:n], nil
	}
	var names []string
	for range n {
		names = append(names, fmt.Sprintf("node-%d", len(*f.added)+1))
		*f.added = append(*f.added, names[len(names)-1])
	}
	return names, nil
}

func (f fakeNodes) Remove(ctx context.Context, names ...string) error {
	if f.added != nil {
		*f.added = slices.DeleteFunc(*f.added, func(name string) bool { return slices.Contains(names, name) })
	}
	return f.Fail(ctx, names...)
}

func (fakeNodes) Fail(_ context.Context, names ...string) error {
	name := strings.Join(names, "+")
	if strings.Contains(name, "bad") {
		return usage.Errorf("no simulated node %q", name)
	}
	if name == "broken" {
		return errors.New("etcd is unavailable")
	}
	return nil
}

func (f fakeNodes) Recover(ctx context.Context, names ...string) error { return f.Fail(ctx, names...) }

func (f fakeNodes) Terminate(ctx context.Context, names ...string) error {
	return f.Fail(ctx, names...)
}

func newTestClient(t *testing.T, p Services) *Client {
	t.Helper()
	srv := httptest.NewServer(Handler(p))
	t.Cleanup(srv.Close)
	client, err := NewClient(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestNodes(t *testing.T) {
	c, ctx := newTestClient(t, Services{Nodes: fakeNodes{}}).Nodes(), t.Context()
	list, err := c.List(ctx)
	if diff := cmp.Diff([]control.Node{{Name: "node-1", Pods: 3}}, list); err != nil || diff != "" {
		t.Errorf("list: %v\n%s", err, diff)
	}
	names, err := c.Add(ctx, 2)
	if diff := cmp.Diff([]string{"node-2", "node-3"}, names); err != nil || diff != "" {
		t.Errorf("add: %v\n%s", err, diff)
	}
	if err := errors.Join(c.Remove(ctx, "a", "b"), c.Fail(ctx, "a"), c.Recover(ctx, "a", "/b?"), c.Terminate(ctx, "a")); err != nil {
		t.Error(err)
	}
	_, none := c.Add(ctx, 0)
	for want, err := range map[string]error{
		`no simulated node "a+bad"`:        c.Remove(ctx, "a", "bad"),
		`no simulated node "bad"`:          c.Fail(ctx, "bad"),
		`no simulated node "bad+c"`:        c.Terminate(ctx, "bad", "c"),
		`"0" is not a number of 1 or more`: none,
		"etcd is unavailable":              c.Recover(ctx, "broken"),
	} {
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Many nodes are added in several requests; if one fails, none is left.
func TestAddManyNodes(t *testing.T) {
	var added []string
	c := newTestClient(t, Services{Nodes: fakeNodes{&added}}).Nodes()
	if names, err := c.Add(t.Context(), 150); err != nil || len(names) != 150 || !slices.Equal(names, added) {
		t.Errorf("added %d of %d nodes, %v", len(names), len(added), err)
	}
	if names, err := c.Add(t.Context(), 250); err == nil || !strings.Contains(err.Error(), "too many nodes") || names != nil {
		t.Errorf("more nodes than allowed: %v, %v", names, err)
	}
	if len(added) != 150 {
		t.Errorf("got %d nodes, want 150", len(added))
	}
}

// A client returns the same records as the source in the process.
func TestClientMatchesLocalSource(t *testing.T) {
	o := observe.New(observe.Options{Process: func() observe.Process { return observe.Process{Name: "x", State: observe.Ready} }})
	defer o.Close()
	web := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	by := o.Recorder("c")
	by.RecordCall(&observe.Called{Verb: "get", Object: web, Status: 200})
	by.RecordCall(&observe.Called{Verb: "update", Object: web, Status: 409, Conflict: true})
	by.Deliver(&observe.Delivered{Change: observe.Added, Object: web}, func() {})
	c := newTestClient(t, Services{Source: o, Nodes: fakeNodes{}, Controllers: func() []control.Controller { return nil }})
	for _, q := range []observe.Query{
		{}, {Reads: true}, {After: 1}, {Limit: 1}, {Notable: true}, {Controller: "c"}, {Sync: 7},
		{Kinds: []observe.Kind{observe.KindDelivered, observe.KindSynced}}, {Object: &web}, {Object: &observe.Object{Resource: "pods", Name: "other"}},
	} {
		want, err := o.Records(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Records(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		same := cmp.Comparer(func(a, b observe.Record) bool {
			return a.Seq == b.Seq && a.Time.Equal(b.Time) && cmp.Equal(a.Event, b.Event)
		})
		if len(want.Records) == 0 {
			want.Records, got.Records = nil, got.Records[:0:0]
		}
		if diff := cmp.Diff(want, got, same); diff != "" && len(want.Records)+len(got.Records) > 0 {
			t.Errorf("%+v: -local +client:\n%s", q, diff)
		}
	}
	s, err := c.Snapshot(t.Context())
	if err != nil || s.Process.Name != "x" || s.Journal.Last != 3 || len(s.Controllers) != 1 || s.Controllers[0].Conflicts != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}
