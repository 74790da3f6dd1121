package clients

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	kustomizations = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations"
	fluxSources    = "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/sources"
	appSettings    = "/api/v1/namespaces/apps/configmaps"
	appJobs        = "/apis/batch/v1/namespaces/apps/jobs"
)

func in(namespace, object string) string {
	return strings.Replace(object, `"ns"`, `"`+namespace+`"`, 1)
}

func fluxSource(version int) string {
	return in("flux-system", object("Source", "fleet", "f1", fmt.Sprint(version)))
}

// kustomization names its source.
func kustomization(version int) string {
	o := in("flux-system", object("Kustomization", "web", "k1", fmt.Sprint(version)))
	return strings.Replace(o, "{", `{"spec":{"sourceRef":{"kind":"Source","name":"fleet"}},`, 1)
}

// applied is an object that names its Kustomization by two labels.
func applied(name string, version int) string {
	const labels = `"labels":{"kustomize.toolkit.fluxcd.io/name":"web","kustomize.toolkit.fluxcd.io/namespace":"flux-system"}`
	return strings.Replace(in("apps", object("ConfigMap", name, name+"-1", fmt.Sprint(version))), `"name"`, labels+`,"name"`, 1)
}

func deleted(name string) string {
	return fmt.Sprintf(`{"kind":"Status","status":"Success","details":{"name":%q,"kind":"configmaps","uid":"%s-1"}}`, name, name)
}

// Another commit leaves out what the one before has created.
func playPrune(s *script, pause int) {
	sendSource, sendKustomization, sendConfigMap := s.watch(fluxSources+"?watch=1"), s.watch(kustomizations+"?watch=1"), s.watch("/api/v1/configmaps?watch=1")
	sendSource("ADDED", fluxSource(4))
	sendKustomization("ADDED", kustomization(5))
	ms(70_000)
	version := 10
	status := func(truth string) {
		version++
		s.write(truth, "PATCH", kustomizations+"/web/status", kustomization(version))
		sendKustomization("MODIFIED", kustomization(version))
	}
	commit := func() (truth string) {
		version++
		sendSource("MODIFIED", fluxSource(version))
		truth = fmt.Sprintf("Source flux-system/fleet updated %d", version)
		ms(3)
		status(truth)
		for range 3 { // a reader takes these for causes of each other
			ms(5)
			status(truth + "|Kustomization flux-system/web updated *")
		}
		ms(20)
		return truth
	}
	truth := commit()
	for _, name := range []string{"one", "two"} {
		version++
		s.write(truth, "PATCH", appSettings+"/"+name, applied(name, version))
		sendConfigMap("ADDED", applied(name, version))
		ms(4)
	}
	status(truth + "|Kustomization flux-system/web updated *")

	ms(pause)
	truth = commit()
	version++
	s.write(truth, "PATCH", appSettings+"/three", applied("three", version))
	sendConfigMap("ADDED", applied("three", version))
	ms(25)
	s.write(truth, "DELETE", appSettings+"/two", deleted("two"))
	sendConfigMap("DELETED", applied("two", version))
	ms(4)
	status(truth + "|Kustomization flux-system/web updated *")
}

// A program deletes what it has created for a Site: a timer, or what it has found elsewhere, has said so.
func playDeletionLater(s *script, pause int) {
	sendSite, sendConfigMap := s.watch(sites+"?watch=1"), s.watch(settings+"?watch=1")
	sendSite("ADDED", site(7))
	ms(3)
	s.write(siteAdded, "POST", settings, owned("ConfigMap", "two", "two-1", "8"))
	sendConfigMap("ADDED", owned("ConfigMap", "two", "two-1", "8"))
	ms(pause)
	s.write("", "DELETE", settings+"/two", deleted("two"))
}

// A command creates a Job, waits for that alone, and goes on, as Helm does for a hook.
func playHook(s *script) {
	job := func(version int) string { return in("apps", object("Job", "pre", "j1", fmt.Sprint(version))) }
	s.isProcess("1")
	s.closes = true
	s.write("none", "POST", appJobs, job(7))
	send, end := s.watched(appJobs + "?watch=1")
	send("ADDED", job(7))
	ms(3000)
	send("MODIFIED", job(8))
	end()
	ms(5)
	s.write("none", "DELETE", appJobs+"/pre", job(9))
	ms(3)
	s.write("none", "POST", appSettings, in("apps", object("ConfigMap", "web", "c1", "10")))
	ms(150)
	s.write("none", "PATCH", appSettings+"/web", in("apps", object("ConfigMap", "web", "c1", "11")))
}

