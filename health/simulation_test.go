package health

import (
	"strings"
	"testing"
)

// What the simulation may have to do with a problem of a Pod is said with the reason, of the Pod and of its owners.
func TestReasonNamesSimulation(t *testing.T) {
	const node = `{apiVersion: v1, kind: Node, metadata: {name: node-1, annotations: {kwok.x-k8s.io/node: fake}}}`
	const realNode = `{apiVersion: v1, kind: Node, metadata: {name: node-1}}`
	const waits = `state: {waiting: {reason: CreateContainerConfigError, message: "secret \"redis\" not found"}}`
	const set = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: shop, name: web-2}}`
	const reason = `Pod p: container app is waiting: CreateContainerConfigError: secret "redis" not found`
	const create = `; programs of images do not run here: if one of them makes it, create it yourself`
	pod := func(name, spec, status string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: ` + name + `, ` + ownedBySet + `}, spec: {nodeName: node-1, ` + spec + `}, status: ` + status + `}`
	}
	event := func(of, reason, kind, message string) string {
		return `{apiVersion: v1, kind: Event, metadata: {namespace: shop, name: ` + of + reason + `}, involvedObject: {kind: ` + kind + `, uid: uid-of-` + of + `}, type: Normal, reason: ` + reason + `, message: "` + message + `"}`
	}
	waiting := pod("p", `containers: [{name: app, command: [server]}]`, `{phase: Pending, containerStatuses: [{name: app, `+waits+`}]}`)
	needs := func(container, outcome string) string {
		return "container " + container + " needs argocd, which is not simulated: it " + outcome
	}
	instead := "; the annotation ctrlplane.local/run names a script to run instead"
	const done = `state: {terminated: {exitCode: 0}}`
	const waitsFor = "Pod p: init container wait (1 of 1) is running"
	const table = ", and only Pods with the annotation ctrlplane.local/http answer, which may be why: docs/pods.md#http"
	polling := func(script string) string {
		return pod("p", `initContainers: [{name: wait, command: [sh, -c, "`+script+`"]}], containers: [{name: app}]`,
			`{phase: Pending, initContainerStatuses: [{name: wait, state: {running: {}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`)
	}
	for name, tc := range map[string]struct{ objects, want string }{
		"no program that could make it": {node + "\n---\n" + waiting + "\n---\n" + event("p", "Simulated", "Pod", needs("app", "keeps running")+instead), reason},
		"its own init container": {node + "\n---\n" + pod("p", `initContainers: [{name: secret-init, command: [argocd]}], containers: [{name: app}]`,
			`{phase: Pending, initContainerStatuses: [{name: secret-init, `+done+`}], containerStatuses: [{name: app, `+waits+`}]}`) + "\n---\n" +
			event("p", "Simulated", "Pod", needs("secret-init", "exits with 0 at once")+instead),
			reason + "; " + needs("secret-init", "exits with 0 at once") + create},
		"an image of its own": {node + "\n---\n" + pod("p", `initContainers: [{name: make, image: maker}], containers: [{name: app}]`,
			`{phase: Pending, initContainerStatuses: [{name: make, `+done+`}], containerStatuses: [{name: app, `+waits+`}]}`),
			reason + "; container make needs the program of its image, which is not simulated: it exits with 0 at once" + create},
		"an init container of another Pod": {node + "\n---\n" + waiting + "\n---\n" + event("gone", "Simulated", "Pod", "commands run in a simulated shell, without the image and without a network; "+needs("init", "exits with 0 at once")), reason + create},
		"a command that runs":              {node + "\n---\n" + waiting + "\n---\n" + event("gone", "Simulated", "Pod", "commands run in a simulated shell, without the image and without a network"), reason},
		"the program of another image": {node + "\n---\n" + waiting + "\n---\n" + `
{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: operator}, spec: {nodeName: node-1, containers: [{name: o}]},
  status: {phase: Running, containerStatuses: [{name: o, ready: true, state: {running: {}}}], conditions: [{type: Ready, status: "True"}]}}`, reason + create},
		"a script of another Pod": {node + "\n---\n" + waiting + "\n---\n" + `
{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: operator, annotations: {ctrlplane.local/run: "true"}}, spec: {nodeName: node-1, containers: [{name: o}]},
  status: {phase: Running, containerStatuses: [{name: o, ready: true, state: {running: {}}}], conditions: [{type: Ready, status: "True"}]}}`, reason},
		"a Job that was deleted": {node + "\n---\n" + waiting + "\n---\n" + event("admission", "Completed", "Job, apiVersion: batch/v1", "Job completed"), reason + create},
		"a ConfigMap": {node + "\n---\n" + strings.ReplaceAll(waiting, `secret \"redis`, `configmap \"redis`) + "\n---\n" + event("admission", "Completed", "Job, apiVersion: batch/v1", "Job completed"),
			strings.ReplaceAll(reason, "secret", "configmap") + create},
		"a real node": {realNode + "\n---\n" + waiting + "\n---\n" + event("admission", "Completed", "Job, apiVersion: batch/v1", "Job completed"), reason},
		"killed": {node + "\n---\n" + pod("p", `containers: [{name: app, command: [sh, -c, "wget http://frontend/"]}]`, `{phase: Running, containerStatuses: [{name: app, state: {terminated: {exitCode: 143, reason: Error}}}]}`),
			"Pod p: container app exited with code 143 (Error)"},
		"no network": {node + "\n---\n" + pod("p", `containers: [{name: app, command: [sh, -c, "wget http://frontend/"]}]`, `{phase: Running, containerStatuses: [{name: app, state: {terminated: {exitCode: 1, reason: Error}}}]}`) + "\n---\n" + `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: frontend}}`,
			"Pod p: container app exited with code 1 (Error); container app uses wget, and only Pods with the annotation ctrlplane.local/http answer, which may be why: docs/pods.md#http"},
		"an init container that polls": {node + "\n---\n" + pod("p", `initContainers: [{name: wait, command: [sh, -c, "while [ $(curl -s x) != 200 ]; do sleep 2; done"]}], containers: [{name: app}]`,
			`{phase: Pending, initContainerStatuses: [{name: wait, state: {running: {}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`),
			"Pod p: init container wait (1 of 1) is running; container wait uses curl, and only Pods with the annotation ctrlplane.local/http answer, which may be why: docs/pods.md#http"},
		"a Service that does not exist": {node + "\n---\n" + polling(`until nc -z -w 2 s-nosuch 5432; do sleep 2; done`), waitsFor + "; container wait uses nc to reach the Service shop/s-nosuch, which does not exist"},
		"a Service of another namespace that does not exist": {node + "\n---\n" + polling(`until wget -qO- http://api.back.svc:8080/ready; do sleep 2; done`) + "\n---\n" + `{apiVersion: v1, kind: Namespace, metadata: {name: back}}`,
			waitsFor + "; container wait uses wget to reach the Service back/api, which does not exist"},
		"a Service in an address without a scheme": {node + "\n---\n" + polling(`wget -q web:8080/ready`), waitsFor + "; container wait uses wget to reach the Service shop/web, which does not exist"},
		"a Service that exists": {node + "\n---\n" + polling(`until nc -z db 5432; do sleep 2; done`) + "\n---\n" + `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: db}}`,
			waitsFor + "; container wait uses nc" + table},
		"a name that may not be that of a Service": {node + "\n---\n" + polling(`curl http://example.com/; curl http://$HOST/; curl -o out http://localhost; nc -z web$X 80`),
			waitsFor + "; container wait uses curl" + table},
		"a user, an owner, a variable and a Pod of a headless Service": {node + "\n---\n" + polling(`chown app:1000 /tmp; curl -u admin:12345 http://web/; wget http://admin:pw@web/; nc -z $host 80; nc -z db-0.db 5432`) +
			"\n---\n" + `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: db}}` + "\n---\n" + `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: web}}` +
			"\n---\n" + `{apiVersion: v1, kind: Namespace, metadata: {name: db}}`,
			waitsFor + "; container wait uses curl" + table},
		"/dev/tcp": {node + "\n---\n" + polling(`until (echo > /dev/tcp/srv/80) 2> /dev/null; do sleep 1; done`),
			waitsFor + "; container wait uses /dev/tcp, which is not simulated: use nc -z HOST PORT: docs/pods.md#http"},
		"another command": {node + "\n---\n" + pod("p", `containers: [{name: app, command: [sh, -c, "sync --nc"]}]`, `{phase: Running, containerStatuses: [{name: app, state: {terminated: {exitCode: 1, reason: Error}}}]}`),
			"Pod p: container app exited with code 1 (Error)"},
	} {
		t.Run(name, func(t *testing.T) {
			list := documents(set + "\n---\n" + tc.objects)
			c := newCluster(t, list...)
			if got := c.Why(t.Context(), parseObject(t, list[0])); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// Examine leaves out which programs of the Pod itself are not simulated.
func TestExaminedPodWithoutProgram(t *testing.T) {
	c := newCluster(t, `{apiVersion: v1, kind: Node, metadata: {name: node-1, annotations: {kwok.x-k8s.io/node: fake}}}`, `
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: p}
spec: {nodeName: node-1, initContainers: [{name: make}], containers: [{name: app}]}
status:
  phase: Pending
  initContainerStatuses: [{name: make, state: {terminated: {exitCode: 0}}}]
  containerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError, message: no key}}}]`)
	s, err := c.Examine(t.Context(), "pods", "shop", "p")
	if want := "container app is waiting: CreateContainerConfigError: no key"; err != nil || s.Message != want {
		t.Errorf("got %q, %v; want %q", s.Message, err, want)
	}
}
