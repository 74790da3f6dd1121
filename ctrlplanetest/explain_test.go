package ctrlplanetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

func records(events ...observe.Event) []observe.Record {
	var list []observe.Record
	for i, e := range events {
		list = append(list, observe.Record{Seq: uint64(i + 1), Time: time.Unix(100, 0).Add(time.Duration(i) * 100 * time.Millisecond), Event: e})
	}
	return list
}

func created(kind, name string) *observe.Called {
	return &observe.Called{Controller: "c", Verb: "create", Object: observe.Object{Kind: kind, Namespace: "demo", Name: name}, Status: 201}
}

func refusedPod(name string) *observe.Called {
	c := created("Pod", "")
	c.Status, c.Error = 403, `pods "`+name+`" is forbidden:`+"\n no quota"
	return c
}

func failedSync(err string) *observe.Synced {
	return &observe.Synced{Controller: "c", Queue: "q", Key: "demo/web", Error: err}
}

func TestStory(t *testing.T) {
	scale := created("Deployment", "web")
	scale.Verb, scale.Subresource = "patch", "scale"
	chatter := created("Event", "e")
	chatter.Object.Resource = "events"
	for _, tc := range []struct {
		name string
		in   []observe.Record
		want []string
	}{
		{"nothing", nil, []string{"    nothing: no write and no failure of theirs is known"}},
		{"writes", records(created("Pod", "a"), scale, chatter, &observe.Delivered{}), []string{
			"     +0.000s  c  created Pod a",
			"     +0.100s  c  patched Deployment web (scale)",
		}},
		{"again", records(refusedPod("a"), failedSync(`pods "a" is forbidden: no quota`), refusedPod("b"), failedSync(`pods "b" is forbidden: no quota`)), []string{
			`     +0.000s  c  could not create Pod: 403 pods "a" is forbidden: no quota (once more after 0.2s)`,
		}},
		{"a sync with an error of its own", records(refusedPod("a"), failedSync("no\nidea")), []string{
			`     +0.000s  c  could not create Pod: 403 pods "a" is forbidden: no quota`,
			"     +0.100s  c  failed to sync web: no idea",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := strings.Join(tc.want, "\n")
			if got := story(tc.in, "demo"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestStoryIsShort(t *testing.T) {
	var many []observe.Event
	for i := range 100 {
		many = append(many, created("Pod", strings.Repeat("x", i+1)))
	}
	lines := strings.Split(story(records(many...), "demo"), "\n")
	if len(lines) != mostRecords+1 || lines[0] != "    … 70 earlier ones" || !strings.HasPrefix(lines[1], "     +7.000s") {
		t.Errorf("%d lines, the first are %q", len(lines), lines[:2])
	}
}

func TestConcerns(t *testing.T) {
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
		if got := concerns(tc.event, "demo"); got != tc.want {
			t.Errorf("%+v: got %t", tc.event, got)
		}
	}
}

func TestPrefix(t *testing.T) {
	for _, tc := range []struct{ test, want string }{
		{"TestWeb", "testweb-"},
		{"TestWeb/two words#01", "testweb-two-words-01-"},
		{"Test__/-Ü-", "test-"},
		{"Ü", "test-"},
		{"Test" + strings.Repeat("x", 45) + "/yz", "test" + strings.Repeat("x", 45) + "-"},
	} {
		if got := prefix(tc.test); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.test, got, tc.want)
		}
	}
}

// TestRunOnce checks what Run gives to TestMain.
func TestRunOnce(t *testing.T) {
	before := shared
	defer func() { shared = before }()
	if code, err := run(func() int { return 7 }, nil); code != 7 || err != nil {
		t.Errorf("tests that need none: got %d, %v", code, err)
	}
	if _, err := shared.get(); err == nil || err.Error() != "the tests are over" {
		t.Errorf("after the tests: got %v", err)
	}
	if code, err := run(func() int { return 0 }, []Options{{}, {}}); code != 2 || err == nil {
		t.Errorf("two Options: got %d, %v", code, err)
	}
	n := 0
	failing := backend(func() error { n++; return errors.New("no room") })
	code, err := run(func() int {
		for range 2 {
			if _, err := shared.get(); err == nil || err.Error() != "no room" {
				t.Errorf("got %v", err)
			}
		}
		return 1
	}, []Options{{Backend: failing}})
	if code != 1 || err != nil || n != 1 {
		t.Errorf("a start that fails: got %d, %v, after %d starts", code, err, n)
	}
}
