package health

import (
	"fmt"
	"testing"
)

// Many autoscalers without metrics have the same reason: the APIServices are listed once for all of them.
func TestAutoscalersShareTheListOfAPIServices(t *testing.T) {
	const api = `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1beta1.metrics.k8s.io}, spec: {group: metrics.k8s.io, version: v1beta1}, status: {conditions: [{type: Available, status: "False", reason: MissingEndpoints}]}}`
	c := newCluster(t, api)
	why := c.WhyOf(t.Context())
	for i := range 5 {
		hpa := parseObject(t, fmt.Sprintf(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: shop, name: h%d}, status: {conditions: [{type: AbleToScale, status: "True"}, `+
			`{type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: 'unable to fetch metrics from resource metrics API: no'}]}}`, i))
		const want = "FailedGetResourceMetric: unable to fetch metrics from resource metrics API: no; APIService v1beta1.metrics.k8s.io is not available: MissingEndpoints"
		if got := why(hpa); got != want {
			t.Errorf("got %s", got)
		}
	}
	if n := c.countLists(apiServices); n != 1 {
		t.Errorf("APIServices were listed %d times", n)
	}
}

// What a controller could not do without an aggregated API is explained by the APIService of that.
func TestWhyNamesUnavailableAPIs(t *testing.T) {
	api := func(group, condition string) string {
		return `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1beta1.` + group + `}, spec: {group: ` + group + `, version: v1beta1}, status: {conditions: [` + condition + `]}}`
	}
	const refused, missing, available = `{type: Available, status: "False", reason: FailedDiscoveryCheck, message: connection refused}`, `{type: Available, status: "False", reason: MissingEndpoints}`, `{type: Available, status: "True", reason: Passed}`
	const external, resource = "external.metrics.k8s.io", "metrics.k8s.io"
	hpa := func(message string) string {
		return `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: shop, name: h}, status: {conditions: [{type: AbleToScale, status: "True"}, ` +
			`{type: ScalingActive, status: "False", reason: FailedGetExternalMetric, message: '` + message + `'}]}}`
	}
	const noMetric = "unable to get external metric shop/s0: unable to fetch metrics from external metrics API: the server is currently unable to handle the request"
	const discovery = "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: external.metrics.k8s.io/v1beta1: stale GroupVersion discovery: external.metrics.k8s.io/v1beta1"
	const namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: gone, deletionTimestamp: "2026-01-02T03:04:05Z"}, spec: {finalizers: [kubernetes]}, ` +
		`status: {phase: Terminating, conditions: [{type: NamespaceDeletionDiscoveryFailure, status: "True", message: '` + discovery + `'}]}}`
	const isRefused = "; APIService v1beta1.external.metrics.k8s.io is not available: FailedDiscoveryCheck: connection refused"
	for name, test := range map[string]struct {
		objects []string // the first one is explained
		want    string
	}{
		"an autoscaler":                   {[]string{hpa(noMetric), api(external, refused), api(resource, missing), api("example.com", missing)}, "FailedGetExternalMetric: " + noMetric + isRefused},
		"of resources":                    {[]string{hpa("unable to fetch metrics from resource metrics API: no"), api(external, refused), api(resource, missing)}, "FailedGetExternalMetric: unable to fetch metrics from resource metrics API: no; APIService v1beta1.metrics.k8s.io is not available: MissingEndpoints"},
		"it does not exist":               {[]string{hpa(noMetric), api(resource, missing)}, "FailedGetExternalMetric: " + noMetric + "; no APIService serves external.metrics.k8s.io"},
		"it is available":                 {[]string{hpa(noMetric), api(external, available)}, "FailedGetExternalMetric: " + noMetric},
		"an autoscaler of another reason": {[]string{hpa("no such metric"), api(external, refused)}, "FailedGetExternalMetric: no such metric"},
		"a namespace":                     {[]string{namespace, api(external, refused), api(resource, missing)}, "being deleted: " + discovery + isRefused + ": start its server, or delete the APIService"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newCluster(t, test.objects...).Why(t.Context(), parseObject(t, test.objects[0])); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
