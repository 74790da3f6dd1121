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
