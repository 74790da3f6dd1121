package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	kubectlAgent  = "kubectl/v1.37.1 (linux/amd64) kubernetes/abc"
	operatorAgent = "shop-operator/v0.0.0 (linux/amd64) kubernetes/$Format"
	sites         = "/apis/example.com/v1/namespaces/ns/sites"
	deployments   = "/apis/apps/v1/namespaces/ns/deployments"
)

var (
	admin    = &user.DefaultInfo{Name: "admin", Groups: []string{"system:masters"}}
	operator = &user.DefaultInfo{Name: "system:serviceaccount:ns:operator"}
	pusher   = &user.DefaultInfo{Name: "system:serviceaccount:ns:pusher"}
)

// fixture is a set of clients with its records.
type fixture struct {
	*testing.T
	clients  *Clients
	observer *observe.Observer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	o := observe.New(observe.Options{})
	t.Cleanup(func() { o.Close() })
	return &fixture{t, New(Config{Observer: o, OwnPath: "/ctrlplane"}), o}
}

// call is a request and the answer to it.
type call struct {
	method, path, agent string
	who                 user.Info
	header              map[string]string
	status              int
	answer              string
}

// send sends a request on a connection of its own program.
func (f *fixture) send(c call) {
	req := httptest.NewRequestWithContext(f.Context(), c.method, c.path, strings.NewReader("{}"))
	req.Header.Set("User-Agent", c.agent)
	req.RemoteAddr = c.agent
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	f.clients.Handle(httptest.NewRecorder(), req, c.who, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(c.status)
		io.WriteString(w, c.answer)
	}))
}

// operate sends a request of the operator.
func (f *fixture) operate(method, path string, status int, answer string) {
	f.send(call{method, path, operatorAgent, operator, nil, status, answer})
}

func (f *fixture) records() (calls []*observe.Called, events []*observe.Delivered) {
	f.Helper()
	page, err := f.observer.Records(f.Context(), observe.Query{Reads: true})
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range page.Records {
		switch e := r.Event.(type) {
		case *observe.Called:
			calls = append(calls, e)
		case *observe.Delivered:
			events = append(events, e)
		}
	}
	return calls, events
}

// events returns the recorded events by their numbers.
func (f *fixture) events() map[uint64]*observe.Delivered {
	f.Helper()
	page, err := f.observer.Records(f.Context(), observe.Query{})
	if err != nil {
		f.Fatal(err)
	}
	bySeq := map[uint64]*observe.Delivered{}
	for _, r := range page.Records {
		if e, ok := r.Event.(*observe.Delivered); ok {
			bySeq[r.Seq] = e
		}
	}
	return bySeq
}

// watchToTheEnd opens a watch of the operator, which ends with the test.
func (f *fixture) watchToTheEnd(path string) (send func(string)) {
	f.Helper()
	send, end := f.watch(path, operatorAgent, operator)
	f.Cleanup(end)
	return send
}

// watch opens a watch. send writes a frame to it, and close ends it.
func (f *fixture) watch(path string, agent string, who user.Info) (send func(string), end func()) {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	frames, sent, ended := make(chan string), make(chan struct{}), make(chan struct{})
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	req.Header.Set("User-Agent", agent)
	req.RemoteAddr = agent
	began := make(chan struct{})
	go func() {
		defer close(ended)
		f.clients.Handle(httptest.NewRecorder(), req, who, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "application/json;stream=watch")
			w.WriteHeader(http.StatusOK)
			close(began)
			for {
				select {
				case frame := <-frames:
					io.WriteString(w, frame)
					sent <- struct{}{}
				case <-req.Context().Done():
					return
				}
			}
		}))
	}()
	<-began
	return func(frame string) { frames <- frame; <-sent }, func() { cancel(); <-ended }
}

