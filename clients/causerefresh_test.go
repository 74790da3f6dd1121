package clients

import (
	"fmt"
	"strings"
)

// Scripts of an operator that copies what a store has to Secrets, and repeats that by timers.

const (
	externals = "/apis/external-secrets.io/v1/namespaces/ns/externalsecrets"
	stores    = "/apis/external-secrets.io/v1/namespaces/ns/secretstores"
	secretsNS = "/api/v1/namespaces/ns/secrets"

	initially = "?watch=1&sendInitialEvents=true"
)

// external is an ExternalSecret that reads a key of a store.
func external(name, store, key string, version int) string {
	spec := fmt.Sprintf(`{"spec":{"secretStoreRef":{"name":%q},"dataFrom":[{"extract":{"key":%q}}]},`, store, key)
	return strings.Replace(object("ExternalSecret", name, "e-"+name, fmt.Sprint(version)), "{", spec, 1)
}

// store is a SecretStore with a value.
func store(name, value string, version int) string {
	spec := fmt.Sprintf(`{"spec":{"provider":{"fake":{"data":[{"key":"x","value":%q}]}}},`, value)
	return strings.Replace(object("SecretStore", name, "s-"+name, fmt.Sprint(version)), "{", spec, 1)
}

func secretOf(external string, version int) string {
	return object("Secret", external, "c-"+external, fmt.Sprint(version), "e-"+external)
}

// A status is written each 5 s.
func playRefresh(s *script) {
	sendExternal, sendSecret := s.watch(externals+"?watch=1"), s.watch(secretsNS+"?watch=1")
	const added = "ExternalSecret ns/tick added 7"
	sendExternal("ADDED", external("tick", "st", "remote", 7))
	ms(4)
	s.write(added, "POST", secretsNS, secretOf("tick", 8))
	sendSecret("ADDED", secretOf("tick", 8))
	ms(1)
	s.write(added, "PUT", externals+"/tick/status", external("tick", "st", "remote", 9))
	sendExternal("MODIFIED", external("tick", "st", "remote", 9))
	for i := range 15 {
		ms(5000)
		s.write("", "PUT", externals+"/tick/status", external("tick", "st", "remote", 20+i))
		sendExternal("MODIFIED", external("tick", "st", "remote", 20+i))
	}
}

// A password is generated each 6 s, and the status follows in the same sync.
func playGenerate(s *script) {
	sendExternal, sendSecret := s.watch(externals+"?watch=1"), s.watch(secretsNS+"?watch=1")
	const added = "ExternalSecret ns/gen added 7"
	sendExternal("ADDED", external("gen", "st", "remote", 7))
	ms(4)
	s.write(added, "POST", secretsNS, secretOf("gen", 8))
	sendSecret("ADDED", secretOf("gen", 8))
	ms(1)
	s.write(added, "PUT", externals+"/gen/status", external("gen", "st", "remote", 9))
	sendExternal("MODIFIED", external("gen", "st", "remote", 9))
	for i := range 4 {
		ms(6000)
		s.write("", "PUT", secretsNS+"/gen", secretOf("gen", 20+2*i))
		sendSecret("MODIFIED", secretOf("gen", 20+2*i))
		ms(1)
		s.write("", "PUT", externals+"/gen/status", external("gen", "st", "remote", 21+2*i))
		sendExternal("MODIFIED", external("gen", "st", "remote", 21+2*i))
	}
}

// What has existed when the operator started is refreshed, too.
func playRefreshOfListed(s *script) {
	sendExternal, sendSecret := s.watch(externals+initially), s.watch(secretsNS+initially)
	sendExternal("ADDED", external("plain", "st", "remote", 7))
	sendExternal("ADDED", external("other", "st", "remote", 8))
	sendSecret("ADDED", secretOf("plain", 6))
	ms(20)
	s.write("ExternalSecret ns/plain listed 7", "PUT", externals+"/plain/status", external("plain", "st", "remote", 9))
	sendExternal("MODIFIED", external("plain", "st", "remote", 9))
	for i := range 3 {
		ms(10_000)
		s.write("", "PUT", externals+"/plain/status", external("plain", "st", "remote", 20+i))
		sendExternal("MODIFIED", external("plain", "st", "remote", 20+i))
	}
	ms(3000) // what was not due at the start
	s.write("", "PUT", externals+"/other/status", external("other", "st", "remote", 30))
}

