package clients

import "fmt"

const endpoints = "/api/v1/namespaces/ns/endpoints"

// namesake is called as the Site.
func namesake(version int) string { return object("Endpoints", "shop", "e1", fmt.Sprint(version)) }

// playNamesake changes the Deployment of a Site, and the Endpoints that are called as it: the program only reads these. It writes the
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
