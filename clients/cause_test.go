package clients

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/observe"
)

// owned is an object with the owner Site shop.
func owned(kind, name, uid, version string) string {
	return strings.Replace(object(kind, name, uid, version, "u1"), `{"uid":"u1"}`, `{"kind":"Site","name":"shop","uid":"u1"}`, 1)
}

// causes returns the cause of each write of a client, in order, or what it had received before.
func (f *fixture) causes(client string) (list []string) {
	f.Helper()
	calls, events := f.records()
	bySeq := f.events()
	if len(bySeq) != len(events) {
		f.Fatalf("%d events, %d by number", len(events), len(bySeq))
	}
	for _, c := range calls {
		if !c.IsWrite() || !strings.HasPrefix(c.Controller, client) {
			continue
		}
		cause := "none"
		if e := c.Unexplained; e != nil && e.Change == "" {
			cause = "after nothing"
		} else if e != nil {
			cause = "after " + strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Began.Sub(e.Time), e.Object, e.Change))
		}
		if e := bySeq[c.Cause]; e != nil {
			cause = strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Object, e.Change, e.ResourceVersion))
		}
		list = append(list, cause)
	}
	return list
}

// An informer lists, and then watches from the version of the list: what it has found so is a cause, as what a watch
// sends first.
func TestCauseThatAListHad(t *testing.T) { synctest.Test(t, testCauseThatAListHad) }

