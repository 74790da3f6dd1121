package clients

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A program that has a user agent for each of its controllers watches with another one, over the same connection.
const watchingAgent, issuingAgent, approvingAgent = "certs/v1", "certs-issuing/v1", "certs-approving/v1"

// splitScript is a script of such a program.
type splitScript struct{ *script }

func newSplitScript(t *testing.T) splitScript {
	return splitScript{&script{fixture: newFixture(t), truth: map[string]string{}, conn: "10.0.0.1:4000"}}
}

func (s splitScript) as(agent string) *script {
	s.agent = agent
	return s.script
}

func (s splitScript) client(program string) observe.Client {
	return s.clientNamed(program + " (" + operator.Name + ")")
}

func (s splitScript) clientOf(program string) *client {
	return s.clients.byName[program+" ("+operator.Name+")"]
}

func certificate(version string) string { return object("Certificate", "web", "c1", version) }

const (
	certificates = "/apis/example.com/v1/namespaces/ns/certificates"
	requests     = "/apis/example.com/v1/namespaces/ns/requests"
	secrets      = "/api/v1/namespaces/ns/secrets"
)

func TestCauseReceivedByAnotherUserAgent(t *testing.T) {
	synctest.Test(t, testCauseReceivedByAnotherUserAgent)
}

func testCauseReceivedByAnotherUserAgent(t *testing.T) {
	s := newSplitScript(t)
	sendCertificate := s.as(watchingAgent).watch(certificates + "?watch=1")
	sendRequest := s.watch(requests + "?watch=1")
	request := func(version string) string { return object("Request", "web-1", "r1", version, "c1") }
	sendCertificate("ADDED", certificate("7"))
	ms(4)
	s.as(issuingAgent).write("", "POST", requests, request("8"))
	sendRequest("ADDED", request("8"))
	ms(4)
	// What one controller has written is news for another one.
	s.as(approvingAgent).write("", "PATCH", requests+"/web-1/status", request("9"))
	ms(150)
	sendRequest("MODIFIED", request("9"))
	ms(4)
	s.as(issuingAgent).write("", "POST", secrets, object("Secret", "web", "s1", "10", "c1"))
	ms(4)
	s.write("", "PATCH", certificates+"/web/status", certificate("11"))
	ms(60_000)
	ms(60_000)
	s.write("", "POST", secrets, object("Secret", "other", "s2", "12"))
	want := []string{"Certificate ns/web added 7", "Request ns/web-1 added 8", "Request ns/web-1 updated 9", "Request ns/web-1 updated 9", "after 2m0.01s Request ns/web-1 updated"}
	if diff := cmp.Diff(want, s.causes("certs")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	calls, events := s.records()
	for _, e := range events {
		if e.Controller != "certs ("+operator.Name+")" {
			t.Errorf("%s was sent to %s", e.Object, e.Controller)
		}
	}
	if last := calls[len(calls)-1].Unexplained; last == nil || last.Client != "certs ("+operator.Name+")" {
		t.Errorf("the last event was received by %+v", last)
	}
}

// Only the events of its own process are the cause of a write.
func TestCauseReceivedByAnotherProcess(t *testing.T) {
	for name, set := range map[string]func(s splitScript){
		"connection": func(s splitScript) { s.conn = "10.0.0.1:4001" },
		"HTTP/1.1":   func(s splitScript) { s.conn = "" },
		"user":       func(s splitScript) { s.who = admin },
		"proxy":      func(s splitScript) { s.forwarded = "127.0.0.1" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSplitScript(t)
				send := s.as(watchingAgent).watch(certificates + "?watch=1")
				send("ADDED", certificate("7"))
				s.agent = issuingAgent
				set(s)
				s.write("", "POST", secrets, object("Secret", "web", "s1", "10", "c1"))
				if got := s.causes(""); !slices.Equal(got, []string{"none"}) {
					t.Errorf("got %q", got)
				}
				for _, c := range s.clients.Snapshot() {
					if c.SharesConnection != nil || c.Connected != (len(c.Watches) > 0) {
						t.Errorf("%+v", c)
					}
				}
			})
		})
	}
}