// A SecretStore has a key that is called as the ExternalSecret, as it happens. Its own controller may have written its status.
func playKeyOfStore(s *script, hasStatus bool) {
	sendExternal, sendStore := s.watch(externals+"?watch=1"), s.watch(stores+"?watch=1")
	sendExternal("ADDED", external("tick", "st", "remote", 7))
	ms(4)
	s.write("ExternalSecret ns/tick added 7", "PUT", externals+"/tick/status", external("tick", "st", "remote", 8))
	sendExternal("MODIFIED", external("tick", "st", "remote", 8))
	ms(65_000)
	sendStore("ADDED", store("unrelated", "tick", 10))
	if hasStatus {
		ms(4)
		s.write("SecretStore ns/unrelated added 10", "PUT", stores+"/unrelated/status", store("unrelated", "tick", 11))
		sendStore("MODIFIED", store("unrelated", "tick", 11))
	}
	for i := range 2 {
		ms(7500)
		s.write("", "PUT", externals+"/tick/status", external("tick", "st", "remote", 20+i))
		sendExternal("MODIFIED", external("tick", "st", "remote", 20+i))
	}
}

// At the start, each object is worked for, whatever it names.
func playNamesAtStart(s *script) {
	sendExternal, sendStore := s.watch(externals+initially), s.watch(stores+initially)
	sendExternal("ADDED", external("db", "fake", "remote", 2))
	sendExternal("ADDED", external("orphan", "fake", "plain", 3))
	sendExternal("ADDED", external("plain", "fake", "remote", 4))
	sendStore("ADDED", store("fake", "remote", 5))
	ms(20)
	for i, name := range []string{"plain", "orphan", "db"} {
		truth := fmt.Sprintf("ExternalSecret ns/%s listed %d", name, map[string]int{"db": 2, "orphan": 3, "plain": 4}[name])
		key := map[string]string{"orphan": "plain"}[name]
		s.write(truth, "PATCH", externals+"/"+name, external(name, "fake", key, 10+2*i))
		sendExternal("MODIFIED", external(name, "fake", key, 10+2*i))
		ms(4)
		s.write(truth, "PUT", externals+"/"+name+"/status", external(name, "fake", key, 11+2*i))
		sendExternal("MODIFIED", external(name, "fake", key, 11+2*i))
		ms(4)
	}
	s.write("SecretStore ns/fake listed 5", "PUT", stores+"/fake/status", store("fake", "remote", 20))
}

// What selects Namespaces creates an object in a new one, and another controller works for that later.
func playNewNamespace(s *script, name string, later int) {
	const api = "/apis/external-secrets.io/v1/"
	const added = "ClusterExternalSecret shared added 7"
	sendCluster, sendNamespace := s.watch(api+"clusterexternalsecrets?watch=1"), s.watch(namespaces+"?watch=1")
	sendExternal := s.watch(api + "externalsecrets?watch=1")
	in := func(o, namespace string) string { return strings.Replace(o, `"ns"`, fmt.Sprintf("%q", namespace), 1) }
	write := func(truth, method, path, o string, send func(typ, object string)) {
		s.write(truth, method, path, o)
		if send != nil {
			send(map[string]string{"POST": "ADDED", "PUT": "MODIFIED"}[method], o)
		}
		ms(4)
	}
	all := func(version int) string { return clusterScoped("ClusterExternalSecret", "shared", version) }
	work := func(truth, namespace string, version int) {
		write(truth, "PUT", namespaces+"/"+namespace, clusterScoped("Namespace", namespace, version), sendNamespace)
		path := api + "namespaces/" + namespace + "/externalsecrets"
		shared := func(version int) string {
			return in(object("ExternalSecret", "shared", "e-"+namespace, fmt.Sprint(version), "ClusterExternalSecretshared"), namespace)
		}
		write(truth, "POST", path, shared(version+1), sendExternal)
		write(truth, "PUT", api+"clusterexternalsecrets/shared/status", all(version+2), sendCluster)
		ms(later)
		truth = fmt.Sprintf("ExternalSecret %s/shared added %d", namespace, version+1)
		write(truth, "PUT", path+"/shared", shared(version+3), sendExternal)
		secret := in(object("Secret", "shared", "c-"+namespace, fmt.Sprint(version+4), "e-"+namespace), namespace)
		write(truth, "POST", "/api/v1/namespaces/"+namespace+"/secrets", secret, nil)
		write(truth, "PUT", path+"/shared/status", shared(version+5), sendExternal)
	}
	sendNamespace("ADDED", clusterScoped("Namespace", "t1", 2))
	ms(60_000)
	sendCluster("ADDED", all(7))
	ms(4)
	write(added, "PUT", api+"clusterexternalsecrets/shared", all(8), sendCluster)
	ms(1200)
	sendNamespace("MODIFIED", clusterScoped("Namespace", "t1", 10))
	ms(8)
	work("Namespace t1 updated 10", "t1", 20)
	ms(5200)
	sendNamespace("ADDED", clusterScoped("Namespace", name, 30))
	ms(8)
	work(fmt.Sprintf("Namespace %s added 30", name), name, 40)
}

