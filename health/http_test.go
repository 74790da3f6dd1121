package health

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// fakeAPI serves discovery, and lets the test answer each list and watch of Pods.
type fakeAPI struct {
	t        *testing.T
	requests chan request
}

type request struct {
	query  string
	answer chan<- string // closed to end the answer
}

var discoveryAnswers = map[string]any{
	"/api": metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
	"/apis": metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList"}, Groups: []metav1.APIGroup{{
		Name:             "example.com",
		Versions:         []metav1.GroupVersionForDiscovery{{GroupVersion: "example.com/v1", Version: "v1"}},
		PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: "example.com/v1", Version: "v1"},
	}}},
	"/api/v1": metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "pods", SingularName: "pod", ShortNames: []string{"po"}, Kind: "Pod", Namespaced: true, Verbs: []string{"list", "watch"}},
		{Name: "pods/status", Kind: "Pod", Namespaced: true, Verbs: []string{"get"}},
		{Name: "nodes", SingularName: "node", Kind: "Node", Verbs: []string{"list", "watch"}},
	}},
	"/apis/example.com/v1": metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{
		{Name: "widgets", SingularName: "widget", ShortNames: []string{"wd"}, Kind: "Widget", Namespaced: true, Verbs: []string{"list", "watch"}},
	}},
}

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if agent := r.UserAgent(); strings.HasPrefix(agent, "Go-http-client") {
		a.t.Errorf("%s has the user agent %s", r.URL.Path, agent)
	}
	w.Header().Set("Content-Type", "application/json")
	if found, ok := discoveryAnswers[r.URL.Path]; ok {
		if err := json.NewEncoder(w).Encode(found); err != nil {
			a.t.Error(err)
		}
		return
	}
	if r.URL.Path != "/api/v1/namespaces/shop/pods" {
		http.NotFound(w, r)
		return
	}
	answer := make(chan string)
	select {
	case a.requests <- request{r.URL.RawQuery, answer}:
	case <-r.Context().Done():
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case text, ok := <-answer:
			if !ok {
				return
			}
			w.Write([]byte(text))
			w.(http.Flusher).Flush()
		}
	}
}

// serve starts a fakeAPI and a waiter for it.
func serve(t *testing.T) (*fakeAPI, *Waiter) {
	t.Helper()
	a := &fakeAPI{t, make(chan request)}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	w, err := New(&rest.Config{Host: server.URL, QPS: 0.001, Burst: 1})
	if err != nil {
		t.Fatal(err)
	}
	return a, w
}

// expectRequest checks the next request and answers it.
func (a *fakeAPI) expectRequest(query string, texts ...string) {
	a.t.Helper()
	select {
	case r := <-a.requests:
		if r.query != query {
			a.t.Errorf("got request %s\nwant %s", r.query, query)
		}
		for _, text := range texts {
			r.answer <- text
		}
		close(r.answer)
	case <-time.After(10 * time.Second):
		a.t.Fatalf("no request %s", query)
	}
}

const (
	selector = "fieldSelector=metadata.name%3Dp"
	pending  = `"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"shop","resourceVersion":"7"},"status":{"phase":"Pending"}`
	ready    = `"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"shop","resourceVersion":"12"},` +
		`"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`
	bookmark = `"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9"}`
	expired  = `"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"`
)

func list(version, items string) string {
	return `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"` + version + `"},"items":[` + items + `]}`
}

func event(kind, object string) string {
	return `{"type":"` + kind + `","object":{` + object + `}}` + "\n"
}

func TestResumesInterruptedWatch(t *testing.T) {
	a, w := serve(t)
	progress := make(chan string, 10)
	ended := make(chan error)
	go func() {
		ended <- w.Wait(t.Context(), []Ref{podP}, Options{Progress: func(s State) { progress <- string(s.Status) + ": " + s.Message }})
	}()
	a.expectRequest(selector, list("5", ""))
	watch := "allowWatchBookmarks=true&" + selector + "&resourceVersion="
	a.expectRequest(watch+"5&watch=true", event("ADDED", pending))
	a.expectRequest(watch+"7&watch=true", event("BOOKMARK", bookmark))
	a.expectRequest(watch + "9&watch=true") // interrupted at once
	a.expectRequest(watch+"9&watch=true", event("ERROR", expired))
	a.expectRequest(selector, list("11", "{"+pending+"}")) // no change
	a.expectRequest(watch+"11&watch=true", event("MODIFIED", ready))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	close(progress)
	var got []string
	for s := range progress {
		got = append(got, s)
	}
	want := []string{"NotFound: does not exist", "InProgress: Pod is in the Pending phase", "Current: Pod is Ready"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSeveralObjectsShareAWatch(t *testing.T) {
	a, w := serve(t)
	other := podP
	other.Name = "other"
	ended := make(chan error)
	go func() { ended <- w.Wait(t.Context(), []Ref{podP, other}, Options{}) }()
	a.expectRequest("", list("5", "{"+ready+"},{"+strings.Replace(ready, `"p"`, `"unasked"`, 1)+"}"))
	a.expectRequest("allowWatchBookmarks=true&resourceVersion=5&watch=true", event("ADDED", strings.Replace(ready, `"p"`, `"other"`, 1)))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestServerIsUnreachable(t *testing.T) { synctest.Test(t, testServerIsUnreachable) }

func testServerIsUnreachable(t *testing.T) {
	w, err := New(&rest.Config{Host: "http://fake", Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = w.Wait(ctx, []Ref{podP}, Options{})
	bad, ok := errors.AsType[*NotHealthyError](err)
	if !ok || !strings.HasPrefix(bad.Objects[0].Reason, "no answer from the API server: dial tcp") || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %+v", err)
	}
}

func TestRefs(t *testing.T) {
	_, w := serve(t)
	names := []string{"po/p", "pods/p", "Pod/p", "pod.v1./p", "wd/w", "widget.example.com/w", "Widget.v1.example.com/w", "widgets.v1.example.com/w"}
	want := []Ref{podP, podP, podP, podP, wid, wid, wid, wid}
	got, err := w.Refs(t.Context(), "shop", names)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = w.Refs(t.Context(), "shop", []string{"node/n"})
	if err != nil || len(got) != 1 || got[0].String() != "Node n" {
		t.Errorf("got %v, %v; want no namespace", got, err)
	}
}

func TestRefsRefusesInvalidNames(t *testing.T) {
	_, w := serve(t)
	for _, arg := range []string{"pod", "/p", "pod/", "pod/a/b", ""} {
		if _, err := w.Refs(t.Context(), "shop", []string{arg}); !errors.As(err, new(usage.Error)) {
			t.Errorf("%q: got %v, want a usage error", arg, err)
		}
	}
}

func TestNewRefusesInvalidConfig(t *testing.T) {
	if _, err := New(&rest.Config{Host: "://"}); err == nil || !strings.HasPrefix(err.Error(), "health: ") {
		t.Errorf("got %v", err)
	}
}

// A server that is suspended accepts connections and does not answer.
func TestRefsOfSuspendedServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, handshake := range []time.Duration{10 * time.Millisecond, time.Minute} {
		transport := &http.Transport{TLSHandshakeTimeout: handshake}
		w, err := New(&rest.Config{Host: "https://" + listener.Addr().String(), Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("timed out"))
		defer cancel()
		_, err = w.Refs(ctx, "shop", []string{"pod/p"})
		if want := "pod/p: no answer from the API server: timed out"; !errors.Is(err, ErrNoAnswer) || err.Error() != want {
			t.Errorf("handshake timeout %v: got %v\nwant %s", handshake, err, want)
		}
	}
}
