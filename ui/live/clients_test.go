package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// clientsSnapshot has clients of all kinds.
func clientsSnapshot() observe.Snapshot {
	s := idleSnapshot()
	site := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "shop", Name: "shop"}
	watch := func(resource string) observe.ClientWatch {
		return observe.ClientWatch{Resource: resource, Namespace: "shop", Since: startTime, Delivered: 12}
	}
	s.Clients = []observe.Client{
		{Name: "unauthenticated clients", State: stateRunning, Requests: 1, Errors: 1, Last: &observe.Called{Verb: "get", Object: observe.Object{Resource: "/api"}, Status: 401}, LastTime: testNow},
		{Name: "kubectl (kubernetes-admin)", Caller: observe.Caller{User: "kubernetes-admin", UserAgent: "kubectl/v1.37.1 (linux/amd64)"}, State: stateRunning, Requests: 120, RequestRate: 1.2, Reads: 100, Changes: 20,
			Last: &observe.Called{Verb: "patch", Object: site, Status: 200}, LastTime: testNow.Add(-3 * time.Second)},
		{Name: "shop-operator (system:serviceaccount:shop:operator)", Caller: observe.Caller{User: "system:serviceaccount:shop:operator"}, State: statePaused, Reason: "its writes are held", Held: 2,
			Requests: 52_000, RequestRate: 41.5, Conflicts: 12, Errors: 3,
			Watches: []observe.ClientWatch{watch("deployments.apps"), watch("services"), watch("services"), watch("sites.example.com")},
			Last:    &observe.Called{Verb: "update", Object: site, Subresource: "status", Status: 409, Conflict: true}, LastTime: testNow.Add(-time.Second)},
	}
	return s
}

func TestClientScreens(t *testing.T) {
	o := Options{Source: &fixedSource{snapshot: clientsSnapshot(), records: sampleRecords()}}
	for _, tc := range []struct {
		name string
		w, h int
		keys []string
	}{
		{"clients", 100, 30, []string{"c", "j"}},
		{"clients wide", 160, 30, []string{"c"}},
		{"clients narrow", 60, 15, []string{"c"}},
		{"client", 100, 30, []string{"c", "G", "enter"}},
		{"with clients", 100, 30, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := pressKeys(t, newPlainModel(t, o, tc.w, tc.h), tc.keys...)
			expectScreen(t, tc.name, m)
		})
	}
}

// Without watches the last request has their room: its object and its status are what matters.
func TestLastRequestHasRoom(t *testing.T) {
	s := clientsSnapshot()
	s.Clients = s.Clients[1:2]
	s.Clients[0].Last = &observe.Called{Verb: "get", Object: webDeployment, Status: 404}
	m := pressKeys(t, newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 100, 30), "c")
	if got := m.View().Content; !strings.Contains(got, "get deployments.apps default/web 404 Not Found\n") {
		t.Errorf("got\n%s", got)
	}
}

// TestClientsAtHundredColumns is a client of a ServiceAccount, with a write that fails again and again and a read since.
func TestClientsAtHundredColumns(t *testing.T) {
	deployment := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "shop"}
	s := idleSnapshot()
	s.Clients = []observe.Client{
		{Name: "mybot (system:serviceaccount:default:bot)", State: stateRunning, Requests: 9, Last: &observe.Called{Verb: "deletecollection", Object: observe.Object{Resource: "configmaps", Namespace: "default"}, Status: 200}},
		{Name: "shop-operator (system:serviceaccount:default:bot)", State: stateRunning, Requests: 9000, RequestRate: 273, Conflicts: 940, Last: &observe.Called{Verb: "get", Object: deployment, Status: 200},
			Watches: []observe.ClientWatch{{Resource: "deployments.apps"}, {Resource: "sites.example.com"}}},
	}
	show := func() string {
		return pressKeys(t, newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 100, 30), "c").View().Content
	}
	expect := func(wanted ...string) {
		t.Helper()
		got := show()
		for _, want := range wanted {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
	}
	expect("mybot (default/bot) ", "shop-operator (default/bot) ", "get deployments default/shop 200", "deletecollection configmaps 200", " 940 ")
	if strings.Contains(show(), "ERRORS") {
		t.Error("a column without a number takes space")
	}
	s.Problems = []observe.Problem{{Kind: "write", What: observe.KeepsFailing, Count: 1, Objects: []observe.Object{deployment}, Writes: []observe.FailingWrite{
		{Controller: s.Clients[1].Name, Verb: "update", Object: deployment, Times: 940, Status: 409, Conflict: true},
	}}}
	expect("shop-operator (default/bot) ", "update deployments default/shop conflict ×940")
	s.Problems[0].Writes[0].Object.Name = strings.Repeat("long-", 20) + "name"
	expect("shop-operator (default/bot) ", " conflict ×940\n") // the request is cut
	page := pressKeys(t, newPlainModel(t, Options{Source: &fixedSource{snapshot: s}}, 100, 30), "c", "G", "enter").View().Content
	if !strings.Contains(page, "fails") || !strings.Contains(page, "system:serviceaccount:default:bot") {
		t.Errorf("the page of the client:\n%s", page)
	}
}