// Only user agents that look like those of one program are joined: a test and the operators in it share a connection, too.
func TestProgramsThatShareAConnection(t *testing.T) {
	for _, test := range []struct {
		watching, writing string
		want              bool
	}{
		{"certs", "certs-issuing", true},
		{"certs-watching", "certs", true},
		{"certs-watching", "certs-issuing", false}, // as far as is known
		{"certs", "certsissuing", false},
		{"operator", "operator.test", false},
		{"operator", "operator-e2e.test", false},
		{"operator-e2e.test", "operator", false},
		{"operator.test", "operator.test-issuing", true},
		{"operator", "shop.test", false},
		{"ctrlplanetest", "shop.test", false},
		{"ctrlplanetest", "ctrlplanetest-operator", false},
	} {
		t.Run(test.watching+" "+test.writing, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSplitScript(t)
				send := s.as(test.watching + "/v1").watch(certificates + "?watch=1")
				send("ADDED", certificate("7"))
				s.as(test.writing+"/v1").write("", "POST", secrets, object("Secret", "web", "s1", "10", "c1"))
				ms(20_000)
				s.write("", "POST", secrets, object("Secret", "other", "s2", "11"))
				calls, _ := s.records()
				if c := s.client(test.writing); c.Connected != test.want || c.IsWatching() != test.want {
					t.Errorf("%+v", c)
				}
				var writes []*observe.Called
				for _, c := range calls {
					if c.IsWrite() {
						writes = append(writes, c)
					}
				}
				if first, last := writes[0], writes[1]; (first.Cause != 0) != test.want || (last.Unexplained != nil) != test.want || first.Unexplained != nil {
					t.Errorf("%+v %+v", first, last)
				}
			})
		})
	}
}

// An operator with a user agent of its own, as kueue, has another one in leader election. A test that has the operator in its
// process is another program.
func TestClientsOfOneOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSplitScript(t)
		s.as("kueue/v1").watch(certificates + "?watch=1")
		const leases = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
		for _, agent := range []string{"manager/v1/leader-election", "e2e.test/v1", "other.test/v1"} {
			s.as(agent).write("", "PATCH", leases+"/kueue", object("Lease", "kueue", "l1", "7"))
		}
		for name, want := range map[string]string{"kueue": "manager", "manager": "kueue", "e2e.test": "other.test", "other.test": "e2e.test"} {
			if got := s.client(name).SharesConnection; !slices.Equal(got, []string{want + " (" + operator.Name + ")"}) {
				t.Errorf("%s: %q, want %s", name, got, want)
			}
		}
	})
}

// What one client has watched before does not hide what another one of its program watches.
func TestCauseReceivedByAnotherUserAgentAfterAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSplitScript(t)
		send := s.as(watchingAgent).watch(certificates + "?watch=1")
		_, end := s.as(issuingAgent).watched(certificates + "?watch=1")
		end()
		ms(1000)
		send("ADDED", certificate("7"))
		ms(4)
		s.as(issuingAgent).write("", "POST", secrets, object("Secret", "web", "s1", "10", "c1"))
		if got := s.causes(""); !slices.Equal(got, []string{"Certificate ns/web added 7"}) {
			t.Errorf("got %q", got)
		}
	})
}

// A client whose process watches is connected, until the connection ends.
func TestClientsThatShareAConnection(t *testing.T) {
	synctest.Test(t, testClientsThatShareAConnection)
}

func testClientsThatShareAConnection(t *testing.T) {
	s := newSplitScript(t)
	began := time.Now()
	_, end := s.as(watchingAgent).watched(certificates + "?watch=1")
	ms(1000)
	s.as(issuingAgent).write("", "POST", secrets, object("Secret", "web", "s1", "10"))
	s.as(approvingAgent).write("", "POST", secrets, object("Secret", "other", "s2", "11"))
	all := []string{"certs", "certs-approving", "certs-issuing"}
	expect := func(isWatching bool, watchEnded time.Time) {
		t.Helper()
		for _, name := range all {
			c := s.client(name)
			var others []string
			for _, other := range all {
				if other != name {
					others = append(others, other+" ("+operator.Name+")")
				}
			}
			if diff := cmp.Diff(others, c.SharesConnection); diff != "" {
				t.Errorf("%s: -want +got:\n%s", name, diff)
			}
			if c.Connected != isWatching || c.WatchBegan.Equal(began) != isWatching || !c.WatchEnded.Equal(watchEnded) {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
	expect(true, time.Time{})
	end()
	ended := time.Now()
	expect(false, ended)
	ms(300_000)
	expect(false, ended)
	// The process opens another connection, over which only one of them has sent something yet.
	s.conn = "10.0.0.1:4002"
	_, end = s.as(watchingAgent).watched(certificates + "?watch=1")
	s.as(issuingAgent).write("", "POST", secrets, object("Secret", "third", "s3", "12"))
	if c := s.client("certs-issuing"); !c.Connected || !slices.Equal(c.SharesConnection, []string{"certs (" + operator.Name + ")"}) {
		t.Errorf("%+v", c)
	}
	if c := s.client("certs-approving"); c.Connected || !slices.Equal(c.SharesConnection, []string{"certs (" + operator.Name + ")"}) {
		t.Errorf("%+v", c)
	}
	end()
	synctest.Wait()
	ms(61_000)
	synctest.Wait()
	s.clients.connections.byKey.Range(func(key, _ any) bool {
		t.Errorf("%v is kept", key)
		return true
	})
}

// What is said of a connection with very many user agents is bounded.
func TestManyClientsThatShareAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSplitScript(t)
		s.as(watchingAgent).watch(certificates + "?watch=1")
		for i := range 2 * maxSharing {
			s.as(fmt.Sprintf("certs-%d/v1", i)).write("", "POST", secrets, object("Secret", "web", "s1", "10"))
		}
		for _, c := range s.clients.Snapshot() {
			if n := len(c.SharesConnection); n > maxSharing || c.Name == "certs ("+operator.Name+")" && n != maxSharing {
				t.Errorf("%s: %d others", c.Name, n)
			}
		}
	})
}

