package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

func TestObjectsAndCauses(t *testing.T) {
	src := &fakeSource{}
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web-1"}
	src.add(&observe.Called{Controller: "kubectl (admin)", Verb: "create", Object: pod, Status: 201, ResourceVersion: "5", Client: &observe.Caller{User: "admin"}})
	operator := observe.Snapshot{
		Clients:     []observe.Client{{Name: "shop (admin)", Controllers: []string{"shop/site"}}},
		Controllers: []observe.Controller{{Name: "shop/site", State: observe.StateRunning}},
	}
	s := startServer(t, Options{Source: src, Facts: func(context.Context) (explain.Facts, error) { return explain.Facts{Snapshot: &operator}, nil }})
	v := newVisitor(t, s)
	v.open(s.ClassLink())
	const about = "?resource=pods&namespace=default&name=web-1"
	if text := v.expect(http.StatusOK, "GET", "/api/why"+about, "", nil); !strings.Contains(text, `"what":"created"`) {
		t.Errorf("why: %s", text)
	}
	src.add(&observe.Called{Controller: "kubectl (admin)", Verb: "patch", Object: pod, Status: 200, ResourceVersion: "6", Client: &observe.Caller{User: "admin"}})
	for asked, explained := range map[string]string{"created": "created", "changed": "changed", "deleted": "created"} { // it was not deleted
		text := v.expect(http.StatusOK, "GET", "/api/why"+about+"&what="+asked, "", nil)
		if !strings.Contains(text, `"what":"`+explained+`"`) || !strings.Contains(text, `"recorded":["created","changed"]`) {
			t.Errorf("why it was %s: %s", asked, text)
		}
	}
	v.expect(http.StatusBadRequest, "GET", "/api/why"+about+"&what=bogus", "", nil)
	if text := v.expect(http.StatusOK, "GET", "/api/trace"+about, "", nil); !strings.Contains(text, "kubectl (admin)") {
		t.Errorf("trace: %s", text)
	}
	v.expect(http.StatusNotFound, "GET", "/api/trace?resource=pods&namespace=default&name=unknown", "", nil)
	v.expect(http.StatusBadRequest, "GET", "/api/trace?resource=pods", "", nil)
	v.expect(http.StatusBadRequest, "GET", "/api/object"+about, "", nil) // this source has no objects
	v.expect(http.StatusOK, "GET", "/api/explain?name=deployment-controller", "", nil)
	v.expect(http.StatusOK, "GET", "/api/explain?name=shop/site", "", nil)
	v.expect(http.StatusNotFound, "GET", "/api/explain?name=../../etc/passwd", "", nil)
	src.mu.Lock()
	src.err = errors.New("connection refused")
	src.mu.Unlock()
	v.expect(http.StatusBadGateway, "GET", "/api/why"+about, "", nil)
}

// describedSource is a source that examines objects, and of which a controller works.
type describedSource struct {
	*fakeSource
	snapshot observe.Snapshot
}

func (s describedSource) Snapshot(context.Context) (observe.Snapshot, error) { return s.snapshot, nil }

func (describedSource) Describe(context.Context, observe.Object) ui.ObjectState {
	return ui.ObjectState{Problem: "It is not ready: no node.", Exists: true}
}

// The page answers what "ctrlplane why" and "ctrlplane trace" answer: also what is wrong with an object now, which
// controllers fail for it, and which syncs have not ended.
func TestCausesHaveThePresent(t *testing.T) {
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web-1"}
	src := describedSource{fakeSource: &fakeSource{}}
	src.add(
		&observe.Called{Controller: "kubectl (admin)", Verb: "create", Object: pod, Status: 201, ResourceVersion: "5", Client: &observe.Caller{User: "admin"}},
		&observe.Delivered{Controller: "operator/pod", Change: observe.Added, Object: pod, ResourceVersion: "5", Queues: []string{"pod"}, Adds: []uint64{1}},
		&observe.Called{Controller: "operator/pod", Verb: "patch", Object: pod, Status: 200, ResourceVersion: "6", Sync: 3, Took: time.Microsecond})
	now := src.records[2].Time.Add(time.Minute)
	src.snapshot = observe.Snapshot{Time: now, Process: observe.Process{State: observe.Ready, Settled: true}, Controllers: []observe.Controller{{
		Name: "operator/pod", State: "running",
		Failing: []observe.FailingKey{{Queue: "pod", Key: pod.Key(), KeyBasis: observe.BasisQueue, Error: "no space left", Times: 4}},
		Running: []observe.RunningSync{{ID: 3, Queue: "pod", Key: pod.Key(), KeyBasis: observe.BasisQueue, Since: now.Add(-59 * time.Second)}},
	}}}
	s := startServer(t, Options{Source: src})
	v := newVisitor(t, s)
	v.open(s.ClassLink())
	const about = "?resource=pods&kind=Pod&namespace=default&name=web-1"
	why := v.expect(http.StatusOK, "GET", "/api/why"+about, "", nil)
	for _, want := range []string{`"now":"It is not ready: no node."`, "operator/pod fails for default/web-1, 4 times in a row: no space left.", "operator/pod has been syncing default/web-1 since "} {
		if !strings.Contains(why, want) {
			t.Errorf("no %q in why: %s", want, why)
		}
	}
	if trace := v.expect(http.StatusOK, "GET", "/api/trace"+about, "", nil); !strings.Contains(trace, `"key":"default/web-1"`) {
		t.Errorf("the sync that has not ended has no key: %s", trace)
	}
}

func TestVendoredFileIsThatOfItsRelease(t *testing.T) {
	read := func(name string) []byte {
		data, err := assets.ReadFile("assets/vendor/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(read("dagre.esm.js"))); !bytes.Contains(read("README.md"), []byte(sum)) {
		t.Errorf("assets/vendor/README.md does not have the digest %s of dagre.esm.js", sum)
	}
}

// TestPageHasNoInlineCode checks that the page needs nothing that its policy forbids.
func TestPageHasNoInlineCode(t *testing.T) {
	data, err := assets.ReadFile("assets/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script>", "<style", " style=", " onclick", "http://", "https://", "javascript:"} {
		if bytes.Contains(data, []byte(bad)) {
			t.Errorf("index.html has %q", bad)
		}
	}
	entries, err := assets.ReadDir("assets/js")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		script, err := assets.ReadFile("assets/js/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser", "srcdoc"} {
			if bytes.Contains(script, []byte(bad)) {
				t.Errorf("%s has %q", e.Name(), bad)
			}
		}
	}
}

func TestFocusIsSentToThePage(t *testing.T) {
	s := startServer(t, Options{Focus: []string{"job-controller"}})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	if text := v.expect(http.StatusOK, "GET", "/api/session", "", nil); !strings.Contains(text, `"focus":["job-controller"]`) {
		t.Errorf("session: %s", text)
	}
}

// TestTablesHaveTheNamesOfTheTerminal checks the module that the server makes: the page and the view use the same names.
func TestTablesHaveTheNamesOfTheTerminal(t *testing.T) {
	w := httptest.NewRecorder()
	serveTables(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/js/tables.js", nil))
	for _, want := range []string{
		`"horizontal-pod-autoscaler-controller":"hpa"`, `"limitranges":"LimitRange"`, `"csistoragecapacities.storage.k8s.io":"CSIStorageCapacity"`,
		`"endpoints":"Endpoints"`, `"roles.rbac.authorization.k8s.io":"Role"`, `"networkpolicies.networking.k8s.io":"NetworkPolicy"`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s is missing in %s", want, w.Body)
		}
	}
}
