package clients

import (
	"fmt"
	"net/http"
	"strings"
)

// Scripts of programs with informers but without queues: a ticker makes them look at all objects, as in VPA's updater and recommender.

const scalers = "/apis/autoscaling.k8s.io/v1/namespaces/ns/verticalpodautoscalers"

// scaler is a VerticalPodAutoscaler that names its Deployment.
func scaler(name string, version int) string {
	spec := fmt.Sprintf(`{"spec":{"targetRef":{"kind":"Deployment","name":%q}},`, name)
	return strings.Replace(object("VerticalPodAutoscaler", name, "v-"+name, fmt.Sprint(version)), "{", spec, 1)
}

// playTickerOfParts writes parts of an object, another one each 10 s.
func playTickerOfParts(s *script) {
	sendScaler := s.watch(scalers + "?watch=1")
	sendScaler("ADDED", scaler("egg", 7))
	for i, part := range []string{"/status", "", "/scale"} {
		ms(10_000)
		truth := "*"
		if i == keptBursts-1 {
			truth = ""
		}
		s.write(truth, "PATCH", scalers+"/egg"+part, scaler("egg", 10+i))
		sendScaler("MODIFIED", scaler("egg", 10+i))
	}
}

// playTickerAfterChange writes a status each 10 s. A user changes another object, of which the second tick since writes the status.
func playTickerAfterChange(s *script) {
	sendScaler := s.watch(scalers + "?watch=1")
	sendScaler("ADDED", scaler("egg", 7))
	for i := range 4 {
		if ms(5000); i == 3 {
			sendScaler("MODIFIED", scaler("ham", 30))
		}
		ms(5000)
		s.write("*", "PATCH", scalers+"/egg/status", scaler("egg", 10+i))
		sendScaler("MODIFIED", scaler("egg", 10+i))
	}
	ms(10_000)
	s.write("", "PATCH", scalers+"/ham/status", scaler("ham", 40))
}

// playUpdater evicts a Pod each 15 s. That of the first tick existed when the program started; another one becomes ready after each.
func playUpdater(s *script) {
	const evicted = `{"kind":"Status","status":"Success"}`
	pod := func(i, version int) string {
		return owned("Pod", fmt.Sprint("p", i), fmt.Sprint("p-", i), fmt.Sprint(version))
	}
	sendPod, sendScaler := s.watch(pods+initially), s.watch(scalers+initially)
	sendPod("ADDED", pod(0, 7))
	sendScaler("ADDED", scaler("shop", 8))
	for i := range 8 {
		ms(30_000 - 15_000*min(i, 1) - 800*min(i, 1))
		at := 20 + 10*i
		s.write("", "POST", fmt.Sprint(pods, "/p", i, "/eviction"), evicted)
		sendPod("DELETED", pod(i, at))
		ms(100)
		sendPod("ADDED", pod(i+1, at+1))
		ms(700)
		sendPod("MODIFIED", pod(i+1, at+2))
	}
}

// playTickerDeletes deletes a Pod each 15 s. What has happened before the first two deletes may have waited on purpose.
func playTickerDeletes(s *script) {
	sendPod := s.watch(pods + "?watch=1")
	for i := range 6 {
		at := 20 + 10*i
		sendPod("ADDED", owned("Pod", fmt.Sprint("p", i), fmt.Sprint("p-", i), fmt.Sprint(at)))
		ms(15_000 - 1)
		s.write("", "DELETE", fmt.Sprint(pods, "/p", i), owned("Pod", fmt.Sprint("p", i), fmt.Sprint("p-", i), fmt.Sprint(at+1)))
		sendPod("DELETED", owned("Pod", fmt.Sprint("p", i), fmt.Sprint("p-", i), fmt.Sprint(at+1)))
	}
}

