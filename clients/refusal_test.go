package clients

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// refused is a request that the API server refuses.
type refused struct {
	method, path, sent string
	status             int
	answer             string // a Status in JSON without its kind
}

func (f *fixture) refuse(c refused) {
	req := httptest.NewRequestWithContext(f.Context(), c.method, c.path, strings.NewReader(c.sent))
	req.Header.Set("User-Agent", kubectlAgent)
	req.Header.Set("Content-Type", cmp.Or(map[string]string{"PATCH": "application/apply-patch+yaml"}[c.method], "application/json"))
	f.clients.Handle(httptest.NewRecorder(), req, admin, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, err := io.ReadAll(req.Body); err != nil {
			f.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(c.status)
		io.WriteString(w, `{"kind":"Status","status":"Failure",`+c.answer+`}`)
	}))
}

// Of what could not be created, the owner is known: the cause of a client that polls is not.
func TestOwnerOfARefusedObject(t *testing.T) {
	f := newFixture(t)
	const owned = `{"kind":"Deployment","metadata":{"name":"web","ownerReferences":[{"apiVersion":"example.com/v1","kind":"Site","name":"shop","uid":"u1"}]}}`
	f.refuse(refused{"POST", deployments, owned, 403, `"message":"exceeded quota","reason":"Forbidden"`})
	f.refuse(refused{"POST", deployments, `{"kind":"Deployment","metadata":{"name":"web"}}`, 403, `"message":"exceeded quota","reason":"Forbidden"`})
	calls, _ := f.records()
	if want := (&observe.Object{Kind: "Site", Name: "shop", UID: "u1"}); len(calls) != 2 || !gocmp.Equal(calls[0].Owner, want) || calls[1].Owner != nil {
		t.Errorf("recorded are %v", calls)
	}
}

// So is that of what could not be applied, and of what was created: generated names differ, the owner does not.
func TestOwnersOfAppliedAndCreatedObjects(t *testing.T) {
	f := newFixture(t)
	const owned = `{"kind":"Deployment","metadata":{"name":"web","ownerReferences":[{"apiVersion":"example.com/v1","kind":"Site","name":"shop","uid":"u1"}]}}`
	f.refuse(refused{"PATCH", deployments + "/web?fieldManager=f&dryRun=All", owned, 500, `"message":"webhook is down"`})
	f.refuse(refused{"PATCH", deployments + "/web", owned, 500, `"message":"webhook is down"`})
	for _, c := range []call{
		{method: "POST", path: deployments, status: 201, answer: owned},
		{method: "PATCH", path: deployments + "/web", status: 201, answer: owned},
		{method: "PATCH", path: deployments + "/web", status: 200, answer: owned},
	} {
		c.agent, c.who = kubectlAgent, admin
		f.send(c)
	}
	calls, _ := f.records()
	want := &observe.Object{Kind: "Site", Name: "shop", UID: "u1"}
	for i, c := range calls {
		if hasOwner := i < 4; c.DryRun != (i == 0) || hasOwner != gocmp.Equal(c.Owner, want) || !hasOwner && c.Owner != nil {
			t.Errorf("recorded is %v of %v, dry run: %v", c, c.Owner, c.DryRun)
		}
	}
	if len(calls) != 5 {
		t.Errorf("recorded are %v", calls)
	}
}

