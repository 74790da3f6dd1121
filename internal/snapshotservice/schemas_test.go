package snapshotservice

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

const widgetKey = "/example.com/widgets/default/w"

// widgetWithSchema is a definition whose schema has a field, as it is stored, and an object of it.
func widgetWithSchema(uid, field string) snapshot.State {
	return snapshot.State{Entries: []snapshot.Entry{
		{Key: widgetsKey, Value: fmt.Appendf(nil, `{
			"metadata": {"uid": %q},
			"spec": {"group": "example.com", "names": {"plural": "widgets"}, "versions": [{"name": "v1", "served": true}], "validation": {
				"openAPIV3Schema": {"properties": {%q: {"type": "string"}}}
			}},
			"status": {"conditions": [{"type": "Established", "status": "True"}]}
		}`, uid, field)},
		{Key: widgetKey, Value: fmt.Appendf(nil, `{"metadata":{"uid":"w"},%q:"x"}`, field)},
	}}
}

// serveWidgets is an API server that ends the watches of widgets when their definition was written.
func serveWidgets(t *testing.T, p *parts, written <-chan struct{}) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.URL.Path == "/apis/example.com/v1" {
			fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[{"name":"widgets"}]}`)
			return
		}
		p.call("watch " + strings.TrimPrefix(req.URL.Path, "/apis/") + " from " + req.URL.Query().Get("resourceVersion"))
		w.(http.Flusher).Flush()
		select {
		case <-written:
			p.call("end the watch")
		case <-req.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// Open watches decode events with the previous schema until the API server ends them.
func TestRestoreWritesOtherSchemasFirst(t *testing.T) {
	for _, uid := range []string{"same", "other"} {
		t.Run(uid, func(t *testing.T) {
			want, now := widgetWithSchema("same", "old"), widgetWithSchema(uid, "new")
			p, store, written := &parts{}, newFakeStore(), make(chan struct{})
			store.write(want)
			cfg := p.config(newTarget(t), store)
			cfg.Client = serveWidgets(t, p, written)
			awaited := int64(0)
			cfg.WaitInformers = []func(context.Context, informersync.Revisions) error{
				func(_ context.Context, written informersync.Revisions) error {
					awaited = max(awaited, written["example.com/widgets"])
					return nil
				},
			}
			s := newStartedService(t, cfg)
			file, err := s.Save(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			store.write(now)
			writes := 0
			store.onReplace = func() {
				p.call("write")
				if writes++; writes == 1 {
					close(written)
				}
			}
			done, err := s.Restore(t.Context(), file)
			if err != nil || done.Total() != 2 {
				t.Errorf("got %+v, %v; want 2 changes", done, err)
			}
			calls := []string{
				"suspend nodes", "suspend controllers", "block writes", "watch example.com/v1/widgets from 3",
				"write", "end the watch", "write", "write", "release writes", "resume controllers", "resume nodes", "report",
			}
			if diff := cmp.Diff(calls, p.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			states := []snapshot.State{{Entries: []snapshot.Entry{want.Entries[0], now.Entries[1]}}, want}
			for i, got := range store.states[3:] {
				if diff := cmp.Diff(states[i].Entries, got.Entries); diff != "" {
					t.Errorf("state %d (-want +got):\n%s", i, diff)
				}
			}
			if replaced := uid == "other"; (awaited == 0) != replaced {
				t.Errorf("informers were awaited to see the widgets at %d; those of a definition that was replaced have lost their watch", awaited)
			}
			if len(p.changed) < 2 || p.changed[len(p.changed)-1].Key.Name() != "w" {
				t.Errorf("changed: %v", p.changed)
			}
		})
	}
}

// newSchemaChange returns a service whose state has changed since its snapshot, in a file, was saved.
func newSchemaChange(t *testing.T, want, now snapshot.State) (*Service, *parts, *fakeStore, []byte) {
	t.Helper()
	p, store, written := &parts{}, newFakeStore(), make(chan struct{})
	store.write(want)
	cfg := p.config(newTarget(t), store)
	cfg.WaitInformers, cfg.Client = nil, serveWidgets(t, p, written)
	s := newStartedService(t, cfg)
	file, err := s.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store.write(now)
	store.onReplace = sync.OnceFunc(func() { close(written) })
	return s, p, store, file
}

// Clients that have read an object with another schema receive it again, although it is stored as it
// was.
func TestRestoreWritesObjectsOfOtherSchemas(t *testing.T) {
	want, now := widgetWithSchema("same", "old"), widgetWithSchema("same", "new")
	now.Entries[1] = want.Entries[1]
	s, p, _, file := newSchemaChange(t, want, now)
	done, err := s.Restore(t.Context(), file)
	if err != nil || done.Total() != 1 {
		t.Errorf("got %+v, %v; want that the definition has changed", done, err)
	}
	if len(p.changed) != 2 || p.changed[1].Key.Name() != "w" {
		t.Errorf("written: %v, want the definition and its object", p.changed)
	}
}

// What undoes a failed restore changes schemas as the restore does.
func TestRollbackWritesOtherSchemasFirst(t *testing.T) {
	now := widgetWithSchema("same", "new")
	s, p, store, file := newSchemaChange(t, widgetWithSchema("same", "old"), now)
	store.fail(nil, errors.New("the disk is broken")) // once the schema is written
	if _, err := s.Restore(t.Context(), file); err == nil || !strings.HasPrefix(err.Error(), "nothing was restored") {
		t.Errorf("got %v", err)
	}
	watches := slices.DeleteFunc(p.calls, func(call string) bool { return !strings.HasPrefix(call, "watch ") })
	if diff := cmp.Diff([]string{"watch example.com/v1/widgets from 3", "watch example.com/v1/widgets from 4"}, watches); diff != "" {
		t.Errorf("watches that are awaited (-want +got):\n%s", diff)
	}
	if last := p.changed[len(p.changed)-1]; last.Key.Name() != "w" {
		t.Errorf("written last: %+v, want the object again", last)
	}
	if diff := cmp.Diff(now.Entries, store.states[len(store.states)-1].Entries); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// A restore is refused before its first part if the space does not suffice for the last.
func TestRestoreWithOtherSchemaNeedsSpaceForAll(t *testing.T) {
	want, now := widgetWithSchema("same", "old"), widgetWithSchema("same", "new")
	want.Entries[1].Value = fmt.Appendf(nil, `{"metadata":{"uid":"w"},"old":%q}`, strings.Repeat("x", 1000))
	s, _, store, file := newSchemaChange(t, want, now)
	store.room = 1000
	before := len(store.states)
	_, err := s.Restore(t.Context(), file)
	if !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "nothing was restored") || len(store.states) != before {
		t.Errorf("got %v, and %d states were written; want that nothing was", err, len(store.states)-before)
	}
}

// Restores that change no schema have nothing to wait for.
func TestCRDsWithOtherSchema(t *testing.T) {
	labelled := widgetWithSchema("a", "old")
	labelled.Entries[0].Value = []byte(strings.Replace(string(labelled.Entries[0].Value), `"uid"`, `"labels": {"a": "b"}, "uid"`, 1))
	old, notServed := widgetWithSchema("a", "old"), widgetWithSchema("a", "old")
	notServed.Entries[0].Value = []byte(strings.Replace(string(old.Entries[0].Value), `"True"`, `"False"`, 1))
	for name, tt := range map[string]struct {
		before, want snapshot.State
		changed      int
	}{
		"same":                      {old, old, 0},
		"other metadata":            {old, labelled, 0},
		"other object, same schema": {old, widgetWithSchema("b", "old"), 0},
		"created":                   {snapshot.State{}, old, 0},
		"deleted":                   {old, snapshot.State{}, 0},
		"other schema":              {old, widgetWithSchema("a", "new"), 1},
		"not served before":         {notServed, widgetWithSchema("a", "new"), 0},
	} {
		if got := len(crdsWithOtherSchema(tt.before, tt.want)); got != tt.changed {
			t.Errorf("%s: %d, want %d", name, got, tt.changed)
		}
	}
}
