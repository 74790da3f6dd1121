package clients

import (
	"fmt"
	"net/http"
	"strings"
)

// Scripts of programs that write at equal distances although no ticker starts their work.

// playRegularChanges follows from what a user changes at a fixed interval, with a sync that takes a while, each time longer.
func playRegularChanges(s *script, interval, took, longer int) {
	sendSite := s.watch(sites + "?watch=1")
	for i := range 8 {
		sendSite("MODIFIED", site(10+2*i))
		ms(took + i*longer)
		s.write(fmt.Sprint("Site ns/shop updated ", 10+2*i), "PATCH", sites+"/shop/status", site(11+2*i))
		sendSite("MODIFIED", site(11+2*i))
		ms(interval - took - i*longer)
	}
}

// playPoll looks at a cache each 10 s, and writes what a user has changed only.
func playPoll(s *script) {
	sendSite := s.watch(sites + "?watch=1")
	for i := range 5 {
		version := 7 + 10*i
		ms(4000 + 500*i)
		sendSite("MODIFIED", site(version))
		ms(6000 - 500*i)
		s.write(fmt.Sprint("Site ns/shop updated ", version), "PATCH", sites+"/shop/status", site(version+1))
		sendSite("MODIFIED", site(version+1))
	}
}

// playRegularRollouts writes the status of a Site and its Deployment for what a user changes each minute.
func playRegularRollouts(s *script, statusFirst bool) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	sendDeployment("ADDED", web(7))
	for i := range 5 {
		at := 10 + 10*i
		updated := fmt.Sprint("Site ns/shop updated ", at)
		status := func() {
			s.write(updated, "PATCH", sites+"/shop/status", site(at+1))
			sendSite("MODIFIED", site(at+1))
		}
		sendSite("MODIFIED", site(at))
		ms(3000)
		if statusFirst {
			status()
			ms(3)
		}
		s.write(updated, "PATCH", deployments+"/web", web(at+2))
		sendDeployment("MODIFIED", web(at+2))
		if !statusFirst {
			ms(3)
			status()
		}
		ms(57_000)
	}
}

// playRefusedEvictions evicts a Pod for a changed Site. What drains with kubectl's package tries again 5 s after each refusal.
func playRefusedEvictions(s *script) {
	const updated = "Site ns/shop updated 20"
	sendSite, sendPod := s.watch(sites+"?watch=1"), s.watch(pods+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", pods, owned("Pod", "p0", "p-0", "8"))
	sendPod("ADDED", owned("Pod", "p0", "p-0", "8"))
	ms(30_000)
	sendSite("MODIFIED", site(20))
	ms(3)
	for range 4 {
		s.fail(updated, "POST", pods+"/p0/eviction", http.StatusTooManyRequests, strings.Replace(forbidden, "403", "429", 1))
		ms(5000)
	}
	s.write(updated, "POST", pods+"/p0/eviction", `{"kind":"Status","status":"Success"}`)
}

// playFixedRetry repeats an update that fails each 10 s.
func playFixedRetry(s *script) {
	const updated = "Site ns/shop updated 20"
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	sendDeployment("ADDED", web(8))
	ms(30_000)
	sendSite("MODIFIED", site(20))
	ms(3)
	for range 3 {
		s.fail(updated, "PUT", deployments+"/web", http.StatusForbidden, forbidden)
		ms(10_000)
	}
	s.write(updated, "PUT", deployments+"/web", web(30))
}

// playBatchBinding binds a Pod each 10 s, some time after it was created, as a scheduler with a batch window does.
func playBatchBinding(s *script, after int) {
	send := s.watch(pods + "?watch=1")
	pod := func(i, version int) string {
		return owned("Pod", fmt.Sprint("p", i), fmt.Sprint("p-", i), fmt.Sprint(version+10*i))
	}
	next := 0
	for i := range 5 {
		ms(3000)
		for ; next <= i+after && next < 5; next++ {
			send("ADDED", pod(next, 7))
		}
		ms(7000)
		s.write(fmt.Sprintf("Pod ns/p%d added %d", i, 7+10*i), "POST", fmt.Sprint(pods, "/p", i, "/binding"), `{"kind":"Status","status":"Success"}`)
		send("MODIFIED", pod(i, 8))
	}
}

// playTickerAndRestart works each 10 s, ends, and works again at the next of these times, for a change that takes 4 s.
func playTickerAndRestart(s *script) {
	s.conn = "10.0.0.1:1"
	sendSite, end := s.watched(sites + "?watch=1")
	sendSite("ADDED", site(7))
	for i := range 3 {
		ms(10_000)
		s.write("*", "PATCH", deployments+"/web", web(10+i))
	}
	end()
	ms(3000)
	s.conn = "10.0.0.1:2"
	sendSite = s.watch(sites + "?watch=1")
	ms(3000)
	sendSite("MODIFIED", site(20))
	ms(4000)
	s.write("Site ns/shop updated 20", "PATCH", deployments+"/web", web(21))
}
