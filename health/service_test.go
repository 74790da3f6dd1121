package health

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/endpointslice/util"
)

const service = `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.0.0.1, selector: {app: web}%SPEC%}}`

func webPod(name, label, status string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, namespace: shop, labels: {app: ` + label + `}}, spec: {nodeName: node-1}, status: ` + status + `}`
}

// A Service without a ready Pod is not served, though its own status says nothing of it.
func TestExamineService(t *testing.T) {
	const ready = `{phase: Running, podIP: 10.1.0.1, conditions: [{type: Ready, status: "True"}]}`
	const unready = `{phase: Running, podIP: 10.1.0.2, containerStatuses: [{name: c, ready: false, state: {running: {}}}], conditions: [{type: Ready, status: "False"}]}`
	for name, tc := range map[string]struct {
		spec string
		pods []string
		want string // "" = healthy
	}{
		"no Pod":                {"", []string{webPod("a", "wbe", ready)}, "its selector app=web matches no Pod"},
		"one ready":             {"", []string{webPod("a", "web", unready), webPod("b", "web", ready)}, ""},
		"none ready":            {"", []string{webPod("a", "web", unready), webPod("b", "web", unready)}, "its selector app=web matches 2 Pods, none of which is ready: Pod a: container c is running but not ready (and 1 other Pod)"},
		"all have failed":       {"", []string{webPod("a", "web", "{phase: Failed}")}, "its selector app=web matches 1 Pod, none of which is ready: Pod a: failed"},
		"some have completed":   {"", []string{webPod("a", "web", "{phase: Succeeded}"), webPod("b", "web", unready)}, "its selector app=web matches 2 Pods, none of which is ready: Pod b: container c is running but not ready"},
		"unready are published": {", publishNotReadyAddresses: true", []string{webPod("a", "web", unready)}, ""},
		"being deleted":         {"", []string{strings.Replace(webPod("a", "web", ready), "name: a,", `name: a, deletionTimestamp: "2026-07-01T12:00:00Z",`, 1)}, "its selector app=web matches 1 Pod, none of which is ready: Pod a: being deleted; the kubelet of its node has not stopped it"},
		"unready, no address":   {", publishNotReadyAddresses: true", []string{webPod("a", "web", "{phase: Pending}")}, "its selector app=web matches 1 Pod, none of which is ready: Pod a: the kubelet of node node-1 has not started it"},
		"another host":          {", type: ExternalName, externalName: example.com", nil, ""},
		"no address":            {", type: LoadBalancer", nil, "no external address"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, append(tc.pods, strings.Replace(service, "%SPEC%", tc.spec, 1))...)
			s, err := c.Examine(t.Context(), "services", "shop", "web")
			if err != nil {
				t.Fatal(err)
			}
			status, want := Current, ""
			switch {
			case name == "no address":
				status, want = InProgress, "It is not ready: "+tc.want+"."
			case tc.want != "":
				want = "It has no ready endpoint: " + tc.want + "."
			}
			if isDoubtful := s.Doubt != "" && strings.HasSuffix(s.Message, ", but "+s.Doubt); isDoubtful != (status == Current && tc.want != "") {
				t.Errorf("doubt %q, message %q", s.Doubt, s.Message)
			}
			if s.Status != status || s.Problem() != want {
				t.Errorf("got %s: %s\nwant %s: %s", s.Status, s.Problem(), status, want)
			}
		})
	}
}

// A Service whose Pods are to be none, or have completed, has no endpoint, as its user wants it.
func TestExamineServiceWithoutEndpointsByIntent(t *testing.T) {
	const done = "{phase: Succeeded}"
	ofJob := func(pod string) string {
		return strings.Replace(pod, "namespace: shop,", "namespace: shop, "+ownedByJob+",", 1)
	}
	workload := func(apiVersion, kind, app, replicas string) string {
		return `{apiVersion: ` + apiVersion + `, kind: ` + kind + `, metadata: {name: w, namespace: shop}, spec: {replicas: ` + replicas + `, template: {metadata: {labels: {app: ` + app + `}}}}}`
	}
	for name, tc := range map[string]struct {
		objects []string
		want    string
	}{
		"completed":              {[]string{webPod("a", "web", done)}, "It has no endpoint: its selector app=web matches only completed Pods: 1 Pod."},
		"completed of a Job":     {[]string{ofJob(webPod("a", "web", done)), ofJob(webPod("b", "web", done))}, "It has no endpoint: its selector app=web matches only completed Pods: 2 Pods of Job j."},
		"completed of several":   {[]string{ofJob(webPod("a", "web", done)), webPod("b", "web", done)}, "It has no endpoint: its selector app=web matches only completed Pods: 2 Pods."},
		"Deployment scaled":      {[]string{workload("apps/v1", "Deployment", "web", "0")}, "It has no endpoint: its selector app=web matches only Pods of Deployment w, which is scaled to 0 (spec.replicas)."},
		"StatefulSet scaled":     {[]string{workload("apps/v1", "StatefulSet", "web", "0")}, "It has no endpoint: its selector app=web matches only Pods of StatefulSet w, which is scaled to 0 (spec.replicas)."},
		"Deployment with Pods":   {[]string{workload("apps/v1", "Deployment", "web", "1")}, "It has no ready endpoint: its selector app=web matches no Pod."},
		"another Deployment":     {[]string{workload("apps/v1", "Deployment", "wbe", "0")}, "It has no ready endpoint: its selector app=web matches no Pod."},
		"ReplicaSet that is old": {[]string{strings.Replace(workload("apps/v1", "ReplicaSet", "web", "0"), "namespace: shop", "namespace: shop, "+ownedByWeb, 1)}, "It has no ready endpoint: its selector app=web matches no Pod."},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, append(tc.objects, strings.Replace(service, "%SPEC%", "", 1))...)
			s, err := c.Examine(t.Context(), "services", "shop", "web")
			if err != nil || s.Status != Current || s.Problem() != tc.want {
				t.Errorf("got %s: %s, %v\nwant %s", s.Status, s.Problem(), err, tc.want)
			}
		})
	}
}

// A targetPort that names no port of the Pods leads to none of them. A number need not be declared.
func TestExamineServicePorts(t *testing.T) {
	const ready = `status: {phase: Running, podIP: 10.1.0.1, conditions: [{type: Ready, status: "True"}]}`
	pod := func(name, spec string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, namespace: shop, labels: {app: web}}, spec: {` + spec + `}, ` + ready + `}`
	}
	const http, dns = `containers: [{name: c, ports: [{name: http, containerPort: 80}]}]`, `containers: [{name: c, ports: [{name: dns, containerPort: 53, protocol: UDP}]}]`
	for name, tc := range map[string]struct{ ports, spec, want string }{
		"typo":                {`[{port: 80, targetPort: htpp}]`, http, "It has no endpoint for port 80: its targetPort htpp names no TCP port of the Pods that it selects: they have http."},
		"no names":            {`[{port: 80, targetPort: http}]`, `containers: [{name: c}]`, "It has no endpoint for port 80: its targetPort http names no TCP port of the Pods that it selects: they name none."},
		"another protocol":    {`[{port: 53, targetPort: dns}]`, dns, "It has no endpoint for port 53: its targetPort dns names no TCP port of the Pods that it selects: they name none."},
		"the protocol":        {`[{port: 53, targetPort: dns, protocol: UDP}]`, dns, ""},
		"the name":            {`[{port: 80, targetPort: http}]`, http, ""},
		"a number":            {`[{port: 80, targetPort: 8080}]`, http, ""},
		"no targetPort":       {`[{port: 81}]`, http, ""},
		"a sidecar's":         {`[{port: 80, targetPort: http}]`, `containers: [{name: c}], initContainers: [{name: s, restartPolicy: Always, ports: [{name: http, containerPort: 80}]}]`, ""},
		"an init container's": {`[{port: 80, targetPort: http}]`, `containers: [{name: c}], initContainers: [{name: s, ports: [{name: http, containerPort: 80}]}]`, "It has no endpoint for port 80: its targetPort http names no TCP port of the Pods that it selects: they name none."},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, pod("a", tc.spec), pod("b", tc.spec), strings.Replace(service, "%SPEC%", ", ports: "+tc.ports, 1))
			s, err := c.Examine(t.Context(), "services", "shop", "web")
			if err != nil || s.Status != Current || s.Problem() != tc.want {
				t.Errorf("got %s: %s, %v\nwant %s", s.Status, s.Problem(), err, tc.want)
			}
		})
	}
}