func object(kind, name, uid, version string, owners ...string) string {
	var refs []map[string]string
	for _, owner := range owners {
		refs = append(refs, map[string]string{"uid": owner})
	}
	data, err := json.Marshal(map[string]any{"kind": kind, "metadata": map[string]any{"name": name, "namespace": "ns", "uid": uid, "resourceVersion": version, "ownerReferences": refs}})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// frame is an event as the API server writes it.
func frame(typ, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`, typ, object) + "\n"
}

func TestRequestsAreRecorded(t *testing.T) {
	f := newFixture(t)
	conflict := apierrors.NewConflict(schema.GroupResource{Group: "example.com", Resource: "sites"}, "shop", errors.New("the object has been modified")).Status()
	conflictJSON, err := json.Marshal(conflict)
	if err != nil {
		t.Fatal(err)
	}
	secret := `{"kind":"Status","status":"Failure","message":"password hunter2 is not valid","reason":"Invalid","code":422}`
	for _, c := range []call{
		{"POST", sites + "?fieldManager=kubectl-create", kubectlAgent, admin, nil, 201, object("Site", "shop", "u", "7")},
		{"PUT", sites + "/shop/status", operatorAgent, operator, nil, 409, strings.Replace(string(conflictJSON), "{", `{"kind":"Status",`, 1)},
		{"GET", sites + "/shop", kubectlAgent, admin, map[string]string{"Impersonate-User": "bob"}, 404, `{"kind":"Status","message":"not found"}`},
		{"POST", "/api/v1/namespaces/ns/secrets", operatorAgent, operator, nil, 422, secret},
		{"GET", "/api", "curl/8.0", nil, nil, 401, ""},
		{"GET", "/api", kubectlAgent, admin, nil, 200, "{}"},                                     // discovery
		{"POST", "/ctrlplane/v1/clients/resume", "ctrlplane/v1", admin, nil, 200, "{}"},          // our own API
		{"POST", "/ctrlplanets", "ctrlplane/v1", admin, nil, 404, `{"kind":"Status"}`},           // not our own API
		{"GET", "/api/v1/namespaces/ns/pods", "weird\x1b[31m/1", admin, nil, 200, "{\"kind\":1"}, // not a valid answer
	} {
		f.send(c)
	}
	calls, _ := f.records()
	type brief struct {
		Client, User, As, Manager, Verb, Object, Version, Error string
		Status                                                  int
		Conflict                                                bool
	}
	var got []brief
	for _, c := range calls {
		if c.Took < 0 || c.Began.IsZero() {
			t.Errorf("%+v", c)
		}
		got = append(got, brief{c.Controller, c.Client.User, c.Client.Impersonates, c.FieldManager, c.Verb, c.Object.String(), c.ResourceVersion, c.Error, c.Status, c.Conflict})
	}
	kubectl, shop := "kubectl (admin)", "shop-operator (system:serviceaccount:ns:operator)"
	want := []brief{
		{kubectl, "admin", "", "kubectl-create", "create", "Site ns/shop", "7", "", 201, false},
		{shop, operator.Name, "", "shop-operator", "update", "Site ns/shop", "", conflict.Message, 409, true},
		{kubectl, "admin", "bob", "", "get", "Site ns/shop", "", "not found", 404, false},
		{shop, operator.Name, "", "shop-operator", "create", "Secret in ns", "", "422 Invalid", 422, false},
		{unauthenticatedClients, "", "", "", "get", "/api", "", "401 Unauthorized", 401, false},
		{"ctrlplane (admin)", "admin", "", "ctrlplane", "create", "/ctrlplanets", "", "404 Not Found", 404, false},
		{"weird[31m (admin)", "admin", "", "", "list", "Pod in ns", "", "", 200, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, c := range f.clients.Snapshot() {
		if c.Name == kubectl && (c.Requests != 3 || c.Reads != 2 || c.Changes != 1 || c.Errors != 0 || c.InFlight != 0 || c.Last.Object.Resource != "/api" || c.Groups[0] != "system:masters") {
			t.Errorf("%+v", c)
		}
		if c.Name == shop && (c.Conflicts != 1 || c.Errors != 1) {
			t.Errorf("%+v", c)
		}
	}
}

// Requests that are not authenticated cannot fill the memory with their texts.
func TestRecordedTextsAreBounded(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("x", 1<<16)
	for _, path := range []string{"/" + long, "/apis/" + long + "/v1/namespaces/" + long + "/" + long + "/" + long + "/" + long} {
		f.send(call{"GET", path, long, nil, nil, 403, `{"kind":"Status","message":"` + long + `"}`})
	}
	calls, _ := f.records()
	for _, c := range calls {
		data, err := json.Marshal(c)
		if err != nil || len(data) > 16<<10 {
			t.Errorf("a record of %d bytes, %v", len(data), err)
		}
	}
	for id := range f.clients.byID {
		if len(calls) != 2 || len(id.userAgent) > maxText {
			t.Errorf("%d records, the key of the client has %d bytes", len(calls), len(id.userAgent))
		}
	}
}

// A record is not changed once it is published.
func TestPublishedRecordsStay(t *testing.T) {
	f := newFixture(t)
	req := httptest.NewRequestWithContext(t.Context(), "POST", sites, strings.NewReader("{}"))
	r := newRequest(f.observer, f.clients.frames, newClient("kubectl (admin)", f.clients.config.Objects, new(atomic.Int64)), req, &observe.Caller{})
	r.kinds, r.served, r.status = &f.clients.kinds, &observe.ServedCall{}, http.StatusSwitchingProtocols
	r.record() // as Hijack does
	r.served.Serve("kubectl (admin)", func() {
		write := observe.BeginWrite()
		defer write.End()
		write.Stored(observe.Written{Resource: "sites.example.com", Name: "x"})
	})
	r.finish()
	if calls, _ := f.records(); len(calls) != 1 || calls[0].Wrote != nil {
		t.Errorf("%+v", calls)
	}
}

func TestProgramNames(t *testing.T) {
	for agent, want := range map[string]string{
		kubectlAgent: "kubectl", "Go-http-client/2.0": "Go program", "": "unknown program", "/": "unknown program",
		"__debug_bin3120454321/v0.0.0": "__debug_bin", "manager.exe/v1": "manager", "OpenAPI-Generator/32.0.0/python": "OpenAPI-Generator",
		"my tool": "my", "::error::broken/1": "error::broken", "##[error]broken": "error]broken", "::": "unknown program", "_x": "_x",
		"HashiCorp/1.0 Terraform/1.11.4": "Terraform", "terraform-provider-kubernetes_v2.38.0_x5/v0.0.0 (linux/amd64)": "Terraform",
		"HashiCorp/1.0 Vault/1.20.0": "HashiCorp", "terraform/v1": "terraform", "AnsiballZ_k8s_scale.py": "ansible",
		"ansible-playbook": "ansible", "ansible-operator/v1": "ansible-operator",
	} {
		if got := programName(agent); got != want {
			t.Errorf("%q: %q, want %q", agent, got, want)
		}
	}
}

// A write is likely caused by an event of a related object that the client had received, and
// only by one on its own watches.
func TestCausesOfWrites(t *testing.T) { synctest.Test(t, testCausesOfWrites) }

func testCausesOfWrites(t *testing.T) {
	f := newFixture(t)
	defer f.observer.Close()
	sendSite, endSites := f.watch(sites+"?watch=1&sendInitialEvents=true&resourceVersion=3", operatorAgent, operator)
	sendDeployment, endDeployments := f.watch(deployments+"?watch=1", operatorAgent, operator)
	kubectlSite, endKubectl := f.watch(sites+"?watch=1", kubectlAgent, admin)
	sendSite(frame("ADDED", object("Site", "old", "u0", "2")))
	sendSite(`{"type":"BOOKMARK","object":{"kind":"Site","metadata":{"resourceVersion":"3","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n")
	for _, send := range []func(string){sendSite, kubectlSite} {
		send(frame("ADDED", object("Site", "shop", "u1", "7")))
	}
	create := func(path, agent string, answer string) {
		f.send(call{"POST", path, agent, map[string]user.Info{operatorAgent: operator, kubectlAgent: admin}[agent], nil, 201, answer})
	}
	create(sites, kubectlAgent, object("Site", "mine", "u9", "8"))                      // 0: an unrelated object
	create(deployments, operatorAgent, object("Deployment", "web", "d1", "9", "u1"))    // 1: owned by the Site
	sendDeployment(frame("ADDED", object("Deployment", "web", "d1", "9", "u1")))        // its own write
	create(deployments, operatorAgent, object("Deployment", "web-2", "d2", "10", "u1")) // 2: not caused by its own write
	time.Sleep(time.Millisecond)
	sendDeployment(frame("MODIFIED", object("Deployment", "web", "d1", "11", "u1"))) // by a controller
	time.Sleep(time.Millisecond)
	f.send(call{"PUT", sites + "/shop", operatorAgent, operator, nil, 200, object("Site", "shop", "u1", "12")}) // 3: it goes on
	sendDeployment(frame("MODIFIED", object("Deployment", "web", "d1", "12", "u1")))                            // later than the event above
	f.send(call{"PUT", sites + "/shop", operatorAgent, operator, nil, 200, object("Site", "shop", "u1", "13")}) // 4: again, for what has queued the key
	time.Sleep(time.Second)                                                                                     // it is idle
	sendDeployment(frame("MODIFIED", object("Deployment", "web", "d1", "20", "u1")))
	f.send(call{"PUT", deployments + "/web", operatorAgent, operator, nil, 200, object("Deployment", "web", "d1", "21", "u1")}) // 5: for what woke it
	time.Sleep(time.Second)
	create("/api/v1/namespaces/ns/configmaps", operatorAgent, `{"kind":"ConfigMap","metadata":{"name":"hosts","namespace":"ns"},"data":{"h":"ns/shop"}}`) // 6: names it
	create(deployments, operatorAgent, object("Deployment", "old", "d3", "13", "u0"))                                                                     // 7: listed only
	create(deployments, operatorAgent, object("Deployment", "other", "d4", "14", "u7"))                                                                   // 8: of an object that it does not watch
	endSites()
	endDeployments()
	endKubectl()
	calls, _ := f.records()
	bySeq := f.events()
	var got []string
	for _, c := range calls {
		if !c.IsWrite() {
			continue
		}
		cause := "none"
		if e := bySeq[c.Cause]; e != nil {
			cause = fmt.Sprintf("%s %s %s", e.Object, e.Change, e.ResourceVersion)
			if e.Controller != c.Controller {
				t.Errorf("%s has an event of %s", c.Controller, e.Controller)
			}
		}
		got = append(got, cause)
	}
	added := "Site ns/shop added 7"
	want := []string{"none", added, added, added, "Deployment ns/web updated 11", "Deployment ns/web updated 20", added, "Site ns/old listed 2", "none"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(bySeq) != 4 {
		t.Errorf("%d events are recorded, want only those that caused a write: %v", len(bySeq), bySeq)
	}
}

// A program that starts again and lists what it has written acts upon the other objects.
func TestCauseAfterRestart(t *testing.T) {
	f := newFixture(t)
	f.send(call{"POST", deployments, operatorAgent, operator, nil, 201, object("Deployment", "web", "d1", "9", "u1")})
	sendSite, endSites := f.watch(sites+"?watch=1&sendInitialEvents=true", operatorAgent, operator)
	sendDeployment, endDeployments := f.watch(deployments+"?watch=1&sendInitialEvents=true", operatorAgent, operator)
	sendSite(frame("ADDED", object("Site", "shop", "u1", "7")))
	sendDeployment(frame("ADDED", object("Deployment", "web", "d1", "9", "u1")))
	f.send(call{"POST", deployments, operatorAgent, operator, nil, 201, object("Deployment", "web-2", "d2", "12", "u1")})
	endSites()
	endDeployments()
	if _, events := f.records(); len(events) != 1 || events[0].Object.Name != "shop" {
		t.Errorf("%+v", events)
	}
}

// A write is likely caused by the event of an object that a related one names, or named.
func TestCausesByReference(t *testing.T) { synctest.Test(t, testCausesByReference) }

func testCausesByReference(t *testing.T) {
	f := newFixture(t)
	defer f.observer.Close()
	sendSite, endSites := f.watch(sites+"?watch=1", operatorAgent, operator)
	sendConfig, endConfigs := f.watch("/api/v1/namespaces/ns/configmaps?watch=1", operatorAgent, operator)
	with := func(object, field string) string { return strings.TrimSuffix(object, "}") + "," + field + "}" }
	site, config := object("Site", "shop", "u1", "7"), object("ConfigMap", "colors", "c1", "8")
	sendSite(frame("ADDED", with(site, `"spec":{"configFrom":"colors"}`)))
	sendConfig(frame("ADDED", config))
	sendConfig(frame("ADDED", with(object("ConfigMap", "hosts", "c2", "9"), `"data":{"shop.example.com":"ns/shop"}`)))
	time.Sleep(time.Second)
	sendConfig(frame("MODIFIED", object("ConfigMap", "colors", "c1", "10")))
	f.send(call{"PUT", deployments + "/web", operatorAgent, operator, nil, 200, object("Deployment", "web", "d1", "11", "u1")})
	time.Sleep(time.Second)
	sendSite(frame("MODIFIED", object("Site", "shop", "u1", "12")))
	f.send(call{"PUT", "/api/v1/namespaces/ns/configmaps/hosts", operatorAgent, operator, nil, 200, object("ConfigMap", "hosts", "c2", "13")})
	endSites()
	endConfigs()
	var got []string
	_, events := f.records()
	for _, e := range events {
		got = append(got, e.Object.Name+" "+e.ResourceVersion)
	}
	if diff := cmp.Diff([]string{"colors 10", "shop 12"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The Event that a program writes first begins no run of writes, and is not its work.
func TestRoutineWriteBeginsNoRun(t *testing.T) { synctest.Test(t, testRoutineWriteBeginsNoRun) }

func testRoutineWriteBeginsNoRun(t *testing.T) {
	f := newFixture(t)
	defer f.observer.Close()
	send, end := f.watch(sites+"?watch=1", operatorAgent, operator)
	defer end()
	send(frame("ADDED", object("Site", "shop", "u1", "7")))
	f.send(call{"POST", "/api/v1/namespaces/ns/events", operatorAgent, operator, nil, 201, object("Event", "shop.1", "e1", "8", "u1")})
	time.Sleep(time.Millisecond)
	began := time.Now()
	f.send(call{"POST", deployments, operatorAgent, operator, nil, 201, object("Deployment", "web", "d1", "9", "u1")})
	calls, _ := f.records()
	last := calls[len(calls)-1]
	cl := f.clients.byName[last.Controller]
	if !cl.busy.from.Equal(began) || cl.nextRun != 1 || last.Cause == 0 {
		t.Errorf("busy from %s with %d runs, want one from %s; %+v", cl.busy.from, cl.nextRun, began, last)
	}
}

// A Lease that an operator takes over is distinguished from a renewal.
func TestTakeoverOfLease(t *testing.T) {
	f := newFixture(t)
	for _, sent := range []string{
		`{"spec":{"holderIdentity":"b","acquireTime":"2026-07-01T12:00:00.000000Z","renewTime":"2026-07-01T12:00:00.000000Z"}}`,
		`{"spec":{"holderIdentity":"b","acquireTime":"2026-07-01T12:00:00.000000Z","renewTime":"2026-07-01T12:00:02.000000Z"}}`,
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/op", strings.NewReader(sent))
		req.Header.Set("User-Agent", operatorAgent)
		f.clients.Handle(httptest.NewRecorder(), req, operator, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				t.Error(err)
			}
			w.WriteHeader(http.StatusOK)
		}))
	}
	if calls, _ := f.records(); len(calls) != 2 || calls[0].TakenBy != "b" || calls[1].TakenBy != "" {
		t.Errorf("%+v", calls)
	}
}

// A write may follow from a takeover, whose record is kept with the causes then.
func TestTakeoverIsCause(t *testing.T) {
	for renewed, want := range map[string]string{"00": "b", "02": ""} {
		f := newFixture(t)
		send, end := f.watch("/apis/coordination.k8s.io/v1/namespaces/ns/leases?watch=1", operatorAgent, operator)
		lease := strings.TrimSuffix(object("Lease", "op", "l1", "8"), "}") +
			`,"spec":{"holderIdentity":"b","acquireTime":"2026-07-01T12:00:00.000000Z","renewTime":"2026-07-01T12:00:` + renewed + `.000000Z"}}`
		send(frame("MODIFIED", lease))
		f.send(call{"POST", deployments, operatorAgent, operator, nil, 201, object("Deployment", "web", "d1", "9", "l1")})
		end()
		if _, events := f.records(); len(events) != 1 || events[0].TakenBy != want {
			t.Errorf("%+v, want one that is taken by %q", events, want)
		}
	}
}

// A run of kubectl does not follow from what another run of it watches.
func TestRunsOfKubectlAreUnrelated(t *testing.T) {
	f := newFixture(t)
	other := kubectlAgent + " " // another connection, the same client
	send, end := f.watch(sites+"?watch=1", other, admin)
	defer end()
	send(frame("ADDED", object("Site", "shop", "u1", "7")))
	f.send(call{"DELETE", sites + "/shop", kubectlAgent, admin, nil, 200, `{"kind":"Status","status":"Success"}`})
	calls, events := f.records()
	if last := calls[len(calls)-1]; last.Cause != 0 || len(events) != 0 || last.Controller != "kubectl (admin)" {
		t.Errorf("%+v, %d events", last, len(events))
	}
}

// A client may ask for the metadata of objects only. That is not their kind.
func TestMetadataHasNoKind(t *testing.T) {
	f := newFixture(t)
	for path, name := range map[string]string{deployments: "web", sites: "shop"} {
		send, end := f.watch(path+"?watch=1", operatorAgent, operator)
		send(frame("ADDED", object("PartialObjectMetadata", name, "u-"+name, "7")))
		f.send(call{"PATCH", path + "/" + name, operatorAgent, operator, nil, 200, object("PartialObjectMetadata", name, "u-"+name, "8")})
		end()
	}
	calls, events := f.records()
	var got []string
	for _, c := range calls {
		if c.IsWrite() {
			got = append(got, c.Object.String())
		}
	}
	for _, e := range events {
		got = append(got, e.Object.String())
	}
	slices.Sort(got)
	if want := []string{"Deployment ns/web", "Deployment ns/web", "sites.example.com ns/shop", "sites.example.com ns/shop"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An answer to a write of a custom resource that failed does not have its kind. It has the same name as others.
func TestConflictNamesTheKind(t *testing.T) {
	f := newFixture(t)
	f.send(call{"PATCH", sites + "/shop/status", operatorAgent, operator, nil, 200, object("Site", "shop", "u1", "8")})
	f.send(call{"PUT", sites + "/shop/status", operatorAgent, operator, nil, 409, `{"kind":"Status","status":"Failure","reason":"Conflict","code":409,"message":"the object has been modified"}`})
	f.send(call{"PATCH", sites + "/shop/scale", operatorAgent, operator, nil, 200, object("Scale", "shop", "u1", "9")})
	f.send(call{"PATCH", "/apis/example.com/v1/namespaces/ns/shops/a", operatorAgent, operator, nil, 404, `{"kind":"Status","status":"Failure","code":404,"message":"not found"}`})
	calls, _ := f.records()
	var got []string
	for _, c := range calls {
		got = append(got, c.Object.String())
	}
	if want := []string{"Site ns/shop", "Site ns/shop", "Site ns/shop", "shops.example.com ns/a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A conflict has the version that the client has sent; another answer has none.
func TestConflictHasTheVersionThatWasRead(t *testing.T) {
	f := newFixture(t)
	const modified = `{"kind":"Status","status":"Failure","reason":"Conflict","code":409,"message":"the object has been modified"}`
	for _, answer := range []struct {
		status int
		body   string
	}{{http.StatusConflict, modified}, {http.StatusForbidden, forbidden}, {http.StatusOK, object("Site", "shop", "u1", "8")}} {
		f.handle("PUT", sites+"/shop", object("Site", "shop", "u1", "6"), func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(answer.status)
			_, _ = io.WriteString(w, answer.body)
		})
	}
	calls, _ := f.records()
	var got []string
	for _, c := range calls {
		got = append(got, c.ReadVersion)
	}
	if want := []string{"6", "", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOpenWatches(t *testing.T) {
	f := newFixture(t)
	send, end := f.watch(sites+"?watch=1&labelSelector=a%3Db&resourceVersion=3", operatorAgent, operator)
	for i := range 2 * keptEvents {
		send(frame("ADDED", object("Site", fmt.Sprint(i), "u", "7")))
	}
	send(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}` + "\n")
	got := f.clients.Snapshot()[0]
	if len(got.Watches) != 1 {
		t.Fatalf("%+v", got)
	}
	w := got.Watches[0]
	if w.Resource != "sites.example.com" || w.Namespace != "ns" || w.LabelSelector != "a=b" || w.ResourceVersion != "3" || w.Delivered != 2*keptEvents || w.Since.IsZero() || w.LastTime.IsZero() {
		t.Errorf("%+v", w)
	}
	if got.InFlight != 0 {
		t.Errorf("an open watch is a request in flight")
	}
	end()
	if got.Watched != nil {
		t.Errorf("has watched %q", got.Watched)
	}
	if got := f.clients.Snapshot()[0]; len(got.Watches) != 0 || !slices.Equal(got.Watched, []string{w.Resource}) || got.WatchEnded.Before(got.LastTime) {
		t.Errorf("after its end at %v: %+v", got.WatchEnded, got.Watches)
	}
}

// A watch that is renewed is one of the same process; another connection shows that a new one has begun.
func TestWhenWatchingBegan(t *testing.T) {
	f := newFixture(t)
	cl := newClient("operator", f.clients.config.Objects, new(atomic.Int64))
	start := time.Now()
	open := func(conn string, after time.Duration) *watch {
		req := httptest.NewRequest(http.MethodGet, sites+"?watch=1", nil)
		req.RemoteAddr = conn
		w := newWatch(req, &observe.Called{Began: start.Add(after), Object: observe.Object{Group: "example.com", Resource: "sites"}}, f.clients.frames)
		cl.addWatch(w)
		return w
	}
	requireBegan := func(when string, want time.Time) {
		t.Helper()
		if got := cl.snapshot(start).WatchBegan; !got.Equal(want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	requireBegan("before the first watch", time.Time{})
	first := open("127.0.0.1:1", time.Second)
	second := open("127.0.0.1:2", 2*time.Second)
	cl.removeWatch(first)
	requireBegan("after the first watch", start.Add(time.Second))
	cl.removeWatch(second)
	requireBegan("without a watch", time.Time{})
	renewed := open("127.0.0.1:2", 3*time.Second)
	requireBegan("after a watch was renewed", start.Add(time.Second))
	cl.removeWatch(renewed)
	open("127.0.0.1:3", 4*time.Second)
	requireBegan("after a restart", start.Add(4*time.Second))
}

// However many programs there are, the number of clients is bounded, and those with open
// watches or interventions stay.
func TestNumberOfClientsIsBounded(t *testing.T) {
	f := newFixture(t)
	_, end := f.watch(sites+"?watch=1", operatorAgent, operator)
	defer end()
	for i := range 3 * maxClients {
		f.send(call{"GET", sites, fmt.Sprintf("program-%d/1", i), admin, nil, 200, "{}"})
		f.send(call{"GET", sites, fmt.Sprintf("same/%d", i), admin, nil, 200, "{}"})
	}
	list := f.clients.Snapshot()
	if len(list) != maxClients {
		t.Errorf("%d clients", len(list))
	}
	found := map[string]int64{}
	for _, c := range list {
		found[c.Name] = c.Requests
	}
	if _, ok := found["shop-operator (system:serviceaccount:ns:operator)"]; !ok || found["same (admin)"] != 3*maxClients {
		t.Errorf("%v", found)
	}
}

func TestInterventionNames(t *testing.T) {
	f := newFixture(t)
	for _, c := range []call{
		{"GET", sites, kubectlAgent, admin, nil, 200, "{}"}, {"GET", sites, kubectlAgent, operator, nil, 200, "{}"},
		{"GET", sites, operatorAgent, operator, nil, 200, "{}"}, {"GET", sites, "db-bot/1.0 python/3.13", admin, nil, 200, "{}"},
	} {
		f.send(c)
	}
	i := f.clients.Interventions()
	for names, want := range map[string]string{
		"shop-operator": "", "kubectl (admin)": "", control.All: "",
		"kubectl":       `"kubectl" is the program of 2 clients: name one of "kubectl (admin)", "kubectl (system:serviceaccount:ns:operator)"`,
		"shop-operater": `unknown client "shop-operater": did you mean "shop-operator"?`,
		"curl":          `unknown client "curl": "ctrlplane clients" lists those that have sent a request`,
		"SHOP-OPERATOR": `unknown client "SHOP-OPERATOR": did you mean "shop-operator"?`,
		"operator":      `unknown client "operator": did you mean "shop-operator"?`,
		"Python":        `unknown client "Python": did you mean "db-bot (admin)"?`,
		"python/3.13":   `unknown client "python/3.13": did you mean "db-bot (admin)"?`,
		"thon":          `unknown client "thon": "ctrlplane clients" lists those that have sent a request`,
		"1.0":           `unknown client "1.0": "ctrlplane clients" lists those that have sent a request`,
	} {
		_, err := i.Delay(t.Context(), []string{names}, time.Second)
		if got := fmt.Sprint(err); got != want && !(want == "" && err == nil) {
			t.Errorf("%s: %v", names, err)
		}
	}
	if cleared, err := i.Clear(t.Context(), []string{control.All}); err != nil || len(cleared) != 4 {
		t.Errorf("cleared %q, %v", cleared, err)
	}
	if _, err := i.Step(t.Context(), "shop-operator"); fmt.Sprint(err) != "client shop-operator (system:serviceaccount:ns:operator) is not paused: pause it first" {
		t.Error(err)
	}
	if _, err := i.Stop(t.Context(), []string{"kubectl (admin)"}); err == nil {
		t.Error("a client was stopped")
	}
}

// A connection can be taken over, and a response be flushed, through the recorder.
func TestConnectionsCanBeHijackedAndFlushed(t *testing.T) {
	f := newFixture(t)
	flushed := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		f.clients.Handle(w, req, admin, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == sites {
				w.(http.Flusher).Flush()
				<-flushed
				return
			}
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\nhello\n")
		}))
	}))
	defer srv.Close()
	resp, err := http.Get(srv.URL + sites) // returns when the header has been flushed
	if err != nil {
		t.Fatal(err)
	}
	close(flushed)
	resp.Body.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /api/v1/namespaces/ns/pods/web/exec HTTP/1.1\r\nHost: x\r\nUser-Agent: kubectl/1\r\n\r\n")
	data, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil || !strings.HasSuffix(string(data), "hello\n") {
		t.Errorf("%q, %v", data, err)
	}
	srv.Close() // the other request is recorded, too
	calls, _ := f.records()
	if !slices.ContainsFunc(calls, func(c *observe.Called) bool {
		return c.Status == http.StatusSwitchingProtocols && c.Subresource == "exec" && c.Object.Name == "web"
	}) {
		t.Errorf("%+v", calls)
	}
}

// A verb that gates do not know changes nothing.
func TestUnknownVerb(t *testing.T) {
	f := newReportFixture(t)
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
	for name, i := range map[string]control.Interventions{
		"shop-operator":      f.clients.Interventions(),
		"shop-operator/site": f.clients.ControllerInterventions(&ownControllers{}, func(string) bool { return false }),
	} {
		change := func(verb string) ([]string, error) {
			return i.Change(t.Context(), []string{name}, control.Change{Verb: verb, Delay: time.Second})
		}
		if _, err := change(control.Delay); err != nil {
			t.Fatal(err)
		}
		if changed, err := change("throttle"); err == nil || len(changed) > 0 {
			t.Errorf("%s: throttled %q, %v", name, changed, err)
		}
		if changed, err := change(control.Clear); err != nil || len(changed) != 1 {
			t.Errorf("%s: the delay was removed before: %q, %v", name, changed, err)
		}
	}
}

// An intervention in all clients leaves out ctrlplane's own verbs, which show what it does.
func TestAllLeavesOutCtrlplane(t *testing.T) {
	f := newFixture(t)
	for _, agent := range []string{kubectlAgent, "ctrlplane/v1.37.1 (linux/amd64)"} {
		f.send(call{"GET", sites, agent, admin, nil, 200, "{}"})
	}
	i := f.clients.Interventions()
	fault := control.Fault{Rate: 1, Code: "500"}
	if got, err := i.Fail(t.Context(), []string{control.All}, fault); err != nil || !slices.Equal(got, []string{"kubectl (admin)"}) {
		t.Errorf("all: %q, %v", got, err)
	}
	if got, err := i.Fail(t.Context(), []string{"ctrlplane"}, fault); err != nil || !slices.Equal(got, []string{"ctrlplane (admin)"}) {
		t.Errorf("by name: %q, %v", got, err)
	}
	if got, err := i.Clear(t.Context(), []string{control.All}); err != nil || len(got) != 2 {
		t.Errorf("cleared %q, %v", got, err)
	}
}

// Requests on ctrlplane's own API pass whatever intervention is set.
func TestOwnAPIIsExempt(t *testing.T) {
	f := newFixture(t)
	f.send(call{"GET", sites, kubectlAgent, admin, nil, 200, "{}"})
	i := f.clients.Interventions()
	for _, set := range []func() ([]string, error){
		func() ([]string, error) { return i.Pause(t.Context(), []string{control.All}) },
		func() ([]string, error) {
			return i.Fail(t.Context(), []string{"kubectl"}, control.Fault{Rate: 1, Code: "500"})
		},
	} {
		if _, err := set(); err != nil {
			t.Fatal(err)
		}
	}
	passed := false
	req := httptest.NewRequestWithContext(t.Context(), "POST", "/ctrlplane/v1/clients/resume", nil)
	req.Header.Set("User-Agent", kubectlAgent)
	f.clients.Handle(httptest.NewRecorder(), req, admin, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true }))
	if !passed {
		t.Error("the request did not pass")
	}
}

// Close makes held writes fail.
func TestCloseRefusesHeldWrites(t *testing.T) {
	f := newFixture(t)
	f.send(call{"GET", sites, kubectlAgent, admin, nil, 200, "{}"})
	if _, err := f.clients.Interventions().Pause(t.Context(), []string{"kubectl"}); err != nil {
		t.Fatal(err)
	}
	answered := make(chan int)
	go func() {
		req := httptest.NewRequestWithContext(t.Context(), "DELETE", sites+"/shop", nil)
		req.Header.Set("User-Agent", kubectlAgent)
		w := httptest.NewRecorder()
		f.clients.Handle(w, req, admin, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the write passed") }))
		answered <- w.Code
	}()
	for f.clients.Snapshot()[0].Held == 0 {
		runtime.Gosched()
	}
	f.clients.Close()
	if code := <-answered; code != http.StatusServiceUnavailable {
		t.Errorf("status %d", code)
	}
}

func BenchmarkRead(b *testing.B) {
	o := observe.New(observe.Options{})
	defer o.Close()
	c := New(Config{Observer: o, OwnPath: "/ctrlplane"})
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	w := httptest.NewRecorder()
	req := httptest.NewRequest("GET", sites+"/shop", nil)
	req.Header.Set("User-Agent", operatorAgent)
	b.ReportAllocs()
	for b.Loop() {
		c.Handle(w, req, operator, next)
	}
}

func BenchmarkWatchEvent(b *testing.B) {
	req := httptest.NewRequest("GET", sites+"?watch=1", nil)
	w := newWatch(req, &observe.Called{Object: observe.Object{Group: "example.com", Resource: "sites"}}, newFrames())
	w.begin("application/json;stream=watch")
	event := []byte(frame("MODIFIED", strings.TrimSuffix(object("Site", "shop", "u", "7", "o"), "}")+`,"spec":{"text":"`+strings.Repeat("x", 3000)+`"}}`))
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		w.sent(event)
	}
}

// A write counts as unfinished until it is answered, also while it is held. Leases and
// streams do not.
func TestUnansweredWritesAreCounted(t *testing.T) {
	f := newFixture(t)
	var during []int64
	for _, c := range []call{
		{method: http.MethodPost, path: deployments},
		{method: http.MethodGet, path: deployments},
		{method: http.MethodPut, path: "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"},
		{method: http.MethodPost, path: "/api/v1/namespaces/ns/pods/p/exec"},
		{method: http.MethodPost, path: "/other"},
	} {
		req := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader("{}"))
		req.Header.Set("User-Agent", kubectlAgent)
		f.clients.Handle(httptest.NewRecorder(), req, admin, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			during = append(during, f.clients.Snapshot()[0].Writing)
			w.WriteHeader(http.StatusOK)
		}))
	}
	if diff := cmp.Diff([]int64{1, 0, 0, 0, 0}, during); diff != "" {
		t.Errorf("during the requests (-want +got):\n%s", diff)
	}
	if v := f.clients.Snapshot()[0]; v.Writing != 0 || v.InFlight != 0 {
		t.Errorf("got %+v after the answers", v)
	}
}