// What was refused is known by its name, and why by the server's words, except where these
// may quote the value of a Secret.
func TestRefusals(t *testing.T) {
	f := newFixture(t)
	const secrets, webhook = "/api/v1/namespaces/ns/secrets", `admission webhook \"guard\" denied the request: `
	applied := strings.Repeat("x", 8<<10)
	for _, c := range []refused{
		{"POST", deployments, `{"kind":"Deployment","metadata":{"annotations":{"last-applied":"` + applied + `"},"name":"web"},"spec":{}}`, 400, `"message":"` + webhook + `no web"`},
		{"POST", deployments, `{"metadata":{"name":"shop"}}`, 403, `"message":"exceeded quota: few","reason":"Forbidden","details":{"name":"shop","kind":"deployments"}`},
		{"POST", sites, `{"kind":"Site","metadata":{"name":"web"}}`, 422, `"message":"Site is invalid","reason":"Invalid","details":{"name":"web","kind":"Site"}`},
		{"POST", sites, "", 404, `"message":"namespaces not found","reason":"NotFound","details":{"name":"ns","kind":"namespaces"}`},
		{"POST", "/api/v1/namespaces/ns/pods", `{"metadata":{"generateName":"web-"}}`, 403, `"message":"quota","reason":"Forbidden","details":{"name":"web-x7k2q","kind":"pods"}`},
		{"PUT", "/api/v1/namespaces/ns/pods/web", "", 422, `"message":"spec: Forbidden: may not change\n core.PodSpec{Env: hunter2}","reason":"Invalid"`},
		{"POST", secrets, `{"metadata":{"name":"key"},"stringData":{"key":"hunter2"}}`, 400, `"message":"` + webhook + `hunter2 is short"`},
		{"PATCH", secrets + "/key", `{"data":{"key":"hunter2"}}`, 422, `"message":"data: Invalid value: hunter2","reason":"Invalid"`},
		{"GET", secrets + "/key", "", 403, `"message":"admin cannot get it","reason":"Forbidden"`},
		{"PUT", sites + "/web", "", 400, `"message":"` + strings.Repeat("long ", 1000) + `"`},
	} {
		f.refuse(c)
	}
	calls, _ := f.records()
	var got []string
	for _, c := range calls {
		if len(c.Error) > recording.MaxRefusal || strings.Contains(c.Error, "hunter2") {
			t.Errorf("%d bytes: %s", len(c.Error), c.Error)
		}
		got = append(got, c.Object.String()+": "+c.Error[:min(len(c.Error), 60)])
	}
	want := []string{
		`Deployment ns/web: admission webhook "guard" denied the request: no web`,
		"Deployment ns/shop: exceeded quota: few",
		"Site ns/web: Site is invalid",
		"sites.example.com in ns: namespaces not found",
		"Pod in ns: quota",
		"Pod ns/web: spec: Forbidden: may not change",
		"Secret ns/key: 400 Bad Request",
		"Secret ns/key: 422 Invalid",
		"Secret ns/key: admin cannot get it",
		"sites.example.com ns/web: " + strings.Repeat("long ", 12),
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The path of a request may have any characters, and so may the object that it sends.
func TestRefusedNamesArePrintable(t *testing.T) {
	f := newFixture(t)
	const evil, status = "a%1b%5b2J%c2%9bb%e2%80%aec", `"message":"no"`
	f.refuse(refused{"GET", "/apis/" + evil + "/" + evil + "/namespaces/" + evil + "/" + evil + "/" + evil + "/" + evil, "", 404, status})
	f.refuse(refused{"POST", sites, `{"kind":"Site\u001b","metadata":{"name":"web\u009b\u202e"}}`, 403, status})
	f.refuse(refused{"POST", "/" + evil, "", 403, status})
	calls, _ := f.records()
	var got []string
	for _, c := range calls {
		got = append(got, strings.Join([]string{c.Object.Group, c.Version, c.Object.Namespace, c.Object.Resource, c.Object.Kind, c.Object.Name, c.Subresource}, " "))
	}
	const clean = "a[2Jbc"
	want := []string{strings.Join([]string{clean, clean, clean, clean, "", clean, clean}, " "), "example.com v1 ns sites Site web ", "   /" + clean + "   "}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What a server still reads after it has answered is not kept.
func TestBodyIsReadAfterTheAnswer(t *testing.T) {
	f := newFixture(t)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, deployments, strings.NewReader(`{"kind":"Deployment"}`))
	var body io.Reader
	f.clients.Handle(httptest.NewRecorder(), req, admin, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body = req.Body
		w.WriteHeader(http.StatusGatewayTimeout)
	}))
	if data, err := io.ReadAll(body); err != nil || len(data) != 21 || body.(*sentBody).kept != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// readable is a response whose request can be read with a deadline, as that of a server can.
type readable struct{ *httptest.ResponseRecorder }

func (readable) SetReadDeadline(time.Time) error { return nil }

// The API server does not read the body of a request that it does not authorize, and only that names
// what was to be created, and its owner.
func TestCreationsRefusedUnread(t *testing.T) {
	f := newFixture(t)
	send, end := f.watch(sites+"?watch=1&resourceVersion=3", operatorAgent, operator)
	defer end()
	send(`{"type":"ADDED","object":{"kind":"Site","metadata":{"name":"a1","namespace":"ns","uid":"u1","resourceVersion":"7"}}}` + "\n")
	const sent = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a1-config","namespace":"ns","ownerReferences":[{"kind":"Site","name":"a1","uid":"u1"}]}}`
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/namespaces/ns/configmaps", strings.NewReader(sent))
	req.Header.Set("User-Agent", operatorAgent)
	req.Header.Set("Content-Type", "application/json")
	req.RemoteAddr = operatorAgent
	f.clients.Handle(readable{httptest.NewRecorder()}, req, operator, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"kind":"Status","status":"Failure","message":"configmaps is forbidden","reason":"Forbidden"}`)
	}))
	calls, events := f.records()
	last := calls[len(calls)-1]
	if got := last.Object.String(); got != "ConfigMap ns/a1-config" || last.Error != "configmaps is forbidden" {
		t.Errorf("%s: %s", got, last.Error)
	}
	if len(events) != 1 || last.Cause == 0 || events[0].Object.Name != "a1" {
		t.Errorf("cause %d, events %+v", last.Cause, events)
	}
}

// So it is with an update: what is sent has the owner.
func TestUpdateRefusedUnread(t *testing.T) {
	f := newFixture(t)
	send, end := f.watch(sites+"?watch=1&resourceVersion=3", operatorAgent, operator)
	defer end()
	send(frame("MODIFIED", object("Site", "shop", "u1", "7")))
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPut, deployments+"/web", strings.NewReader(owned("Deployment", "web", "d1", "5")))
	req.Header.Set("User-Agent", operatorAgent)
	req.Header.Set("Content-Type", "application/json")
	req.RemoteAddr = operatorAgent
	f.clients.Handle(readable{httptest.NewRecorder()}, req, operator, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, forbidden)
	}))
	if diff := gocmp.Diff([]string{"Site ns/shop updated 7"}, f.causes("shop-operator")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Of a creation that times out the server may still read the body, unless the timeout is injected.
func TestCreationThatTimesOut(t *testing.T) {
	for _, tt := range []struct{ message, want string }{
		{"Timeout: " + observe.InjectedFault, "ConfigMap ns/app"},
		{"Timeout: request did not complete within the allotted timeout", "ConfigMap in ns"},
	} {
		f := newFixture(t)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/namespaces/ns/configmaps", strings.NewReader(`{"kind":"ConfigMap","metadata":{"name":"app"}}`))
		req.Header.Set("Content-Type", "application/json")
		f.clients.Handle(readable{httptest.NewRecorder()}, req, admin, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusGatewayTimeout)
			io.WriteString(w, `{"kind":"Status","status":"Failure","message":"`+tt.message+`","reason":"Timeout"}`)
		}))
		calls, _ := f.records()
		if got := calls[0].Object.String(); got != tt.want || calls[0].Error != tt.message {
			t.Errorf("%s: %s, want %s", got, calls[0].Error, tt.want)
		}
	}
}
