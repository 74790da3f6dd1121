package control

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// fakeNodes answers from what it is asked; a node called bad is refused.
type fakeNodes struct{}

func (fakeNodes) List(context.Context) ([]Node, error) { return []Node{{Name: "node-1", Pods: 3}}, nil }

func (fakeNodes) Add(_ context.Context, n int) ([]string, error) {
	if n < 1 {
		return nil, usage.Errorf("%d nodes: choose 1 or more", n)
	}
	return []string{"node-2", "node-3"}[:n], nil
}

func (f fakeNodes) Remove(ctx context.Context, names ...string) error {
	return f.Fail(ctx, strings.Join(names, "+"))
}

func (fakeNodes) Fail(_ context.Context, name string) error {
	if strings.Contains(name, "bad") {
		return usage.Errorf("no simulated node %q", name)
	}
	if name == "broken" {
		return errors.New("etcd is gone")
	}
	return nil
}

func (f fakeNodes) Recover(ctx context.Context, name string) error { return f.Fail(ctx, name) }

func testClient(t *testing.T, p Plane) *Client {
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
	c, ctx := testClient(t, Plane{Nodes: fakeNodes{}}), t.Context()
	list, err := c.List(ctx)
	if diff := cmp.Diff([]Node{{Name: "node-1", Pods: 3}}, list); err != nil || diff != "" {
		t.Errorf("list: %v\n%s", err, diff)
	}
	names, err := c.Add(ctx, 2)
	if diff := cmp.Diff([]string{"node-2", "node-3"}, names); err != nil || diff != "" {
		t.Errorf("add: %v\n%s", err, diff)
	}
	if err := errors.Join(c.Remove(ctx, "a", "b"), c.Fail(ctx, "a"), c.Recover(ctx, "a")); err != nil {
		t.Error(err)
	}
	_, none := c.Add(ctx, 0)
	for want, err := range map[string]error{
		`no simulated node "a+bad"`: c.Remove(ctx, "a", "bad"),
		`no simulated node "bad"`:   c.Fail(ctx, "bad"),
		"0 nodes: choose 1 or more": none,
		"etcd is gone":              c.Recover(ctx, "broken"),
	} {
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// What is looked at from elsewhere is what is looked at here.
func TestSourceFromElsewhere(t *testing.T) {
	o := observe.New(observe.Options{Process: func() observe.Process { return observe.Process{Name: "x", State: observe.Ready} }})
	defer o.Close()
	web := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	by := o.Recorder("c")
	by.Called(&observe.Called{Verb: "get", Object: web, Status: 200})
	by.Called(&observe.Called{Verb: "update", Object: web, Status: 409, Conflict: true})
	by.Deliver(&observe.Delivered{Change: observe.Added, Object: web}, func() {})
	c := testClient(t, Plane{Source: o, Nodes: fakeNodes{}})
	for _, q := range []observe.Query{
		{}, {Reads: true}, {After: 1}, {Limit: 1}, {Notable: true}, {Controller: "c"}, {Controller: "d"}, {Sync: 7},
		{Kinds: []observe.Kind{observe.KindDelivered, observe.KindSynced}}, {Object: &web}, {Object: &observe.Object{Name: "other"}},
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
			t.Errorf("%+v: -here +elsewhere:\n%s", q, diff)
		}
	}
	s, err := c.Snapshot(t.Context())
	if err != nil || s.Process.Name != "x" || s.Journal.Last != 3 || len(s.Controllers) != 1 || s.Controllers[0].Conflicts != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}
