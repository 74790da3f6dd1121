package clients

import (
	"fmt"
	"strings"
)

const endpoints = "/api/v1/namespaces/ns/endpoints"

// namesake has the name of the Site.
func namesake(version int) string { return object("Endpoints", "shop", "e1", fmt.Sprint(version)) }

// playNamesake changes the Deployment of a Site, and the Endpoints with its name: the program only reads these. It writes the
// Site as it is when a sync begins, and then a change.
func playNamesake(s *script, isFirst bool, pause int) {
	const updated = "Deployment ns/web updated 20"
	sendSite, sendDeployment, sendEndpoints := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1"), s.watch(endpoints+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	sendDeployment("ADDED", web(8))
	ms(10_000)
	sendDeployment("MODIFIED", web(20))
	ms(2)
	if isFirst {
		s.write(updated, "PUT", sites+"/shop", site(7))
		ms(2)
	}
	sendEndpoints("MODIFIED", namesake(21))
	ms(pause)
	s.write(updated, "PUT", sites+"/shop", site(22))
}

// playNamesakeAlone changes the Endpoints, and nothing else.
func playNamesakeAlone(s *script) {
	sendSite, sendDeployment, sendEndpoints := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1"), s.watch(endpoints+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	sendDeployment("ADDED", web(8))
	ms(10_000)
	sendDeployment("MODIFIED", web(20))
	ms(500)
	sendEndpoints("MODIFIED", namesake(21))
	ms(2)
	s.write("Endpoints ns/shop updated 21", "PATCH", sites+"/shop/status", site(22))
}

// playMountedNamesake changes a ConfigMap with the name of the Deployment that mounts it, while that is rolled out.
func playMountedNamesake(s *script) {
	sendSite, sendDeployment, sendConfigMap := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1"), s.watch(settings+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	sendDeployment("ADDED", web(8))
	sendConfigMap("ADDED", object("ConfigMap", "web", "c1", "9"))
	ms(10_000)
	sendDeployment("MODIFIED", web(20))
	ms(60)
	sendConfigMap("MODIFIED", object("ConfigMap", "web", "c1", "21"))
	ms(2)
	s.write("ConfigMap ns/web updated 21", "PATCH", deployments+"/web", web(22))
}

// playScalerBesideStatus changes an autoscaler that names a Deployment, while that is rolled out.
func playScalerBesideStatus(s *script) {
	named := func(version int) string {
		return strings.Replace(object("VerticalPodAutoscaler", "auto", "v-1", fmt.Sprint(version)), "{", `{"spec":{"targetRef":{"kind":"Deployment","name":"web"}},`, 1)
	}
	alone := func(version int) string { return object("Deployment", "web", "d1", fmt.Sprint(version)) }
	sendScaler, sendDeployment := s.watch(scalers+"?watch=1"), s.watch(deployments+"?watch=1")
	sendScaler("ADDED", named(7))
	sendDeployment("ADDED", alone(8))
	ms(10_000)
	sendDeployment("MODIFIED", alone(20))
	ms(60)
	sendScaler("MODIFIED", named(21))
	ms(2)
	s.write("VerticalPodAutoscaler ns/auto updated 21", "PATCH", deployments+"/web", alone(22))
}
