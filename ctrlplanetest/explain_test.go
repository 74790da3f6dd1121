package ctrlplanetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

func recordsOf(events ...observe.Event) []observe.Record {
	var list []observe.Record
	for i, e := range events {
		list = append(list, observe.Record{Seq: uint64(i + 1), Time: time.Unix(100, 0).Add(time.Duration(i) * 100 * time.Millisecond), Event: e})
	}
	return list
}

func createCall(kind, name string) *observe.Called {
	return &observe.Called{Controller: "c", Verb: "create", Object: observe.Object{Kind: kind, Namespace: "demo", Name: name}, Status: 201}
}

func refusedPodCall(name string) *observe.Called {
	c := createCall("Pod", "")
	c.Status, c.Error = 403, `pods "`+name+`" is forbidden:`+"\n no quota"
	return c
}

func newFailedSync(err string) *observe.Synced {
	return &observe.Synced{Controller: "c", Queue: "q", Key: "demo/web", Error: err}
}

func TestFormatActivity(t *testing.T) {
	scale := createCall("Deployment", "web")
	scale.Verb, scale.Subresource = "patch", "scale"
	all := &observe.Called{Controller: "c", Verb: "deletecollection", Object: observe.Object{Kind: "Pod", Namespace: "demo"}, Status: 200}
	selected := *all
	selected.Selected, selected.Client = true, &observe.Caller{User: "admin", Impersonates: "alice"}
	stored := createCall("Pod", "a")
	stored.Wrote = []observe.Written{{Resource: "pods", Name: "a"}}
	unanswered := createCall("Pod", "a")
	unanswered.Status, unanswered.Error = 0, "the controller was stopped before this call was sent"
	silent := createCall("Pod", "b")
	silent.Status = 0
	restored := createCall("Pod", "a")
	restored.Controller, restored.Verb, restored.Status = observe.Own, observe.VerbRestore, 200
	removed := *restored
	removed.Wrote = []observe.Written{{Resource: "pods", Name: "a", Deleted: true}}
	chatter := createCall("Event", "e")
	chatter.Object.Resource = "events"
	for _, tc := range []struct {
		name string
		in   []observe.Record
		want []string
	}{
		{"no records", nil, []string{"    nothing: no write and no failure is recorded"}},
		{"writes", recordsOf(createCall("Pod", "a"), scale, chatter, &observe.Delivered{}), []string{
			"     +0.000s  c  created Pod a",
			"     +0.100s  c  patched Deployment web (scale)",
		}},
		{"collections", recordsOf(all, &selected), []string{
			"     +0.000s  c           deleted every Pod",
			"     +0.100s  c as alice  deleted the Pods that match a selector",
		}},
		{"collections of nothing", recordsOf(stored, all, all), []string{"     +0.000s  c  created Pod a"}},
		{"repeated", recordsOf(refusedPodCall("a"), newFailedSync(`pods "a" is forbidden: no quota`), refusedPodCall("b"), newFailedSync(`pods "b" is forbidden: no quota`)), []string{
			`     +0.000s  c  could not create Pod: 403 pods "a" is forbidden: no quota (repeated after 0.2s)`,
		}},
		{"no answer", recordsOf(unanswered, silent), []string{
			"     +0.000s  c  could not create Pod a: the controller was stopped before this call was sent",
			"     +0.100s  c  could not create Pod b: no answer",
		}},
		{"a restore", recordsOf(restored, &removed), []string{
			"     +0.000s  ctrlplane  restored Pod a, as it is in a snapshot",
			"     +0.100s  ctrlplane  removed Pod a: the restored snapshot does not have it",
		}},
		{"sync with another error", recordsOf(refusedPodCall("a"), newFailedSync("no\nidea")), []string{
			`     +0.000s  c  could not create Pod: 403 pods "a" is forbidden: no quota`,
			"     +0.100s  c  failed to sync web: no idea",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := strings.Join(tc.want, "\n")
			if got := formatActivity(tc.in, "demo"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestFormatActivityKeepsNewest(t *testing.T) {
	var many []observe.Event
	for i := range 100 {
		many = append(many, createCall("Pod", strings.Repeat("x", i+1)))
	}
	lines := strings.Split(formatActivity(recordsOf(many...), "demo"), "\n")
	if len(lines) != maxActivityLines+1 || lines[0] != "    … 70 earlier" || !strings.HasPrefix(lines[1], "     +7.000s") {
		t.Errorf("%d lines that begin with %q", len(lines), lines[:2])
	}
}

func TestConcernsNamespace(t *testing.T) {
	logged := func(value string) *observe.Logged {
		return &observe.Logged{Attrs: []observe.Attr{{Key: "n", Value: "1"}, {Key: "key", Value: value}}}
	}
	for _, tc := range []struct {
		event observe.Event
		want  bool
	}{
		{&observe.Delivered{Object: observe.Object{Resource: "pods", Namespace: "demo", Name: "p"}}, true},
		{&observe.Delivered{Object: observe.Object{Resource: "pods", Namespace: "demo2", Name: "p"}}, false},
		{&observe.Called{Object: observe.Object{Resource: "namespaces", Name: "demo"}}, true},
		{&observe.Called{Object: observe.Object{Resource: "nodes", Name: "demo"}}, false},
		{&observe.Synced{Key: "demo"}, true},
		{&observe.Synced{Key: "demo/web"}, true},
		{&observe.Synced{Key: "demo2/web"}, false},
		{&observe.Synced{}, false},
		{logged("demo/web"), true},
		{logged("demons"), false},
		{&observe.BootStep{}, false},
	} {
		if got := concernsNamespace(tc.event, "demo"); got != tc.want {
			t.Errorf("%+v: got %t, want %t", tc.event, got, tc.want)
		}
	}
}

func TestNamespacePrefix(t *testing.T) {
	for _, tc := range []struct{ test, want string }{
		{"TestWeb", "testweb-"},
		{"TestWeb/two words#01", "testweb-two-words-01-"},
		{"Test__/-Ü-", "test-"},
		{"Ü", "test-"},
		{"Test" + strings.Repeat("x", 45) + "/yz", "test" + strings.Repeat("x", 45) + "-"},
	} {
		if got := namespacePrefix(tc.test); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.test, got, tc.want)
		}
	}
}

// TestRunTestsExitCode checks the exit code that Run returns to TestMain.
func TestRunTestsExitCode(t *testing.T) {
	before := sharedControlPlane
	defer func() { sharedControlPlane = before }()
	if code, err := runTests(func() int { return 7 }, nil); code != 7 || err != nil {
		t.Errorf("tests that use no control plane: got %d, %v", code, err)
	}
	if _, err := sharedControlPlane.get(); err == nil || err.Error() != "the tests have ended" {
		t.Errorf("after the tests: got %v", err)
	}
	if code, err := runTests(func() int { return 0 }, []Options{{}, {}}); code != 2 || err == nil {
		t.Errorf("with two Options: got %d, %v", code, err)
	}
	n := 0
	failing := failingBackend(func() error { n++; return errors.New("disk full") })
	code, err := runTests(func() int {
		for range 2 {
			if _, err := sharedControlPlane.get(); err == nil || err.Error() != "disk full" {
				t.Errorf("got %v", err)
			}
		}
		return 1
	}, []Options{{Backend: failing}})
	if code != 1 || err != nil || n != 1 {
		t.Errorf("after a failed start: got %d, %v and %d starts, want one", code, err, n)
	}
}

// TestSharedAfterBusyBackend asks for the shared control plane while a test has one of its own: later tests get it.
func TestSharedAfterBusyBackend(t *testing.T) {
	n := 0
	s := &lazyControlPlane{options: Options{StartTimeout: time.Minute, Backend: failingBackend(func() error {
		if n++; n == 1 {
			return fmt.Errorf("another one is running: %w", ErrBusy)
		}
		return errors.New("the second start")
	})}}
	for _, want := range []string{"another one is running: " + ErrBusy.Error(), "the second start", "the second start"} {
		if _, err := s.get(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if n != 2 {
		t.Errorf("%d starts, want 2", n)
	}
}
