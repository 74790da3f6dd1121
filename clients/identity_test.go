package clients

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The record of a request has its own caller, though another one has the same client.
func TestCallerOfEachRequest(t *testing.T) {
	f := newFixture(t)
	const oldAgent = "kubectl/v1.30.0 (linux/amd64)"
	reader := &user.DefaultInfo{Name: "admin", Groups: []string{"readers", "viewers"}}
	for range 2 {
		f.send(call{"GET", sites, oldAgent, admin, nil, 200, "{}"})
		f.send(call{"GET", sites, kubectlAgent, admin, nil, 200, "{}"})
		f.send(call{"GET", sites, oldAgent, reader, nil, 200, "{}"})
	}
	calls, _ := f.records()
	var got []observe.Caller
	for _, c := range calls {
		got = append(got, *c.Client)
	}
	callers := []observe.Caller{
		{User: "admin", Groups: admin.Groups, UserAgent: oldAgent}, {User: "admin", Groups: admin.Groups, UserAgent: kubectlAgent},
		{User: "admin", Groups: reader.Groups, UserAgent: oldAgent},
	}
	if diff := cmp.Diff(append(callers, callers...), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if list := f.clients.Snapshot(); len(list) != 1 || len(list[0].Groups) != 2 {
		t.Errorf("want one client, with its last caller: %+v", list)
	}
	for i := range 3 {
		if calls[i].Client != calls[i+3].Client {
			t.Errorf("each record has a caller of its own: %+v", calls[i].Client)
		}
	}
}

// The callers of clients that find no room are known, too.
func TestCallersOfOtherClients(t *testing.T) {
	f := newFixture(t)
	var end []func()
	open := func(agent string) {
		_, stop := f.watch(sites+"?watch=1", agent, admin)
		end = append(end, stop)
	}
	for i := range maxClients {
		open(fmt.Sprintf("p%d/1", i))
	}
	open("first/1")
	open("second/1")
	calls, _ := f.records()
	for i, agent := range []string{"first/1", "second/1"} {
		if c := calls[maxClients+i]; c.Controller != otherClients || c.Client.UserAgent != agent {
			t.Errorf("%s %+v", c.Controller, c.Client)
		}
	}
	for _, end := range end {
		end()
	}
}

// Requests without authentication, which cost nothing, evict no client, and no records of others.
func TestUnauthenticatedClientsAreOne(t *testing.T) {
	synctest.Test(t, testUnauthenticatedClientsAreOne)
}

func testUnauthenticatedClientsAreOne(t *testing.T) {
	f := newFixture(t)
	defer f.observer.Close()
	f.send(call{"GET", sites, kubectlAgent, admin, nil, 200, "{}"})
	for i := range 2 * maxClients {
		f.send(call{"GET", "/api", fmt.Sprintf("x%d/1", i), []user.Info{nil, &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}}[i%2], nil, 401, ""})
	}
	list := f.clients.Snapshot()
	if len(list) != 2 || list[0].Name != "kubectl (admin)" || list[1].Name != unauthenticatedClients || list[1].Requests != 2*maxClients {
		t.Errorf("%+v", list)
	}
	if n := len(f.clients.byID); n != 1 {
		t.Errorf("%d identities are kept", n)
	}
	time.Sleep(time.Second)
	f.send(call{"POST", sites, "last/1", &user.DefaultInfo{Name: user.Anonymous}, nil, 401, ""})
	calls, _ := f.records()
	var got []string
	for _, c := range calls {
		got = append(got, c.Client.UserAgent+" "+c.Client.User)
	}
	if diff := cmp.Diff([]string{kubectlAgent + " admin", "x0/1 ", "last/1 " + user.Anonymous}, got); diff != "" {
		t.Errorf("records: -want +got:\n%s", diff)
	}
}

// TestProgramOfGenericAgent: what a process runs has a name with characters of its user's choice.
func TestProgramOfGenericAgent(t *testing.T) {
	for peer, want := range map[string]string{
		"operator.py": "operator.py", "site_operator": "site_operator", "": "undici", "...": "undici",
		"op (root).py": "op", "a\x1b[31m\n.py": "a[31m.py", "::error::op.py": "error::op.py",
		"AnsiballZ_k8s.py": "ansible", "ansible-playbook": "ansible", "ansible-operator": "ansible-operator",
	} {
		id := identity{userAgent: "undici", user: "admin", peer: peer}
		if got := clientName(id); got != want+" (admin)" {
			t.Errorf("%q: got %q, want the program %q", peer, got, want)
		}
	}
}

func TestIsGenericAgent(t *testing.T) {
	for agent, want := range map[string]bool{
		"": true, "OpenAPI-Generator/22.6.0/python": true, "Python/3.11 aiohttp/3.9.1": true, "undici": true,
		"kubernetes-client-javascript/2.0.1": true, "Kubernetes Java Client/20.0.0": true, "Go-http-client/2.0": true,
		"curl/8.1": false, kubectlAgent: false, operatorAgent: false, "site-operator": false, "kopfer/1": false,
	} {
		if got := isGenericAgent(agent); got != want {
			t.Errorf("%q: got %v", agent, got)
		}
	}
}