func testCauseThatAListHad(t *testing.T) {
	f := newFixture(t)
	f.send(call{"POST", sites, kubectlAgent, admin, nil, 201, object("Site", "shop", "u1", "4")})
	for _, path := range []string{sites, deployments} {
		f.operate("GET", path, 200, "{}")
	}
	sendSite := f.watchToTheEnd(sites + "?watch=1&resourceVersion=5")
	f.watchToTheEnd(deployments + "?watch=1&resourceVersion=5")
	time.Sleep(100 * time.Millisecond)
	// It patches the status of what it has found before it goes on, and receives the event of that.
	f.operate("PATCH", sites+"/shop/status", 200, object("Site", "shop", "u1", "8"))
	sendSite(frame("MODIFIED", object("Site", "shop", "u1", "8")))
	time.Sleep(20 * time.Millisecond)
	f.operate("POST", "/api/v1/namespaces/ns/services", 201, owned("Service", "web", "s1", "9"))
	time.Sleep(80 * time.Millisecond)
	f.operate("POST", deployments, 201, owned("Deployment", "web", "d1", "10"))
	f.operate("PUT", deployments+"/old", 200, owned("Deployment", "old", "d2", "11"))                                    // it is in a list, too
	f.operate("DELETE", deployments+"/gone", 404, `{"kind":"Status","status":"Failure","reason":"NotFound","code":404}`) // not
	time.Sleep(2 * time.Second)
	sendSite(frame("ADDED", strings.ReplaceAll(object("Site", "shop", "u1", "12"), "u1", "u2"))) // a new one
	f.operate("POST", deployments, 201, strings.ReplaceAll(owned("Deployment", "new", "d3", "13"), "u1", "u2"))
	time.Sleep(2 * time.Minute)
	f.operate("POST", deployments, 201, owned("Deployment", "late", "d4", "14"))
	found := "Site ns/shop listed"
	want := []string{found, found, found, found, "after nothing", "Site ns/shop added 12", "after 2m0s Site ns/shop added"}
	if diff := cmp.Diff(want, f.causes("shop-operator")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Lists of a client without a watch are reads.
func TestListWithoutAWatchIsNoCause(t *testing.T) {
	f := newFixture(t)
	f.operate("GET", sites, 200, "{}")
	f.watchToTheEnd(deployments + "?watch=1&resourceVersion=5")
	f.operate("POST", deployments, 201, owned("Deployment", "web", "d1", "10"))
	if diff := cmp.Diff([]string{"after nothing"}, f.causes("shop-operator")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A cluster-scoped object may be written for what has changed in any namespace, such as a pending Pod.
func TestLastReceivedBeforeAClusterScopedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		send := f.watchToTheEnd(pods + "?watch=1")
		send(frame("ADDED", object("Pod", "web", "p1", "3")))
		time.Sleep(3 * time.Second)
		f.operate("POST", "/api/v1/nodes", 201, `{"kind":"Node","metadata":{"name":"one","uid":"n1","resourceVersion":"10"}}`)
		if diff := cmp.Diff([]string{"after 3s Pod ns/web added"}, f.causes("shop-operator")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// What a client had received last is not what each namespace has, unless a user has changed that.
func TestLastReceivedIsNoDefaultObject(t *testing.T) {
	synctest.Test(t, testLastReceivedIsNoDefaultObject)
}

func testLastReceivedIsNoDefaultObject(t *testing.T) {
	f := newFixture(t)
	send := f.watchToTheEnd(settings + "?watch=1")
	send(frame("ADDED", object("ConfigMap", "kube-root-ca.crt", "c1", "3")))
	time.Sleep(3 * time.Second)
	f.operate("POST", deployments, 201, owned("Deployment", "web", "d1", "10"))
	send(frame("MODIFIED", object("ConfigMap", "kube-root-ca.crt", "c1", "12")))
	time.Sleep(3 * time.Second)
	f.operate("POST", services, 201, owned("Service", "web", "s1", "13"))
	want := []string{"after nothing", "after 3s ConfigMap ns/kube-root-ca.crt updated"}
	if diff := cmp.Diff(want, f.causes("shop-operator")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A Namespace is the cause of a write in it only if nothing else can be: the answer of every write names it.
func TestNamespaceIsTheLastResort(t *testing.T) { synctest.Test(t, testNamespaceIsTheLastResort) }

func testNamespaceIsTheLastResort(t *testing.T) {
	f := newFixture(t)
	// An object has the name of the namespace by chance, another one is named in the written one. The program has worked
	// for them before it lists the Sites.
	const flavors = "/apis/example.com/v1/flavors"
	sendFlavor := f.watchToTheEnd(flavors + "?watch=1&sendInitialEvents=true")
	for i, name := range []string{"default", "gold-flavor"} {
		flavor := func(version int) string {
			return fmt.Sprintf(`{"kind":"Flavor","metadata":{"name":%q,"uid":"f-%s","resourceVersion":"%d"}}`, name, name, version)
		}
		sendFlavor(frame("ADDED", flavor(3+i)))
		time.Sleep(10 * time.Millisecond)
		f.operate("PUT", flavors+"/"+name, 200, flavor(5+i))
		time.Sleep(10 * time.Millisecond)
	}
	sendSite := f.watchToTheEnd(sites + "?watch=1&sendInitialEvents=true")
	sendNamespace := f.watchToTheEnd("/api/v1/namespaces?watch=1&sendInitialEvents=true")
	sendSite(frame("ADDED", object("Site", "shop", "u1", "7")))
	time.Sleep(100 * time.Millisecond)
	sendNamespace(frame("ADDED", `{"kind":"Namespace","metadata":{"name":"default","uid":"n1","resourceVersion":"2"}}`))
	time.Sleep(100 * time.Millisecond)
	path := strings.Replace(deployments, "/ns/", "/default/", 1)
	for _, o := range []string{strings.Replace(owned("Deployment", "web", "d1", "10"), "{", `{"flavor":"gold-flavor",`, 1), object("Deployment", "other", "d2", "11")} {
		f.operate("POST", path, 201, strings.Replace(o, `"ns"`, `"default"`, 1))
	}
	if diff := cmp.Diff([]string{"Flavor default listed 3", "Flavor gold-flavor listed 4", "Site ns/shop listed 7", "Namespace default listed 2"}, f.causes("shop-operator")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

const (
	routes   = "/apis/example.com/v1/namespaces/ns/routes"
	services = "/api/v1/namespaces/ns/services"
)

// What a program writes for an object that selects another one is not related to it. The event has ended its idleness.
func TestCauseBySelector(t *testing.T) { synctest.Test(t, testCauseBySelector) }

func testCauseBySelector(t *testing.T) {
	f := newFixture(t)
	sendSite := f.watchToTheEnd(sites + "?watch=1")
	sendRoute := f.watchToTheEnd(routes + "?watch=1")
	sendService := f.watchToTheEnd(services + "?watch=1")
	for _, uid := range []string{"u1", "u2"} {
		sendSite(frame("ADDED", object("Site", "site-"+uid, uid, "7")))
	}
	write := func(owner string) {
		t.Helper()
		time.Sleep(4 * time.Millisecond)
		f.operate("PUT", deployments+"/of-"+owner, 200, object("Deployment", "of-"+owner, "d-"+owner, "8", owner))
	}
	version := 100
	writeTwo := func(owner string) { // it receives the event of the first one before the second
		t.Helper()
		time.Sleep(4 * time.Millisecond)
		version++
		service := object("Service", "of-"+owner, "s-"+owner, fmt.Sprint(version), owner)
		f.operate("PUT", services+"/of-"+owner, 200, service)
		sendService(frame("MODIFIED", service))
		write(owner)
	}
	write("u1")
	write("u2")
	for i, idle := range []time.Duration{4 * time.Second, 2 * time.Minute} {
		time.Sleep(idle)
		sendRoute(frame("MODIFIED", object("Route", "main", "r1", fmt.Sprint(20+i))))
		writeTwo("u2")
		writeTwo("u1")
	}
	// Events of a kind that it does not act for come by chance.
	for i := range 2 {
		time.Sleep(20 * time.Second)
		sendRoute(frame("MODIFIED", object("Route", "main", "r1", fmt.Sprint(30+i))))
	}
	write("u1")
	// An event long before is not the cause: a timer may have repeated the work.
	time.Sleep(2 * time.Second)
	sendSite(frame("MODIFIED", object("Site", "site-u1", "u1", "10")))
	write("u1")
	time.Sleep(9 * time.Second)
	write("u1")
	time.Sleep(9 * time.Second)
	sendRoute(frame("MODIFIED", object("Route", "main", "r1", "11")))
	time.Sleep(time.Second)
	write("u1")
	time.Sleep(2 * time.Minute)
	sendRoute(frame("MODIFIED", object("Route", "main", "r1", "12")))
	f.operate("POST", sites, 201, object("Site", "new", "u9", "13")) // of its own accord
	want := slices.Concat([]string{"Site ns/site-u1 added 7", "Site ns/site-u2 added 7"}, slices.Repeat([]string{"Route ns/main updated 20"}, 4), slices.Repeat([]string{"Route ns/main updated 21"}, 4), []string{
		"after 4ms Route ns/main updated", "Site ns/site-u1 updated 10", "after 9.008s Site ns/site-u1 updated", "after 1.004s Route ns/main updated", "after 0s Route ns/main updated",
	})
	if diff := cmp.Diff(want, f.causes("shop-operator")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Workers of several controllers may begin to write for the event that has ended the idleness: their writes overlap.
func TestCauseBySelectorOfTwoWorkers(t *testing.T) { synctest.Test(t, testCauseBySelectorOfTwoWorkers) }

func testCauseBySelectorOfTwoWorkers(t *testing.T) {
	f := newFixture(t)
	sendSite := f.watchToTheEnd(sites + "?watch=1")
	sendRoute := f.watchToTheEnd(routes + "?watch=1")
	write := func(resource string, from, to int) {
		until := func(ms int) { time.Sleep(time.Duration(ms) * time.Millisecond) }
		until(from)
		req := httptest.NewRequestWithContext(t.Context(), "PUT", resource+"/web", strings.NewReader("{}"))
		req.Header.Set("User-Agent", operatorAgent)
		req.RemoteAddr = operatorAgent
		f.clients.Handle(httptest.NewRecorder(), req, operator, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			until(to - from)
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, object("Any", "web", resource, "8", "u1"))
		}))
	}
	sendSite(frame("ADDED", object("Site", "shop", "u1", "7")))
	write(sites, 1, 2)
	time.Sleep(4 * time.Second)
	sendRoute(frame("MODIFIED", object("Route", "main", "r1", "9")))
	var all sync.WaitGroup
	all.Go(func() { write(services, 4, 9) })
	all.Go(func() { write(deployments, 5, 7) })
	all.Go(func() { write("/api/v1/namespaces/ns/configmaps", 6, 12) })
	all.Go(func() { write("/api/v1/namespaces/ns/secrets", 8, 20) })
	all.Wait()
	if diff := cmp.Diff(slices.Repeat([]string{"Route ns/main updated 9"}, 4), f.causes("shop-operator")[1:]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A program that reads an object again after a conflict, and writes it again, does so for the same reason. What has
// modified the object is none.
func TestCauseOfARetry(t *testing.T) { synctest.Test(t, testCauseOfARetry) }

func testCauseOfARetry(t *testing.T) {
	f := newFixture(t)
	sendSite := f.watchToTheEnd(sites + "?watch=1")
	sendDeployment := f.watchToTheEnd(deployments + "?watch=1")
	conflict := `{"kind":"Status","status":"Failure","reason":"Conflict","code":409,"message":"the object has been modified"}`
	update := func(status int, answer string) {
		time.Sleep(5 * time.Millisecond)
		f.operate("PUT", deployments+"/web", status, answer)
	}
	read := func() {
		time.Sleep(time.Millisecond)
		f.operate("GET", deployments+"/web", 200, "{}")
	}
	web := object("Deployment", "web", "d1", "6", "u1")
	f.operate("POST", deployments, 201, web)
	sendDeployment(frame("ADDED", web))
	time.Sleep(3 * time.Second)
	sendSite(frame("MODIFIED", object("Site", "shop", "u1", "7")))
	update(409, conflict)
	sendDeployment(frame("MODIFIED", object("Deployment", "web", "d1", "8", "u1")))
	read()
	update(409, conflict)
	sendDeployment(frame("MODIFIED", object("Deployment", "web", "d1", "9", "u1")))
	read()
	update(200, object("Deployment", "web", "d1", "10", "u1"))
	want := []string{"Site ns/shop updated 7", "Site ns/shop updated 7", "Site ns/shop updated 7"}
	if diff := cmp.Diff(want, f.causes("shop-operator")[1:]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// In a program with several controllers, one waits for a status that another one has written. That it has several is seen
// when two write at once.
func TestCauseThatAnotherControllerHasMade(t *testing.T) {
	synctest.Test(t, testCauseThatAnotherControllerHasMade)
}

func testCauseThatAnotherControllerHasMade(t *testing.T) {
	f := newFixture(t)
	sendSite := f.watchToTheEnd(sites + "?watch=1")
	sendRoute := f.watchToTheEnd(routes + "?watch=1")
	route := func(version string) string { return object("Route", "main", "r1", version, "u1") }
	var both sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		both.Go(func() {
			f.handle("PUT", services+"/"+name, "{}", func(w http.ResponseWriter) {
				time.Sleep(time.Millisecond)
				io.WriteString(w, object("Service", name, name, "5"))
			})
		})
	}
	both.Wait()
	time.Sleep(2 * time.Minute)
	sendSite(frame("ADDED", object("Site", "shop", "u1", "7")))
	time.Sleep(4 * time.Millisecond)
	f.operate("POST", routes, 201, route("8"))
	sendRoute(frame("ADDED", route("8")))
	time.Sleep(4 * time.Millisecond)
	f.operate("PATCH", routes+"/main/status", 200, route("9"))
	sendRoute(frame("MODIFIED", route("9")))
	time.Sleep(time.Millisecond)
	f.operate("PATCH", sites+"/shop", 200, object("Site", "shop", "u1", "10"))
	// A second after an event of another Site, for which it has written at once, it goes on with the Route: it may have
	// waited for that.
	time.Sleep(55 * time.Second)
	for version := range 2 {
		time.Sleep(time.Millisecond)
		updated := route(fmt.Sprint(11 + version))
		f.operate("PATCH", routes+"/main/status", 200, updated)
		sendRoute(frame("MODIFIED", updated))
	}
	time.Sleep(9 * time.Second)
	sendSite(frame("MODIFIED", object("Site", "other", "u2", "20")))
	time.Sleep(4 * time.Millisecond)
	f.operate("PUT", services+"/other", 200, object("Service", "other", "s2", "21", "u2"))
	time.Sleep(time.Second)
	f.operate("PATCH", routes+"/main/status", 200, route("22"))
	want := []string{"Site ns/shop added 7", "Route ns/main added 8", "Route ns/main updated 9"}
	got := f.causes("shop-operator")[2:]
	if last := got[len(got)-1]; last != "after 1.004s Site ns/other updated" {
		t.Errorf("the last cause is %q", last)
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Where the cause of a write of a Namespace is not known, the last event is one in that or outside of any.
func TestLastEventOfANamespace(t *testing.T) {
	f := newFixture(t)
	send := f.watchToTheEnd("/apis/example.com/v1/sites?watch=1")
	send(frame("MODIFIED", strings.ReplaceAll(object("Site", "near", "u1", "7"), `"ns"`, `"one"`)))
	send(frame("MODIFIED", strings.ReplaceAll(object("Site", "far", "u2", "8"), `"ns"`, `"two"`)))
	f.operate("PATCH", namespaces+"/one", 200, `{"kind":"Namespace","metadata":{"name":"one","uid":"n1","resourceVersion":"9"}}`)
	if got := f.causes(""); len(got) != 1 || !strings.HasSuffix(got[0], "Site one/near updated") {
		t.Errorf("got %q", got)
	}
}

// A program that reports its syncs makes the other writes outside of its controllers, as a test that runs an operator: they may
// follow from an event only if the program has received one of a related object.
func TestWriteBesideReportedSyncs(t *testing.T) { synctest.Test(t, testWriteBesideReportedSyncs) }

func testWriteBesideReportedSyncs(t *testing.T) {
	f := newReportFixture(t)
	defer f.observer.Close()
	send := f.watchToTheEnd(sites + "?watch=1")
	sendRoute := f.watchToTheEnd(routes + "?watch=1")
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
	send(frame("ADDED", object("Site", "shop", "u1", "7")))
	time.Sleep(2 * time.Minute)
	f.report(Report{Session: "s", Number: 2, Controllers: []QueueReport{siteQueue()}})
	sendRoute(frame("ADDED", object("Route", "main", "r1", "8")))
	f.operate("PUT", sites+"/shop", 200, object("Site", "shop", "u1", "9"))
	f.operate("POST", sites, 201, object("Site", "other", "u2", "10"))
	if diff := cmp.Diff([]string{"after 0s Route ns/main added", "none"}, f.causes("shop-operator")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A deletion in a reported sync begins when the sync makes it: what follows from it is not by a timer.
func TestDeletionInAReportedSyncHasAnOrigin(t *testing.T) {
	f := newReportFixture(t)
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
	req := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, pods, nil)
	req.Header.Set("User-Agent", operatorAgent)
	req.Header.Set(SyncHeader, "s/site/4")
	req.RemoteAddr = operatorAgent
	f.clients.Handle(httptest.NewRecorder(), req, operator, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		write := observe.BeginWrite()
		write.Stored(observe.Written{Resource: "pods", Namespace: "ns", Name: "web", ResourceVersion: "100", Deleted: true})
		write.End()
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"kind":"PodList","metadata":{"resourceVersion":"99"},"items":[]}`)
	}))
	cl, _ := f.clients.clientOf(req, operator)
	if v, found := cl.written.of(&event{sentEvent: &sentEvent{version: "100"}}); !found || v.origin.IsZero() {
		t.Errorf("%+v, found: %v", v, found)
	}
}

// numbered is an object with a number in its name, whose Site, if it is none itself, has that number too.
func numbered(kind string, i, version int) string {
	name := fmt.Sprintf("%s-%02d", strings.ToLower(kind), i)
	if kind == "Deployment" {
		return object(kind, name, fmt.Sprintf("d%02d", i), fmt.Sprint(version), fmt.Sprintf("u%02d", i))
	}
	return object(kind, name, fmt.Sprintf("u%02d", i), fmt.Sprint(version))
}

// Keys wait in the queue of a program that is busy. What happens in the namespace meanwhile does not wake it.
func TestCausesOfABacklog(t *testing.T) {
	for _, beginning := range []string{"running", "started"} {
		t.Run(beginning, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testCausesOfABacklog(t, beginning == "started") })
		})
	}
}

func testCausesOfABacklog(t *testing.T, started bool) {
	f := newFixture(t)
	initial := ""
	if started {
		initial = "&sendInitialEvents=true"
	}
	sendDeployment := f.watchToTheEnd(deployments + "?watch=1")
	sendRoute := f.watchToTheEnd(routes + "?watch=1")
	f.operate("POST", services, 201, object("Service", "hook", "s1", "5"))
	time.Sleep(time.Minute)
	sendSite := f.watchToTheEnd(sites + "?watch=1" + initial)
	for i := range 30 {
		sendSite(frame("ADDED", numbered("Site", i, 100+i)))
	}
	var want []string
	for i := range 30 {
		time.Sleep(20 * time.Millisecond)
		sendRoute(frame("MODIFIED", object("Route", "main", "r1", fmt.Sprint(1000+i))))
		if i > 0 { // a controller goes on with the last one
			sendDeployment(frame("MODIFIED", numbered("Deployment", i-1, 400+i)))
		}
		time.Sleep(5 * time.Millisecond)
		f.operate("POST", deployments, 201, numbered("Deployment", i, 200+i))
		sendDeployment(frame("ADDED", numbered("Deployment", i, 200+i)))
		time.Sleep(25 * time.Millisecond)
		f.operate("PATCH", fmt.Sprintf("%s/site-%02d/status", sites, i), 200, numbered("Site", i, 300+i))
		change := "added"
		if started {
			change = "listed"
		}
		want = append(want, slices.Repeat([]string{fmt.Sprintf("Site ns/site-%02d %s %d", i, change, 100+i)}, 2)...)
	}
	if diff := cmp.Diff(want, f.causes("shop-operator")[1:]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A sync may take long, as one that calls another system.
func TestCauseOfASlowSync(t *testing.T) { synctest.Test(t, testCauseOfASlowSync) }

func testCauseOfASlowSync(t *testing.T) {
	f := newFixture(t)
	sendSite := f.watchToTheEnd(sites + "?watch=1")
	sendRoute := f.watchToTheEnd("/apis/example.com/v1/routes?watch=1")
	var want []string
	for i, route := range []string{object("Route", "unrelated", "r1", "10"), strings.Replace(object("Route", "elsewhere", "r2", "11"), `"ns"`, `"other"`, 1)} {
		sendSite(frame("ADDED", numbered("Site", i, 20+i)))
		time.Sleep(1450 * time.Millisecond)
		sendRoute(frame("ADDED", route))
		time.Sleep(50 * time.Millisecond)
		f.operate("POST", deployments, 201, numbered("Deployment", i, 30+i))
		time.Sleep(5 * time.Second)
		want = append(want, fmt.Sprintf("Site ns/site-%02d added %d", i, 20+i))
	}
	// What was received elsewhere is not named.
	sendRoute(frame("ADDED", strings.Replace(object("Route", "elsewhere", "r3", "12"), `"ns"`, `"other"`, 1)))
	f.operate("POST", deployments, 201, object("Deployment", "other", "d9", "40", "u9"))
	want = append(want, "after 6.5s Site ns/site-01 added")
	if diff := cmp.Diff(want, f.causes("shop-operator")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A timer repeats the work for the objects, while other clients change what the program watches, too.
func TestCausesOfTimers(t *testing.T) { synctest.Test(t, testCausesOfTimers) }

func testCausesOfTimers(t *testing.T) {
	f := newFixture(t)
	sendSite := f.watchToTheEnd(sites + "?watch=1")
	sendRoute := f.watchToTheEnd(routes + "?watch=1")
	var others sync.WaitGroup
	others.Go(func() {
		for i := range 100 { // at other times in each round
			time.Sleep(470 * time.Millisecond)
			sendRoute(frame("MODIFIED", object("Route", "main", "r1", fmt.Sprint(5000+i))))
		}
	})
	for i := range 10 {
		sendSite(frame("ADDED", numbered("Site", i, 100+i)))
	}
	var want []string
	for round := range 10 {
		for i := range 10 {
			time.Sleep(20 * time.Millisecond)
			version := 200 + 10*round + i
			f.operate("PATCH", fmt.Sprintf("%s/site-%02d/status", sites, i), 200, numbered("Site", i, version))
			sendSite(frame("MODIFIED", numbered("Site", i, version)))
			if round == 0 {
				want = append(want, fmt.Sprintf("Site ns/site-%02d", i))
			}
		}
		time.Sleep(5 * time.Second)
	}
	others.Wait()
	got := f.causes("shop-operator")
	for i, cause := range got { // which event of the Site does not matter
		got[i] = strings.Join(strings.Fields(cause)[:2], " ")
	}
	got = slices.DeleteFunc(got, func(cause string) bool { return strings.HasPrefix(cause, "after ") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A program that deletes one object after the other does not do so because of the last deletion.
func TestOwnDeletionIsNoCause(t *testing.T) { synctest.Test(t, testOwnDeletionIsNoCause) }

func testOwnDeletionIsNoCause(t *testing.T) {
	f := newFixture(t)
	sendRoute := f.watchToTheEnd(routes + "?watch=1")
	route := func(i, version int) string {
		return object("Route", fmt.Sprint("r", i), fmt.Sprint("u", i), fmt.Sprint(version))
	}
	var want []string
	for i := range 5 {
		sendRoute(frame("ADDED", route(i, 10+i)))
		want = append(want, fmt.Sprintf("Route ns/r%d added %d", i, 10+i))
	}
	f.operate("POST", services, 201, object("Service", "hook", "s1", "5"))
	time.Sleep(30 * time.Second)
	remove := func(i, version int) {
		req := httptest.NewRequestWithContext(t.Context(), "DELETE", fmt.Sprintf("%s/r%d", routes, i), nil)
		req.Header.Set("User-Agent", operatorAgent)
		req.RemoteAddr = operatorAgent
		f.clients.Handle(httptest.NewRecorder(), req, operator, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			write := observe.BeginWrite()
			write.Stored(observe.Written{Resource: "routes.example.com", Namespace: "ns", Name: fmt.Sprint("r", i), ResourceVersion: fmt.Sprint(version), Deleted: true})
			write.End()
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"kind":"Status","status":"Success"}`)
		}))
		sendRoute(frame("DELETED", route(i, version)))
	}
	for i := range 5 {
		remove(i, 20+i)
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(2 * time.Minute)
	remove(9, 30)
	time.Sleep(20 * time.Millisecond)
	f.operate("POST", services, 201, object("Service", "other", "s2", "31"))
	got := f.causes("shop-operator")
	if diff := cmp.Diff(want, got[1:6]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if last := got[len(got)-1]; !strings.HasSuffix(last, "added") {
		t.Errorf("another client is said to have made %q", last)
	}
}

// What a selector excludes is not found by the list of a watch.
func TestListWithASelectorHasNotFoundOthers(t *testing.T) {
	for selector, want := range map[string]string{"app=mine": "after nothing", "!instance": "Secret ns/plain listed"} {
		f := newFixture(t)
		const secrets = "/api/v1/namespaces/ns/secrets"
		query := "labelSelector=" + url.QueryEscape(selector)
		f.operate("GET", secrets+"?"+query, 200, "{}")
		f.watchToTheEnd(secrets + "?watch=1&resourceVersion=5&" + query)
		f.operate("PATCH", secrets+"/plain", 200, object("Secret", "plain", "s1", "10"))
		if diff := cmp.Diff([]string{want}, f.causes("shop-operator")); diff != "" {
			t.Errorf("%s: -want +got:\n%s", selector, diff)
		}
	}
}

// A ConfigMap that several objects of a Site mount is changed soon after the program has found the Site in order.
func TestListedOwnerIsNotTheCauseOfLaterWork(t *testing.T) {
	synctest.Test(t, testListedOwnerIsNotTheCauseOfLaterWork)
}

func testListedOwnerIsNotTheCauseOfLaterWork(t *testing.T) {
	f := newFixture(t)
	const configMaps = "/api/v1/namespaces/ns/configmaps"
	sendSite := f.watchToTheEnd(sites + "?watch=1&sendInitialEvents=true")
	sendSite(frame("ADDED", object("Site", "shop", "u1", "4")))
	sendConfigMap := f.watchToTheEnd(configMaps + "?watch=1")
	time.Sleep(15 * time.Second)
	sendConfigMap(frame("MODIFIED", object("ConfigMap", "settings", "c1", "9")))
	for _, name := range []string{"web-a", "web-b"} {
		time.Sleep(4 * time.Millisecond)
		answer := strings.Replace(owned("Deployment", name, "d-"+name, "10"), "{", `{"mounts":"settings",`, 1)
		f.operate("PATCH", deployments+"/"+name, 200, answer)
	}
	if diff := cmp.Diff(slices.Repeat([]string{"ConfigMap ns/settings updated 9"}, 2), f.causes("shop-operator")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The event that ends an idleness is the cause of all that follows, whatever happens meanwhile, and however long ago an
// event of its kind had no effect. If it is not the cause of the first write, a later event is that of none.
func TestOnlyTheFirstWriteAfterAnIdlenessIsWoken(t *testing.T) {
	synctest.Test(t, testOnlyTheFirstWriteAfterAnIdlenessIsWoken)
}

func testOnlyTheFirstWriteAfterAnIdlenessIsWoken(t *testing.T) {
	f := newFixture(t)
	sendSite := f.watchToTheEnd(sites + "?watch=1")
	sendRoute := f.watchToTheEnd(routes + "?watch=1")
	sendService := f.watchToTheEnd(services + "?watch=1")
	sendSite(frame("ADDED", object("Site", "shop", "u1", "4")))
	sendRoute(frame("ADDED", object("Route", "main", "r1", "5")))
	version := 100
	write := func() {
		for i := range 5 {
			version++
			f.operate("PUT", fmt.Sprintf("%s/web-%d", deployments, i), 200, owned("Deployment", fmt.Sprint("web-", i), fmt.Sprint("d", i), fmt.Sprint(version)))
			time.Sleep(40 * time.Millisecond)
			sendService(frame("ADDED", object("Service", fmt.Sprint("s", version), fmt.Sprint("s", version), fmt.Sprint(1000+version))))
			time.Sleep(10 * time.Millisecond)
		}
	}
	for i := range 2 {
		time.Sleep(62 * time.Second)
		sendRoute(frame("MODIFIED", object("Route", "main", "r1", fmt.Sprint(6+i))))
		time.Sleep(time.Duration(4+i*200) * time.Millisecond)
		write()
	}
	got := f.causes("shop-operator")
	if diff := cmp.Diff(slices.Repeat([]string{"Route ns/main updated 6"}, 5), got[:5]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, cause := range got[5:] {
		if !strings.HasPrefix(cause, "after ") {
			t.Errorf("got %q, want none", got[5:])
			break
		}
	}
}

// A client reacts to an event while that is still being written to it.
func TestCauseThatIsBeingSent(t *testing.T) {
	f := newFixture(t)
	react := func() { f.operate("POST", deployments, 201, owned("Deployment", "web", "d1", "8")) }
	req := httptest.NewRequestWithContext(t.Context(), "GET", sites+"?watch=1", nil)
	req.Header.Set("User-Agent", operatorAgent)
	f.clients.Handle(&reactingClient{httptest.NewRecorder(), react}, req, operator, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json;stream=watch")
		io.WriteString(w, frame("ADDED", object("Site", "shop", "u1", "7")))
	}))
	if diff := cmp.Diff([]string{"Site ns/shop added 7"}, f.causes("shop-operator")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// reactingClient reads and reacts to what is written before Write returns.
type reactingClient struct {
	*httptest.ResponseRecorder
	react func()
}

func (c *reactingClient) Write(p []byte) (int, error) {
	n, err := c.ResponseRecorder.Write(p)
	c.react()
	return n, err
}

// client-go sends the options of a deletion as its body.
func TestDryRunOfADeletion(t *testing.T) {
	proto, err := (&metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		method, query, body string
		want                bool
	}{
		"query":      {"DELETE", "?dryRun=All", "", true},
		"JSON":       {"DELETE", "", `{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`, true},
		"spaces":     {"DELETE", "", `{"propagationPolicy": "Orphan", "dryRun": ["All"]}`, true},
		"protobuf":   {"DELETE", "", string(proto), true},
		"no dry run": {"DELETE", "", `{"kind":"DeleteOptions","apiVersion":"v1","dryRun":[]}`, false},
		"no body":    {"DELETE", "", "", false},
		"an object":  {"PUT", "", `{"data":{"dryRun":"All"}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			req := httptest.NewRequest(test.method, settings+"/x"+test.query, strings.NewReader(test.body))
			r := newRequest(f.observer, f.clients.frames, newClient("shop", f.clients.config.Objects, new(atomic.Int64)), req, &observe.Caller{})
			_, _ = io.Copy(io.Discard, req.Body)
			if got := r.isDryRun(); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// A standby asks for the Lease that another process holds, which does not count as work.
func TestRequestsForLeasesAreNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.operate("GET", sites, 200, "{}")
		worked := time.Now()
		for range 3 {
			time.Sleep(2 * time.Second)
			f.operate("GET", lease, 200, "{}")
		}
		list := f.clients.Snapshot()
		if len(list) != 1 || !list[0].LastWork.Equal(worked) || !list[0].LastTime.Equal(time.Now()) {
			t.Errorf("%+v", list)
		}
	})
}
