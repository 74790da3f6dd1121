package ui

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestPausedClientIsMarked(t *testing.T) {
	var out strings.Builder
	list := []observe.Client{{Name: "kubectl (admin)", State: "paused"}, {Name: "curl (admin)", State: "running"}}
	if err := WriteClients(&out, list, false, maxStatusWidth); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "kubectl (admin), paused ") || strings.Contains(got, "curl (admin),") {
		t.Errorf("got\n%s", got)
	}
}

// A client that has watched and ended is marked, whatever it is, and one that only makes requests is not.
func TestEndedClientIsMarked(t *testing.T) {
	var out strings.Builder
	ended := time.Now().Add(-time.Minute)
	list := []observe.Client{{Name: "operator.js (admin)", State: "running", LastTime: ended, WatchEnded: ended}, {Name: "kubectl (admin)", State: "running", LastTime: ended, WatchEnded: ended}, {Name: "curl (admin)", State: "running", LastTime: ended}}
	if err := WriteClients(&out, list, false, maxStatusWidth); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "not connected") != 2 || strings.Contains(got, "curl (admin),") {
		t.Errorf("got\n%s", got)
	}
}

func TestDroppedReportsAreSaid(t *testing.T) {
	s := observe.Snapshot{Clients: []observe.Client{{Name: "operator (admin)", State: "running", ReportsDropped: 2048}}}
	for _, format := range []string{"", "wide"} {
		var out strings.Builder
		if err := WriteStatus(&out, s, "", format == "wide", maxStatusWidth); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, "dropped 2,048 records of its controllers: causes may be missing") {
			t.Errorf("%q: got\n%s", format, got)
		}
	}
}