// A Service is not healthy because its Pods cannot be read.
func TestExamineServiceWithUnreadablePods(t *testing.T) {
	svc := strings.Replace(service, "%SPEC%", "", 1)
	refusing := newCluster(t, svc)
	refusing.objects.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("pods is forbidden")
	})
	for want, c := range map[string]*cluster{
		"list pods: pods is forbidden": refusing,
		"Pod a: ":                      newCluster(t, svc, webPod("a", "web", "{phase: 5}")),
	} {
		if s, err := c.Examine(t.Context(), "services", "shop", "web"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %s: %s, %v; want an error with %q", s.Status, s.Message, err, want)
		}
	}
}

func TestIsEndpointAsUpstream(t *testing.T) {
	for _, phase := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed} {
		for i := range 16 {
			pod := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
			ready, publishNotReady := i&1 > 0, i&2 > 0
			if ready {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}
			if i&4 > 0 {
				pod.Status.PodIPs = []corev1.PodIP{{IP: "10.1.0.1"}}
			}
			if i&8 > 0 {
				pod.DeletionTimestamp = &metav1.Time{}
			}
			want := util.ShouldPodBeInEndpoints(pod, publishNotReady) && (ready || publishNotReady)
			if got := isEndpoint(pod, publishNotReady); got != want {
				t.Errorf("%s, case %04b: got %t, want %t", phase, i, got, want)
			}
		}
	}
}
