package clients

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/peer"
)

// processKey is the key of the process that sends a request of a script, in its context.
type processKey struct{}

func (s *script) isProcess(name string) {
	s.process = name
	s.clients.processOf = func(req *http.Request) *peer.Process {
		if name, _ := req.Context().Value(processKey{}).(string); name != "" {
			return peer.Known(name)
		}
		return nil
	}
}

func (s *script) withProcess(ctx context.Context) context.Context {
	return context.WithValue(ctx, processKey{}, s.process)
}

func (s *script) list(path string) {
	s.request("GET", path, "", func(w http.ResponseWriter) { ms(1); io.WriteString(w, "{}") })
}

const (
	siteListed = "Site ns/shop listed"
	updated    = "Site ns/shop updated 7"
)

// What one process of a program has received is not the cause of what another one writes.
func TestCausesOfProcesses(t *testing.T) {
	for name, test := range map[string]struct {
		play func(s *script)
		want tally
	}{
		"restarted":                   {playRestart, tally{right: 4}},
		"another one watches":         {playOtherWatches, tally{right: 2}},
		"a worker of the watcher":     {playWorker, tally{right: 4}},
		"a worker that lists":         {playListingWorker, tally{right: 1}},
		"a worker of two watchers":    {playWorkerOfTwo, tally{right: 1}},
		"both watch":                  {playBothWatch, tally{right: 3}},
		"another one failed":          {playOtherFailed, tally{right: 2}},
		"another one had a conflict":  {playOtherConflict, tally{right: 2}},
		"another one's watch goes on": {playOtherContinues, tally{right: 1}},
		"a watch ends in long work":   {playLongWorkOfProcess, tally{right: 4}},
		"and none is known":           {playLongWorkOfUnknown, tally{right: 4}},
		"before a restore":            {playBeforeRestore, tally{right: 4}},
		"a failure before a restore":  {playFailureBeforeRestore, tally{right: 2}},
		"a list before a restore":     {playListBeforeRestore, tally{right: 1}},
		"another user":                {func(s *script) { playOtherUser(s, "1") }, tally{right: 4}},
		"another user's process":      {func(s *script) { playOtherUser(s, "2") }, tally{right: 4}},
		"another user's namespace":    {playOtherUsersNamespace, tally{right: 1}},
		"another user in a test":      {playOtherUserOfTest, tally{right: 1}},
		"users of a web page":         {func(s *script) { playBackend(s, false) }, tally{right: 2}},
		"impersonated by a web page":  {func(s *script) { playBackend(s, true) }, tally{right: 2}},
		"an impersonated user":        {func(s *script) { playImpersonation(s, "jane", "jane") }, tally{right: 1}},
		"an impersonated account":     {func(s *script) { playImpersonation(s, "", pusher.Name) }, tally{right: 1}},
		"many connections":            {playConnections, tally{right: 5}},
		"and another process":         {playConnectionsOfOthers, tally{right: 2}},
		"of unknown processes":        {playConnectionsOfUnknown, tally{right: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runScript(t, test.play); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// It lists, works for what it has found, and watches then.
func playRestart(s *script) {
	s.isProcess("1")
	send, end := s.watched(sites + "?watch=1")
	send("MODIFIED", site(7))
	ms(4)
	s.write(updated, "PATCH", sites+"/shop/status", site(8))
	send("MODIFIED", site(8))
	end()
	ms(500)
	s.isProcess("2")
	s.list(sites)
	ms(4)
	s.write(siteListed, "POST", settings, owned("ConfigMap", "of-shop", "c1", "12"))
	ms(4)
	s.write(siteListed, "PATCH", sites+"/shop/status", site(13))
	s.watch(sites + "?watch=1&resourceVersion=11")
	ms(4)
	s.write(siteListed, "POST", services, owned("Service", "web", "s1", "14"))
}

func playOtherWatches(s *script) {
	s.isProcess("1")
	s.watch(sites+"?watch=1")("MODIFIED", site(7))
	s.isProcess("2")
	ms(4)
	s.write("", "POST", settings, object("ConfigMap", "x", "c1", "12"))
	s.isProcess("1")
	s.write(updated, "PATCH", sites+"/shop/status", site(13))
}

// One process watches, and children of it write.
func playWorker(s *script) {
	s.isProcess("1")
	send := s.watch(sites + "?watch=1")
	send("MODIFIED", site(7))
	ms(16)
	s.isProcess("2")
	s.write(updated, "POST", settings, ofShop("ConfigMap", 12))
	ms(4)
	s.write(updated, "PATCH", sites+"/shop/status", site(13))
	ms(4)
	s.write("", "POST", settings, object("ConfigMap", "x", "c1", "14"))
	ms(3000)
	send("MODIFIED", site(15))
	ms(16)
	s.isProcess("3")
	s.write("Site ns/shop updated 15", "POST", services, ofShop("Service", 16))
}

func playListingWorker(s *script) {
	s.isProcess("1")
	s.watch(sites+"?watch=1")("MODIFIED", site(7))
	s.isProcess("2")
	s.list(deployments)
	ms(4)
	s.write("", "POST", settings, ofShop("ConfigMap", 12))
}

func playWorkerOfTwo(s *script) {
	s.isProcess("1")
	s.watch(sites+"?watch=1")("MODIFIED", site(7))
	s.isProcess("2")
	s.watch(deployments + "?watch=1")
	s.isProcess("3")
	ms(4)
	s.write("", "POST", settings, ofShop("ConfigMap", 12))
}

func playBothWatch(s *script) {
	s.isProcess("1")
	sendFirst := s.watch(sites + "?watch=1")
	s.isProcess("2")
	sendSecond := s.watch(sites + "?watch=1")
	sendFirst("MODIFIED", site(7))
	ms(4)
	s.write("", "POST", settings, owned("ConfigMap", "of-shop", "c1", "12"))
	ms(3000)
	sendSecond("MODIFIED", site(7))
	ms(4)
	s.write(updated, "PATCH", sites+"/shop/status", site(13))
	s.isProcess("1")
	ms(3000)
	s.write(updated, "POST", services, owned("Service", "web", "s1", "14"))
}

func playOtherFailed(s *script) {
	s.isProcess("1")
	send, end := s.watched(sites + "?watch=1")
	send("ADDED", site(7))
	ms(4)
	s.fail(siteAdded, "PATCH", sites+"/shop/status", http.StatusForbidden, forbidden)
	end()
	s.isProcess("2")
	s.watch(deployments + "?watch=1")
	ms(20_000)
	s.write("", "PATCH", sites+"/shop/status", site(8))
}

func playOtherConflict(s *script) {
	s.isProcess("1")
	send, end := s.watched(sites + "?watch=1")
	send("ADDED", site(7))
	ms(4)
	s.fail(siteAdded, "PUT", sites+"/shop/status", http.StatusConflict, `{"kind":"Status","status":"Failure","reason":"Conflict","code":409,"message":"the object has been modified"}`)
	end()
	s.isProcess("2")
	s.watch(deployments + "?watch=1")
	s.list(sites + "/shop")
	ms(4)
	s.write("", "PUT", sites+"/shop/status", site(8))
}

// A process that is started again watches from the last version that the one before has seen.
func playOtherContinues(s *script) {
	s.isProcess("1")
	send, end := s.watched(sites + "?watch=1")
	send("MODIFIED", site(7))
	end()
	s.isProcess("2")
	s.watch(sites + "?watch=1&resourceVersion=7")
	ms(20_000)
	s.write("", "PATCH", sites+"/shop/status", site(8))
}

func playLongWorkOfProcess(s *script) {
	s.isProcess("1")
	playLongWorkOfUnknown(s)
}

func playLongWorkOfUnknown(s *script) {
	send, end := s.watched(sites + "?watch=1")
	send("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	end()
	for i := range 3 {
		ms(800)
		s.write(siteAdded, "POST", services, owned("Service", strings.Repeat("w", i+1), strings.Repeat("s", i+1), "9"))
	}
}

// A process watches with one identity, and writes with another one, too, each over a connection of its own.
func playOtherUser(s *script, process string) {
	of := func(cause string) string {
		if process == "1" {
			return cause
		}
		return "none"
	}
	s.isProcess("1")
	s.conn = "10.0.0.1:1"
	send := s.watch(sites + "?watch=1")
	send("MODIFIED", site(7))
	ms(4)
	s.isProcess(process)
	s.conn, s.who = "10.0.0.1:2", pusher
	s.write(of(updated), "POST", settings, ofShop("ConfigMap", 8))
	ms(4)
	s.isProcess("1")
	s.conn, s.who = "10.0.0.1:1", nil
	s.write(updated, "PATCH", sites+"/shop/status", site(9))
	send("MODIFIED", site(9))
	ms(3000)
	send("MODIFIED", site(10))
	ms(4)
	s.write("Site ns/shop updated 10", "POST", services, ofShop("Service", 11))
	ms(4)
	s.isProcess(process)
	s.conn, s.who = "10.0.0.1:2", pusher
	s.write(of("Site ns/shop updated 10"), "PUT", settings+"/of-shop", ofShop("ConfigMap", 12))
}

// What a process writes with another identity is not because the namespace in which it does so was created.
func playOtherUsersNamespace(s *script) {
	s.isProcess("1")
	s.conn = "10.0.0.1:1"
	s.watch(namespaces+"?watch=1")("ADDED", `{"kind":"Namespace","metadata":{"name":"ns","uid":"n1","resourceVersion":"6"}}`)
	ms(1000)
	s.conn, s.who = "10.0.0.1:2", pusher
	s.write("", "POST", settings, object("ConfigMap", "pushed", "c1", "8"))
}

// An operator in the process of a test watches with a user of its own. What the test writes follows from nothing.
func playOtherUserOfTest(s *script) {
	s.isProcess("1")
	s.conn, s.agent = "10.0.0.1:1", "shop.test/v1"
	s.watch(sites+"?watch=1")("MODIFIED", site(7))
	ms(4)
	s.conn, s.who = "10.0.0.1:2", pusher
	s.write("none", "PATCH", sites+"/shop", site(8))
}

// The backend of a web page watches as itself, and writes as its users: with their tokens, or by impersonation.
func playBackend(s *script, impersonates bool) {
	s.isProcess("1")
	s.conn = "10.0.0.1:1"
	asUser, asItself := func() { s.conn, s.who = "10.0.0.1:2", admin }, func() { s.conn, s.who = "10.0.0.1:1", nil }
	if impersonates {
		asUser, asItself = func() { s.as = "jane" }, func() { s.as = "" }
	}
	send := s.watch(deployments + "?watch=1")
	send("MODIFIED", web(7))
	ms(4)
	asUser()
	s.write("none", "PATCH", deployments+"/web", web(8))
	ms(20_000)
	asItself()
	send("MODIFIED", web(9))
	ms(5000)
	asUser()
	s.write("none", "DELETE", deployments+"/web", web(10))
}

// All that a program does, it does as another user.
func playImpersonation(s *script, watches, writes string) {
	s.as = watches
	s.watch(sites+"?watch=1")("MODIFIED", site(7))
	ms(4)
	s.as = writes
	s.write(updated, "PATCH", sites+"/shop/status", site(8))
}

func playBeforeRestore(s *script) {
	s.conn = "10.0.0.1:1"
	send := s.watch(sites + "?watch=1")
	send("MODIFIED", site(7))
	ms(4)
	s.write(updated, "POST", services, owned("Service", "web", "s1", "8"))
	ms(4)
	s.clients.NoteRestored(time.Now())
	ms(10)
	s.write("", "POST", settings, owned("ConfigMap", "of-shop", "c1", "12"))
	s.write("", "PATCH", sites+"/shop/status", site(13))
	ms(2000)
	send("MODIFIED", site(14))
	ms(4)
	s.write("Site ns/shop updated 14", "POST", deployments, web(15))
}

func playFailureBeforeRestore(s *script) {
	send, end := s.watched(sites + "?watch=1")
	send("ADDED", site(7))
	ms(4)
	s.fail(siteAdded, "PATCH", sites+"/shop/status", http.StatusForbidden, forbidden)
	end()
	s.clients.NoteRestored(time.Now())
	s.watch(deployments + "?watch=1")
	ms(10)
	s.write("", "PATCH", sites+"/shop/status", site(8))
}

func playListBeforeRestore(s *script) {
	s.list(sites)
	ms(1)
	s.clients.NoteRestored(time.Now())
	s.watch(sites + "?watch=1&resourceVersion=5")
	ms(4)
	s.write("", "POST", deployments, web(8))
}

// connect opens another connection over HTTP/2 for what follows.
func (s *script) connect() { s.conn = fmt.Sprint("10.0.0.1:", time.Now().UnixNano()) }

// A process opens a connection over HTTP/2 for each request.
func playConnections(s *script) {
	s.isProcess("1")
	onNew := func(do func()) { s.connect(); do(); ms(4) }
	onNew(func() { s.list(sites) })
	onNew(func() { s.write(siteListed, "POST", services, owned("Service", "web", "s1", "6")) })
	var send, sendDeployment func(typ, object string)
	onNew(func() { send = s.watch(sites + "?watch=1&resourceVersion=5") })
	onNew(func() { sendDeployment = s.watch(deployments + "?watch=1&resourceVersion=5") })
	ms(2000)
	send("MODIFIED", site(7))
	ms(4)
	onNew(func() { s.write(updated, "POST", deployments, web(8)) })
	sendDeployment("ADDED", web(8))
	onNew(func() { s.write(updated, "PATCH", sites+"/shop/status", site(9)) })
	send("MODIFIED", site(9))
	ms(4000)
	sendDeployment("MODIFIED", web(10))
	ms(4)
	onNew(func() {
		s.fail("Deployment ns/web updated 10", "PATCH", sites+"/shop", http.StatusForbidden, forbidden)
	})
	ms(4000)
	onNew(func() { s.write("Deployment ns/web updated 10", "PATCH", sites+"/shop", site(11)) })
}

func playConnectionsOfOthers(s *script) {
	s.isProcess("1")
	s.connect()
	send := s.watch(sites + "?watch=1")
	send("MODIFIED", site(7))
	ms(4)
	s.isProcess("2")
	s.connect()
	s.write("", "POST", deployments, web(8))
	s.isProcess("1")
	s.connect()
	s.write(updated, "PATCH", sites+"/shop/status", site(9))
}

func playConnectionsOfUnknown(s *script) {
	s.isProcess("")
	s.connect()
	send := s.watch(sites + "?watch=1")
	send("MODIFIED", site(7))
	ms(4)
	s.write(updated, "PATCH", sites+"/shop/status", site(8))
	ms(4)
	s.connect()
	s.write("", "POST", deployments, web(9))
}
