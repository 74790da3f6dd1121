package health

import (
	"strings"
	"testing"
)

const service = `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.0.0.1, selector: {app: web}%SPEC%}}`

func webPod(name, label, status string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, namespace: shop, labels: {app: ` + label + `}}, spec: {nodeName: node-1}, status: ` + status + `}`
}

// A Service without a ready Pod is not served, though its own status says nothing of it.
func TestExamineService(t *testing.T) {
	const ready = `{phase: Running, conditions: [{type: Ready, status: "True"}]}`
	const unready = `{phase: Running, containerStatuses: [{name: c, ready: false, state: {running: {}}}], conditions: [{type: Ready, status: "False"}]}`
	for name, tc := range map[string]struct {
		spec string
		pods []string
		want string // "" = healthy
	}{
		"no Pod":                {"", []string{webPod("a", "wbe", ready)}, "its selector app=web matches no Pod"},
		"one ready":             {"", []string{webPod("a", "web", unready), webPod("b", "web", ready)}, ""},
		"none ready":            {"", []string{webPod("a", "web", unready), webPod("b", "web", unready)}, "its selector app=web matches 2 Pods, none of which is ready: Pod a: container c is running but not ready (and 1 other Pod)"},
		"all have ended":        {"", []string{webPod("a", "web", "{phase: Succeeded}")}, "its selector app=web matches 1 Pod, none of which is ready"},
		"unready are published": {", publishNotReadyAddresses: true", []string{webPod("a", "web", unready)}, ""},
		"another host":          {", type: ExternalName, externalName: example.com", nil, ""},
		"no address":            {", type: LoadBalancer", nil, "no external address"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, append(tc.pods, strings.Replace(service, "%SPEC%", tc.spec, 1))...)
			s, err := c.Examine(t.Context(), "services", "shop", "web")
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == "" && s.Status != Current || tc.want != "" && (s.Status != InProgress || s.Message != tc.want) {
				t.Errorf("got %s: %s\nwant %s", s.Status, s.Message, tc.want)
			}
		})
	}
}