// A program that has written one object twice at once, and with it has several controllers, creates again what a user deletes.
func playDeletedChild(s *script) {
	sendExternal, sendSecret := s.watch(externals+"?watch=1"), s.watch(secretsNS+"?watch=1")
	s.playShared(s.watch(sites + "?watch=1"))
	const added = "ExternalSecret ns/tick added 7"
	sendExternal("ADDED", external("tick", "st", "remote", 7))
	ms(4)
	s.write(added, "POST", secretsNS, secretOf("tick", 8))
	sendSecret("ADDED", secretOf("tick", 8))
	ms(5000)
	sendSecret("DELETED", secretOf("tick", 9))
	ms(4)
	again := strings.Replace(secretOf("tick", 10), `"c-tick"`, `"c-again"`, 1)
	s.write("Secret ns/tick deleted 9", "POST", secretsNS, again)
	sendSecret("ADDED", again)
}

// Two workers write for a new Namespace: the object in it, and the status of what has created that, which names a store.
func playStatusBesideWorker(s *script) {
	const api = "/apis/external-secrets.io/v1/"
	sendCluster, sendNamespace := s.watch(api+"clusterexternalsecrets?watch=1"), s.watch(namespaces+"?watch=1")
	sendExternal, sendStore := s.watch(api+"externalsecrets?watch=1"), s.watch(api+"clustersecretstores?watch=1")
	all := func(version int) string {
		return clusterScopedNaming("cst", "ClusterExternalSecret", "shared", version)
	}
	one := func(version int) string {
		return object("ExternalSecret", "shared", "e1", fmt.Sprint(version), "ClusterExternalSecretshared")
	}
	sendCluster("ADDED", all(7))
	sendStore("ADDED", clusterScoped("ClusterSecretStore", "cst", 8))
	ms(4)
	s.write("ClusterExternalSecret shared added 7", "PUT", api+"clusterexternalsecrets/shared", all(9))
	sendCluster("MODIFIED", all(9))
	ms(10_000)
	sendNamespace("ADDED", clusterScoped("Namespace", "ns", 20))
	ms(4)
	const added = "Namespace ns added 20"
	s.write(added, "PUT", namespaces+"/ns", clusterScoped("Namespace", "ns", 21))
	sendNamespace("MODIFIED", clusterScoped("Namespace", "ns", 21))
	ms(2)
	s.write(added, "POST", externals, one(22))
	sendExternal("ADDED", one(22))
	ms(1)
	s.together(
		func() { s.write("ExternalSecret ns/shared added 22", "PUT", externals+"/shared", one(23)) },
		func() { s.write(added, "PATCH", api+"clusterexternalsecrets/shared/status", all(24)) },
	)
}

// At the start, a sync writes the status of its object, and that of another one which that names.
func playRouteAndGateway(s *script) {
	const gateways, routes = "/apis/g.io/v1/namespaces/ns/gateways", "/apis/g.io/v1/namespaces/ns/routes"
	main := func(version string) string {
		return strings.Replace(object("Route", "main", "r1", version), "{", `{"spec":{"parentRefs":[{"name":"edge"}]},`, 1)
	}
	edge := func(version string) string { return object("Gateway", "edge", "g1", version) }
	sendGateway, sendRoute := s.watch(gateways+initially), s.watch(routes+initially)
	sendGateway("ADDED", edge("3"))
	sendRoute("ADDED", main("4"))
	ms(20)
	s.write("Route ns/main listed 4", "PATCH", routes+"/main/status", main("10"))
	sendRoute("MODIFIED", main("10"))
	ms(2)
	s.write("Route ns/main listed 4", "PATCH", gateways+"/edge/status", edge("11"))
}
