package health

import "testing"

// A Service without a selector has the endpoints that its user makes.
func TestExamineServiceWithoutSelector(t *testing.T) {
	const selects = `{apiVersion: v1, kind: Service, metadata: {name: db, namespace: shop}, spec: {clusterIP: 10.0.0.1}}`
	slice := func(name, service, endpoints string) string {
		return `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: ` + name + `, namespace: shop, labels: {kubernetes.io/service-name: ` + service + `}}, addressType: IPv4, endpoints: [` + endpoints + `]}`
	}
	endpoints := func(metadata, subsets string) string {
		return `{apiVersion: v1, kind: Endpoints, metadata: {name: db, namespace: shop` + metadata + `}, subsets: [` + subsets + `]}`
	}
	const notCopied = "It has no endpoint: endpointslice-mirroring-controller does not copy its Endpoints to an EndpointSlice because of their "
	for name, tc := range map[string]struct {
		object string
		others []string
		want   string // "" = healthy
	}{
		"nothing": {selects, nil, "It has no endpoint: endpointslice-controller makes no EndpointSlice for a Service without a selector: " +
			"create one with the label kubernetes.io/service-name=db."},
		"the slice of another one": {selects, []string{slice("db", "dbs", "{addresses: [10.1.0.1]}")}, "It has no endpoint: endpointslice-controller makes no EndpointSlice for a Service without a selector: " +
			"create one with the label kubernetes.io/service-name=db."},
		"a slice":              {selects, []string{slice("db-1", "db", "{addresses: [10.1.0.1]}")}, ""},
		"a slice of several":   {selects, []string{slice("db-1", "db", ""), slice("db-2", "db", "{addresses: [10.1.0.1], conditions: {ready: true}}")}, ""},
		"a slice, not ready":   {selects, []string{slice("db-1", "db", "{addresses: [10.1.0.1], conditions: {ready: false}}")}, "It has no ready endpoint: none of those in its EndpointSlices is ready."},
		"Endpoints":            {selects, []string{endpoints("", "{addresses: [{ip: 10.1.0.1}]}")}, ""},
		"Endpoints, empty":     {selects, []string{endpoints("", "")}, "It has no endpoint: its Endpoints have no address."},
		"Endpoints, skipped":   {selects, []string{endpoints(`, labels: {endpointslice.kubernetes.io/skip-mirror: "true"}`, "{addresses: [{ip: 10.1.0.1}]}")}, notCopied + "label endpointslice.kubernetes.io/skip-mirror."},
		"Endpoints of a lease": {selects, []string{endpoints(`, annotations: {control-plane.alpha.kubernetes.io/leader: x}`, "{addresses: [{ip: 10.1.0.1}]}")}, notCopied + "annotation control-plane.alpha.kubernetes.io/leader."},
		"another host":         {`{apiVersion: v1, kind: Service, metadata: {name: db, namespace: shop}, spec: {type: ExternalName, externalName: example.com}}`, nil, ""},
		"the API server's":     {`{apiVersion: v1, kind: Service, metadata: {name: kubernetes, namespace: default}, spec: {clusterIP: 10.0.0.1}}`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, append(tc.others, tc.object)...)
			r := RefOf(parseObject(t, tc.object))
			if s, err := c.Examine(t.Context(), "services", r.Namespace, r.Name); err != nil || s.Status != Current || s.Problem() != tc.want {
				t.Errorf("got %s: %s, %v\nwant %s", s.Status, s.Problem(), err, tc.want)
			}
		})
	}
}