// clientSource is a source whose interventions in controllers and clients differ.
type clientSource struct {
	*intervenableSource
	clients *intervenableSource
}

func (c clientSource) ClientInterventions() control.Interventions { return c.clients }

func TestKeysInterveneInClients(t *testing.T) {
	src := clientSource{&intervenableSource{fixedSource: &fixedSource{snapshot: clientsSnapshot()}}, &intervenableSource{stepped: &control.SteppedWrite{Status: 200}}}
	m := newTestModel(t, Options{Source: src}, 100, 30)
	press := func(keys ...string) {
		for _, key := range keys {
			next, cmd := m.handleKey(keyMsg(key))
			if m = next; cmd != nil {
				m = sendMsgs(t, m, cmd())
			}
		}
	}
	press("c", "j", "p", "j", "s", "p", "x")
	want := []string{"pause kubectl (kubernetes-admin)", "step shop-operator (system:serviceaccount:shop:operator)", "resume shop-operator (system:serviceaccount:shop:operator)"}
	if !slices.Equal(src.clients.calls, want) || len(src.calls) != 0 {
		t.Errorf("clients: %q, controllers: %q", src.clients.calls, src.calls)
	}
	if m.confirming != nil || !strings.Contains(m.message, "a process of its own") {
		t.Errorf("x: %q", m.message)
	}
	press("esc")
	if !onQueues(m) {
		t.Error("esc does not go back")
	}
}

// TestCursorFollowsItsClient begins with a client that is sorted before the selected one: the next key acts on the same one.
func TestCursorFollowsItsClient(t *testing.T) {
	fixed := &fixedSource{snapshot: clientsSnapshot()}
	src := clientSource{&intervenableSource{fixedSource: fixed}, &intervenableSource{}}
	for name, keys := range map[string][]string{"moved to": {"c", "j", "p"}, "at the top": {"c", "p"}} {
		t.Run(name, func(t *testing.T) {
			src.clients.calls = nil
			s := clientsSnapshot()
			if name == "at the top" {
				s.Clients = s.Clients[1:]
			}
			fixed.snapshot = s
			m := newTestModel(t, Options{Source: src}, 100, 30)
			press := func(key string) {
				next, cmd := m.handleKey(keyMsg(key))
				if m = next; cmd != nil {
					m = sendMsgs(t, m, cmd())
				}
			}
			for _, key := range keys {
				press(key)
			}
			s.Clients = slices.Insert(slices.Clone(s.Clients), 0, observe.Client{Name: "curl (someone)", State: stateRunning})
			fixed.snapshot = s
			m = pullOnce(t, m)
			press("p")
			if want := "pause kubectl (kubernetes-admin)"; len(src.clients.calls) != 2 || src.clients.calls[0] != want || !strings.HasSuffix(src.clients.calls[1], want[len("pause "):]) {
				t.Errorf("got %q, want twice %q", src.clients.calls, want)
			}
		})
	}
}

// TestActivityBesideLists is what is notable, as on the first screen.
func TestActivityBesideLists(t *testing.T) {
	source := newBrowsableSource()
	source.snapshot = clientsSnapshot()
	m := newPlainModel(t, Options{Source: source}, 100, 40)
	count := func(m model) int { return len(m.currentScreen().feed.entries) }
	want := count(m)
	for name, list := range map[string]model{"clients": pullOnce(t, m.openClients()), "pods": pullOnce(t, openPods(t, m))} {
		if got := count(list); want == 0 || got != want {
			t.Errorf("%s: %d entries, want %d:\n%s", name, got, want, list.View().Content)
		}
		if all := pullOnce(t, pressKeys(t, list, "a")); count(all) <= want {
			t.Errorf("%s: a shows %d entries only", name, count(all))
		}
	}
}
