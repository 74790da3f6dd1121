package clients

import "strings"

// genericAgents are the first words of user agents that libraries send for all programs that use them. Several
// such programs would be one client, and a program with two libraries would be two.
var genericAgents = map[string]bool{
	"": true, // of kube for Rust, and of many clients of WebSockets

	// Go
	"Go-http-client": true,

	// Python: kubernetes, aiohttp and others
	"OpenAPI-Generator": true, "Swagger-Codegen": true, "Python": true, "Python-urllib": true, "python-urllib3": true,
	"python-requests": true, "python-httpx": true, "kopf": true, "pykube-ng": true,

	// JavaScript: requests and watches of @kubernetes/client-node have different ones
	"kubernetes-client-javascript": true, "node-fetch": true, "undici": true, "node": true, "axios": true, "got": true,

	// Java: "Kubernetes Java Client" and others
	"Kubernetes": true, "Java": true, "Java-http-client": true, "Apache-HttpClient": true, "okhttp": true,
	"fabric8-kubernetes-client": true, "Vert.x-WebClient": true, "Jetty": true,
}

// isGenericAgent reports whether a user agent does not say which program sends it.
func isGenericAgent(userAgent string) bool {
	if i := strings.IndexAny(userAgent, "/ "); i >= 0 {
		userAgent = userAgent[:i]
	}
	return genericAgents[userAgent]
}