// playRefusedUpdater evicts a Pod that a budget protects, each 15 s.
func playRefusedUpdater(s *script) {
	sendPod := s.watch(pods + "?watch=1")
	sendPod("ADDED", owned("Pod", "p0", "p-0", "7"))
	for range 4 {
		ms(15_000)
		s.fail("", "POST", pods+"/p0/eviction", http.StatusTooManyRequests, strings.Replace(forbidden, "403", "429", 1))
	}
}

// playRecommender writes the status of each VerticalPodAutoscaler every 10 s. One is created later than the others, and its
// Deployment changes before the next tick.
func playRecommender(s *script, jitter int) {
	sendScaler, sendDeployment := s.watch(scalers+"?watch=1"), s.watch(deployments+"?watch=1")
	sendScaler("ADDED", scaler("egg", 7))
	sendScaler("ADDED", scaler("ham", 8))
	version := 20
	status := func(names ...string) {
		for _, name := range names {
			version += 2
			s.write("", "PATCH", scalers+"/"+name+"/status", scaler(name, version))
			sendScaler("MODIFIED", scaler(name, version))
			ms(2)
		}
	}
	for i := range 4 {
		ms(10_000 + jitter*(i%2))
		if i > 0 {
			status("egg", "ham")
		} else { // before it can be told from work for these events
			s.write("*", "PATCH", scalers+"/egg/status", scaler("egg", 10))
			s.write("*", "PATCH", scalers+"/ham/status", scaler("ham", 11))
		}
	}
	ms(3500)
	sendScaler("ADDED", scaler("oat", 100))
	ms(500)
	sendDeployment("MODIFIED", object("Deployment", "oat", "d-oat", "101"))
	ms(6000 + jitter)
	version = 110
	status("egg", "oat", "ham")
}

// playSlowDeletion deletes a Pod long after a user has deleted its Site: the program frees something outside before.
func playSlowDeletion(s *script) {
	marked := strings.Replace(site(20), `"metadata":{`, `"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z",`, 1)
	pod := func(version int) string { return object("Pod", "p1", "p1", fmt.Sprint(version), "u1") }
	sendSite, sendPod := s.watch(sites+"?watch=1"), s.watch(pods+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", pods, pod(8))
	sendPod("ADDED", pod(8))
	ms(8000)
	sendPod("MODIFIED", pod(9))
	ms(8000)
	sendSite("MODIFIED", marked)
	ms(20_000)
	s.write("Site ns/shop updated 20", "DELETE", pods+"/p1", pod(21))
}

// playTTL deletes a Job 10 s after that has completed.
func playTTL(s *script) {
	const jobs = "/apis/batch/v1/namespaces/ns/jobs"
	send := s.watch(jobs + "?watch=1")
	send("ADDED", object("Job", "j", "j1", "7"))
	ms(20_000)
	send("MODIFIED", object("Job", "j", "j1", "20"))
	ms(10_000)
	s.write("Job ns/j updated 20", "DELETE", jobs+"/j", object("Job", "j", "j1", "21"))
}

// playDeletionOnRequest deletes a Site 8 s after a user has asked for it with an annotation: the program frees something outside before.
func playDeletionOnRequest(s *script) {
	send := s.watch(sites + "?watch=1")
	send("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "PATCH", sites+"/shop/status", site(8))
	send("MODIFIED", site(8))
	ms(40_000)
	send("MODIFIED", site(20))
	ms(8000)
	s.write("Site ns/shop updated 20", "DELETE", sites+"/shop", site(21))
}

// playLateEviction evicts a Pod 3 s after a user has changed it.
func playLateEviction(s *script) {
	pod := func(version int) string { return owned("Pod", "p0", "p-0", fmt.Sprint(version)) }
	sendPod := s.watch(pods + "?watch=1")
	sendPod("ADDED", pod(7))
	ms(30_000)
	sendPod("MODIFIED", pod(20))
	ms(3000)
	s.write("Pod ns/p0 updated 20", "POST", pods+"/p0/eviction", `{"kind":"Status","status":"Success"}`)
}
