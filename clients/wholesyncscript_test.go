package clients

import (
	"fmt"
	"io"
	"net/http"
)

// update replaces an object by one of a version.
func (s *script) update(truth, path, answer string, base int) {
	s.expect(truth, "PUT")
	s.request("PUT", path, object("", "", "", fmt.Sprint(base)), func(w http.ResponseWriter) {
		ms(1)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
	})
}

// playWholeSyncs updates all objects of a Site in a sync, the first one to what it is, and one of them twice. The sync is by a timer,
// or follows from a change of the Site.
func playWholeSyncs(s *script, byTimer bool) {
	truth, version := "", 7
	deployment := func(version int) string { return owned("Deployment", "web", "d1", fmt.Sprint(version)) }
	configMap := func(version int) string { return owned("ConfigMap", "conf", "c1", fmt.Sprint(version)) }
	sendSite, sendDeployment, sendConfigMap := s.watch(sites+initially), s.watch(deployments+initially), s.watch(settings+initially)
	sendSite("ADDED", site(7))
	sendDeployment("ADDED", deployment(8))
	sendConfigMap("ADDED", configMap(9))
	ms(100_000)
	if !byTimer {
		truth, version = "Site ns/shop updated 20", 20
		sendSite("MODIFIED", site(version))
		ms(4)
	}
	s.update(truth, deployments+"/web", deployment(8), 8)
	ms(2)
	s.update(truth, settings+"/conf", configMap(21), 9)
	sendConfigMap("MODIFIED", configMap(21))
	ms(4)
	s.update(truth, settings+"/conf", configMap(22), 21)
	ms(3)
	sendConfigMap("MODIFIED", configMap(22))
	s.update(truth, sites+"/shop", site(23), version)
	sendSite("MODIFIED", site(23))
	ms(4)
	s.update("*", deployments+"/web", deployment(8), 8) // the next sync
}

// playWholeSyncBesideOther updates all objects of a Site in a sync, the first one to what it is. Another controller of the program
// then answers the event of one of them, or a user's change of that.
func playWholeSyncBesideOther(s *script, parallel, byUser bool) {
	const updated = "Site ns/shop updated 20"
	deployment := func(version int) string { return owned("Deployment", "web", "d1", fmt.Sprint(version)) }
	configMap := func(version int) string { return owned("ConfigMap", "conf", "c1", fmt.Sprint(version)) }
	sendSite, sendDeployment, sendConfigMap := s.watch(sites+initially), s.watch(deployments+initially), s.watch(settings+initially)
	sendSite("ADDED", site(7))
	sendDeployment("ADDED", deployment(8))
	sendConfigMap("ADDED", configMap(9))
	ms(5)
	if parallel {
		s.together(
			func() { s.update("*", sites+"/shop", site(7), 7) },
			func() { s.update("*", settings+"/conf", configMap(9), 9) },
		)
	}
	ms(100_000)
	sendSite("MODIFIED", site(20))
	ms(4)
	s.update(updated, deployments+"/web", deployment(8), 8)
	ms(2)
	s.update(updated, settings+"/conf", configMap(21), 9)
	sendConfigMap("MODIFIED", configMap(21))
	ms(2)
	base := 21
	if byUser {
		base = 22
		sendConfigMap("MODIFIED", configMap(base))
		ms(2)
	}
	s.update(fmt.Sprint("ConfigMap ns/conf updated ", base), settings+"/conf", configMap(24), base)
}

// playStatusAfterWholeSync updates a Deployment to what it is, and then repeats itself: each status leads to another one.
func playStatusAfterWholeSync(s *script) {
	deployment := owned("Deployment", "web", "d1", "8")
	sendSite, sendDeployment := s.watch(sites+initially), s.watch(deployments+initially)
	sendSite("ADDED", site(7))
	sendDeployment("ADDED", deployment)
	ms(100_000)
	sendSite("MODIFIED", site(20))
	ms(4)
	s.update("Site ns/shop updated 20", deployments+"/web", deployment, 8)
	ms(2)
	s.update("Site ns/shop updated 20", sites+"/shop/status", site(21), 20)
	for version := 21; version < 25; version++ {
		sendSite("MODIFIED", site(version))
		ms(4)
		s.update(fmt.Sprint("Site ns/shop updated ", version), sites+"/shop/status", site(version+1), version)
	}
}