// A client whose process is not known to run is not said to be running.
func TestStateOfClientsThatAreNotConnected(t *testing.T) {
	now := time.Now()
	with := func(change func(c *observe.Client)) observe.Client {
		c := observe.Client{Name: "site (admin)", State: observe.StateRunning, LastTime: now.Add(-time.Hour)}
		change(&c)
		return c
	}
	for name, tc := range map[string]struct {
		client observe.Client
		want   string
	}{
		"silent":           {with(func(*observe.Client) {}), "not connected for 60 m 00 s"},
		"the module ended": {with(func(c *observe.Client) { c.Controllers = []string{"site/site"} }), "not connected for 60 m 00 s"},
		"a moment ago":     {with(func(c *observe.Client) { c.LastTime = now }), "running"},
		"connected":        {with(func(c *observe.Client) { c.Connected = true }), "running"},
		"polls":            {with(func(c *observe.Client) { c.Polls = []observe.ClientPoll{{Resource: "pods"}} }), "running"},
		"has just watched": {with(func(c *observe.Client) { c.WatchEnded = now.Add(-time.Second) }), "running"},
		"has watched":      {with(func(c *observe.Client) { c.WatchEnded = now.Add(-57 * time.Second) }), "not connected for 57.0 s"},
		"lists in each sync, has watched": {with(func(c *observe.Client) {
			c.WatchEnded, c.Polls = now.Add(-57*time.Second), []observe.ClientPoll{{Resource: "pods", Last: now.Add(-58 * time.Second)}}
		}), "not connected for 57.0 s"},
		"polls, has watched": {with(func(c *observe.Client) {
			c.WatchEnded, c.Polls = now.Add(-57*time.Second), []observe.ClientPoll{{Resource: "pods", Last: now.Add(-30 * time.Second)}}
		}), "running"},
		"asks in between": {with(func(c *observe.Client) { c.LastTime = now.Add(-57 * time.Second) }), "running"},
		"paused":          {with(func(c *observe.Client) { c.State = observe.StatePaused }), "paused"},
	} {
		if got := clientState(&tc.client, now); got != tc.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// An operator that may not list what it watches neither looks healthy nor idle.
func TestRefusedReadsAreSaid(t *testing.T) {
	const refused = "list of configmaps is refused: configmaps is forbidden"
	list := []observe.Client{{Name: "kubectl (admin)", State: "running"}, {Name: "operator (admin)", State: "running", Refused: refused}}
	for _, format := range []string{"", "wide"} {
		var status, clients strings.Builder
		if err := WriteStatus(&status, observe.Snapshot{Clients: list, Process: observe.Process{Settled: true}}, "", format == "wide", maxStatusWidth); err != nil {
			t.Fatal(err)
		}
		if err := WriteClients(&clients, list, format == "wide", maxStatusWidth); err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string]string{"status": status.String(), "clients": clients.String()} {
			if !strings.Contains(got, refused) {
				t.Errorf("%s %q: got\n%s", what, format, got)
			}
		}
		if want := "settled, but reads of operator are refused"; !strings.Contains(status.String(), want) {
			t.Errorf("%q: no %q in\n%s", format, want, &status)
		}
	}
}

// Resources of two groups with the same plural are two.
func TestWatchesOfNamesakes(t *testing.T) {
	var watches []observe.ClientWatch
	for _, r := range []string{"services", "services.serving.example.com", "services", "sites.example.com"} {
		watches = append(watches, observe.ClientWatch{Resource: r})
	}
	if got, want := DescribeWatches(watches, 9), "services×2 services.serving.example.com sites"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLastRequestNamesTheGroup: two groups may have the same plural.
func TestLastRequestNamesTheGroup(t *testing.T) {
	for want, object := range map[string]observe.Object{
		"get services shop/a 200":                     {Resource: "services", Namespace: "shop", Name: "a"},
		"get services.serving.example.com shop/a 200": {Group: "serving.example.com", Resource: "services", Kind: "Service", Namespace: "shop", Name: "a"},
	} {
		if got := DescribeLastRequest(observe.Client{Last: &observe.Called{Verb: "get", Object: object, Status: 200}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A 409 that is not a conflict that counts in CONFLICTS says what it is.
func TestLastRequestNamesTheConflict(t *testing.T) {
	for _, tc := range []struct {
		want string
		last observe.Called
	}{
		{"conflict", observe.Called{Status: 409, Conflict: true, Error: "the object has been modified"}},
		{"409 fields of another manager", observe.Called{Status: 409, Error: `Apply failed with 1 conflict: conflict with "flux": .data.k`}},
		{"409 fields of another manager", observe.Called{Status: 409, Error: `Apply failed with 2 conflicts: conflicts with "flux": - .data.k - .data.l`}},
		{"409 Already Exists", observe.Called{Status: 409, Error: `configmaps "a" already exists`}},
		{"409 Conflict", observe.Called{Status: 409, Error: "the UID in the precondition does not match"}},
		{"404 Not Found", observe.Called{Status: 404, Error: `configmaps "a" not found`}},
	} {
		last := tc.last
		last.Verb, last.Object = "patch", observe.Object{Resource: "configmaps", Namespace: "shop", Name: "a"}
		if got := DescribeLastRequest(observe.Client{Last: &last}); got != "patch configmaps shop/a "+tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

// The table fits 100 columns and cuts nothing, whatever the last request was about.
func TestClientsFit(t *testing.T) {
	watch := func(resources ...string) (list []observe.ClientWatch) {
		for _, r := range resources {
			list = append(list, observe.ClientWatch{Resource: r})
		}
		return list
	}
	last := func(verb, resource, name string) *observe.Called {
		return &observe.Called{Verb: verb, Object: observe.Object{Resource: resource, Namespace: "shop", Name: name}, Status: 404}
	}
	long := observe.Client{
		Name:    "shop-operator (system:serviceaccount:shop:operator)",
		Watches: watch("deployments.apps", "services", "services", "sites.example.com", "ingresses.networking.k8s.io", "validatingwebhookconfigurations.admissionregistration.k8s.io"),
		Last:    last("update", "validatingwebhookconfigurations", "a-name-that-is-rather-long"),
	}
	kubectl := observe.Client{Name: "kubectl (kubernetes-admin)", State: "paused", Last: last("get", "leases", "a")}
	for name, tc := range map[string]struct {
		list []observe.Client
		want []string
	}{
		"short": {[]observe.Client{{Name: "curl (admin)", Last: kubectl.Last}}, []string{"WATCHES  LAST REQUEST", "get leases shop/a 404 Not Found\n"}},
		"fewer watches": {[]observe.Client{{Name: "operator (admin)", Watches: long.Watches, Last: kubectl.Last}},
			[]string{"deployments +4  get leases shop/a 404 Not Found\n"}},
		"wrapped": {[]observe.Client{kubectl, {Name: "shop-operator (admin)", Watches: long.Watches, Last: last("get", "leases", "operator")}},
			[]string{"kubectl (kubernetes-admin), paused", "deployments +4  get leases\n", "  shop/operator 404 Not\n", "  Found\n"}},
		"long": {[]observe.Client{long, kubectl}, []string{long.Name, "last request: update validatingwebhookconfigurations shop/a-name-that-is-rather-long 404 Not\n    Found",
			"watches: deployments services×2 sites ingresses validatingwebhookconfigurations"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := WriteClients(&out, tc.list, false, maxStatusWidth); err != nil {
				t.Fatal(err)
			}
			for l := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(l, "\n")); n > maxStatusWidth {
					t.Errorf("%d columns: %s", n, l)
				}
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, &out)
				}
			}
		})
	}
}

// Without a terminal each client is one line: its other texts are read with it, as by grep.
func TestClientsInAPipe(t *testing.T) {
	name := "shop-operator (system:serviceaccount:shop:operator)"
	long := observe.Client{Name: name, Refused: "its user may not list pods at the cluster scope, for which it needs a ClusterRole; " + strings.Repeat("x", 200)}
	for _, r := range []string{"deployments.apps", "services", "sites.example.com", "validatingwebhookconfigurations.admissionregistration.k8s.io"} {
		long.Watches = append(long.Watches, observe.ClientWatch{Resource: r})
	}
	long.Last = &observe.Called{Verb: "update", Object: observe.Object{Resource: "validatingwebhookconfigurations", Namespace: "shop", Name: strings.Repeat("n", 90)}, Status: 404}
	s := observe.Snapshot{Clients: []observe.Client{long}, Process: observe.Process{Busy: slices.Repeat([]string{"replicaset-controller"}, 9)}}
	s.Controllers = []observe.Controller{{Name: "shop/site", State: "off", Reason: strings.Repeat("its process has ended ", 9)}}
	var clients, status bytes.Buffer
	if err := errors.Join(WriteClients(&clients, s.Clients, false, Mode{}.StatusWidth()), WriteStatus(&status, s, "", false, Mode{}.StatusWidth())); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(clients.String(), "\n"); n != 3 { // the heading, the row, the note
		t.Errorf("%d lines:\n%s", n, &clients)
	}
	for l := range strings.Lines(clients.String() + status.String()) {
		if strings.HasPrefix(l, " ") {
			t.Errorf("folded: %s", l)
		}
	}
	if row := "deployments services sites +1  update validatingwebhookconfigurations shop/" + long.Last.Object.Name + " 404 Not Found\n"; strings.Count(clients.String()+status.String(), row) != 2 {
		t.Errorf("no %q in\n%s\n%s", row, &clients, &status)
	}
}

// A program with several user agents is several clients.
func TestClientsOfOneProcessAreSaid(t *testing.T) {
	watches := []observe.ClientWatch{{Resource: "sites.example.com"}}
	var out strings.Builder
	list := []observe.Client{
		{Name: "certs (u)", Watches: watches, SharesConnection: []string{"certs-issuing (u)", "certs-reading (u)"}},
		{Name: "certs-issuing (u)", SharesConnection: []string{"certs (u)", "certs-reading (u)"}},
		{Name: "certs-reading (u)", Watches: watches, SharesConnection: []string{"certs (u)", "certs-issuing (u)"}},
		{Name: "ended (u)", SharesConnection: []string{"ended-too (u)"}},
	}
	if err := WriteClients(&out, list, false, maxStatusWidth); err != nil {
		t.Fatal(err)
	}
	if want := "\ncerts (u) shares its connection with certs-issuing and certs-reading: most likely one process\n"; !strings.HasSuffix(out.String(), want) || strings.Count(out.String(), "shares") != 1 {
		t.Errorf("no %q in\n%s", want, &out)
	}
}