// A connection with a lasting watch, over which many user agents watch once, keeps few of them, for a minute.
func TestWatchersOfAConnectionAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSplitScript(t)
		s.as(watchingAgent).watch(certificates + "?watch=1")
		watchers := func() (n int) {
			s.clients.connections.byKey.Range(func(_, found any) bool {
				conn := found.(*connection)
				conn.mu.Lock()
				defer conn.mu.Unlock()
				n += len(conn.watchers)
				return true
			})
			return n
		}
		for i := range 2 * maxWatchers {
			_, end := s.as(fmt.Sprintf("certs-%d/v1", i)).watched(certificates + "?watch=1")
			end()
		}
		if n := watchers(); n != maxWatchers {
			t.Errorf("%d clients are kept, want %d", n, maxWatchers)
		}
		time.Sleep(maxReaction)
		synctest.Wait()
		if n := watchers(); n != 1 {
			t.Errorf("%d clients are kept after %v", n, maxReaction)
		}
	})
}

// Of the clients that write because of an event, an event remembers the last ones.
func TestWritersOfAnEventAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSplitScript(t)
		send := s.as(watchingAgent).watch(certificates + "?watch=1")
		send("ADDED", certificate("7"))
		for i := range 3 * keptRuns {
			s.as(fmt.Sprintf("certs-%d/v1", i)).write("", "POST", secrets, object("Secret", "web", "s1", fmt.Sprint(10+i), "c1"))
		}
		e := s.clientOf("certs").watches[0].events[0]
		if len(e.writes) != keptRuns || e.writes[keptRuns-1].by != s.client(fmt.Sprint("certs-", 3*keptRuns-1)).Name {
			t.Errorf("the runs of %d clients are kept: %+v", len(e.writes), e.writes)
		}
	})
}

// A process has two user agents, the next one has the second of these and another one, and so on. Their clients do not keep
// each other in memory, although the first process still runs.
func TestForgottenClientsOfConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSplitScript(t)
		watchOnce := func(agent string) {
			send, end := s.as(agent + "/v1").watched(certificates + "?watch=1")
			send("ADDED", certificate("7"))
			s.write("", "POST", secrets, object("Secret", "web", "s1", "10", "c1"))
			end()
		}
		const first = "10.0.0.1:0"
		s.conn = first
		watchOnce("certs")
		var clients []weak.Pointer[client]
		for i := range maxClients + 50 {
			for j := range 2 {
				agent := fmt.Sprintf("certs-%d", i+j)
				watchOnce(agent)
				if j == 0 {
					clients = append(clients, weak.Make(s.clientOf(agent)))
				}
			}
			s.conn = first
			s.as(watchingAgent).request("GET", certificates, "", func(http.ResponseWriter) {})
			s.conn = fmt.Sprint("10.0.0.1:", i+1)
		}
		time.Sleep(2 * maxReaction)
		synctest.Wait()
		runtime.GC()
		clients = slices.DeleteFunc(clients, func(cl weak.Pointer[client]) bool { return cl.Value() == nil })
		runtime.KeepAlive(s)
		if n := len(clients); n > maxClients {
			t.Errorf("%d clients are kept", n)
		}
	})
}

// A client that is forgotten is not named.
func TestForgottenClientSharesNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSplitScript(t)
		s.as(watchingAgent).watch(certificates + "?watch=1")
		_, end := s.as(issuingAgent).watched(certificates + "?watch=1")
		end()
		s.clients.mu.Lock()
		delete(s.clients.byName, "certs-issuing ("+operator.Name+")")
		s.clients.mu.Unlock()
		if got := s.client("certs").SharesConnection; got != nil {
			t.Errorf("got %q", got)
		}
	})
}