// It has listed nothing before.
func playHookOverHTTP2(s *script) {
	s.conn = "10.0.0.1:1"
	playHook(s)
}

// So does a script in Python, whose library sends its own name, and opens another connection while one is in use.
func playHookOfScript(s *script) {
	s.agent, s.pool = "OpenAPI-Generator/32.0.0/python", true
	playHook(s)
}

// An operator ends one of its watches, as that of a kind which it does not need any more.
func playWatchClosed(s *script) {
	s.closes = true
	s.watch(deployments + "?watch=1")
	send, end := s.watched(sites + "?watch=1")
	send("MODIFIED", site(7))
	end()
	ms(4)
	s.write("Site ns/shop updated 7", "POST", deployments, web(8))
}

// The watch ends before the write is answered.
func playKilledInWrite(s *script) {
	s.closes = true
	send, end := s.watched(sites + "?watch=1")
	send("MODIFIED", site(7))
	ms(4)
	s.expect("Site ns/shop updated 7", "POST")
	s.request("POST", deployments, "{}", func(w http.ResponseWriter) {
		ms(1)
		end()
		ms(1)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, web(8))
	})
}

// The next run of a command does not follow from what the one before was sent.
func playNextRun(s *script) {
	s.isProcess("1")
	s.conn = "10.0.0.1:1"
	send, end := s.watched(settings + "?watch=1")
	send("MODIFIED", object("ConfigMap", "web", "c1", "7"))
	end()
	ms(50)
	s.isProcess("2")
	s.conn = "10.0.0.1:2"
	s.write("none", "PATCH", settings+"/other", object("ConfigMap", "other", "c2", "8"))
	ms(3000)
	s.write("none", "PATCH", settings+"/web", object("ConfigMap", "web", "c1", "9"))
}

// An operator that stops ends its watches first, and completes its sync.
func playStop(s *script) {
	s.isProcess("1")
	s.closes = true
	send, end := s.watched(sites + "?watch=1")
	send("MODIFIED", site(7))
	ms(4)
	s.write(updated, "POST", settings, ofShop("ConfigMap", 8))
	end()
	ms(4)
	s.write(updated, "POST", services, ofShop("Service", 9))
	ms(4)
	s.write(updated, "PATCH", sites+"/shop/status", site(10))
}

func playStopBeforeWrite(s *script) {
	s.isProcess("1")
	s.conn = "10.0.0.1:1"
	s.closes = true
	send, end := s.watched(sites + "?watch=1")
	send("MODIFIED", site(7))
	ms(4)
	end()
	ms(4)
	s.write(updated, "PATCH", sites+"/shop/status", site(10))
}

// A program ends its only watch after some time, and opens it again, while a worker writes.
func playOnlyWatchReopened(s *script) {
	s.isProcess("1")
	s.closes = true
	send, end := s.watched(sites + "?watch=1")
	send("MODIFIED", site(7))
	ms(4)
	s.write(updated, "POST", settings, ofShop("ConfigMap", 8))
	end()
	ms(2)
	s.write(updated, "POST", services, ofShop("Service", 9))
	ms(5)
	s.watch(sites + "?watch=1&resourceVersion=7")
	ms(2)
	s.write(updated, "PATCH", sites+"/shop/status", site(10))
}

// One of two controllers, with user agents of their own, ends its watch, and writes.
func playWatchOfAgentClosed(s *script) {
	s.isProcess("1")
	s.conn, s.closes = "10.0.0.1:1", true
	s.agent = "shop-operator-web/v1"
	s.watch(deployments + "?watch=1")
	s.agent = "shop-operator/v1"
	send, end := s.watched(sites + "?watch=1")
	send("MODIFIED", site(7))
	ms(3)
	end()
	ms(1)
	s.write(updated, "POST", settings, ofShop("ConfigMap", 8))
}
