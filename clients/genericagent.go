package clients

import "strings"

// genericAgents are the names in user agents that libraries send for all programs that use them. Several
// programs would be one client, and a program with two libraries two clients.
var genericAgents = map[string]bool{
	"": true, // as of kube for Rust, and of WebSockets

	"Go-http-client": true,
	"curl":           true, "Wget": true,

	"OpenAPI-Generator": true, "Swagger-Codegen": true, // kubernetes for Python and others
	"Python": true, "Python-urllib": true, "python-urllib3": true, "python-requests": true, "python-httpx": true, // Python: of aiohttp
	"kopf": true, "pykube-ng": true,

	"kubernetes-client-javascript": true, "node-fetch": true, "undici": true, // before version 2, and of watches since then
	"node": true, "axios": true, "got": true,

	"Kubernetes": true, // Kubernetes Java Client
	"Java":       true, "Java-http-client": true, "Apache-HttpClient": true,
	"okhttp": true, "fabric8-kubernetes-client": true, "Vert.x-WebClient": true, "Jetty": true,
}

// isGenericAgent reports whether a user agent does not say which program sends it.
func isGenericAgent(userAgent string) bool {
	if i := strings.IndexAny(userAgent, "/ "); i >= 0 {
		userAgent = userAgent[:i]
	}
	return genericAgents[userAgent]
}
