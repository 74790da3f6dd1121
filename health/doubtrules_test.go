package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// Objects that are healthy to kstatus may have no effect.
func TestDoubtRules(t *testing.T) {
	ingress := func(spec string) string {
		return `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: x, namespace: shop}, spec: {` + spec + `}}`
	}
	to := func(service, port string) string {
		return `rules: [{http: {paths: [{path: /, backend: {service: {name: ` + service + `, port: {` + port + `}}}}, {path: /a, backend: {service: {name: ` + service + `, port: {` + port + `}}}}]}}]`
	}
	binding := func(kind, role, namespace string) string {
		return `{apiVersion: rbac.authorization.k8s.io/v1, kind: ` + kind + `, metadata: {name: x` + namespace + `}, roleRef: {kind: ` + role + `, name: r}}`
	}
	claim := func(request string) string {
		return `{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: x, namespace: shop}, spec: {devices: {requests: [{name: r, ` + request + `}]}}}`
	}
	bound := func(subjects string) string {
		return strings.Replace(binding("RoleBinding", "Role", ", namespace: shop"), "roleRef", "subjects: ["+subjects+"], roleRef", 1)
	}
	set := func(service string) string {
		return `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, namespace: shop, generation: 1}, spec: {replicas: 0` + service + `}, status: {observedGeneration: 1}}`
	}
	budget := func(status string) string {
		return `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: x, namespace: shop, generation: 1}, spec: {selector: {matchLabels: {app: web}}}, status: {observedGeneration: 1` + status + `}}`
	}
	onDelete := func(status string) string {
		return `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, namespace: shop, generation: 1}, spec: {replicas: 2, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, currentReplicas: 2, ` + status + `}}`
	}
	daemons := func(nodes int) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x, namespace: shop, generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: %d, currentNumberScheduled: %[1]d, updatedNumberScheduled: %[1]d, numberAvailable: %[1]d, numberReady: %[1]d}}`, nodes)
	}
	scaler := func(condition string) string {
		return `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: x, namespace: shop}, status: {conditions: [` + condition + `]}}`
	}
	const cronJob = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: x, namespace: shop}, spec: {concurrencyPolicy: Forbid}, status: {active: [{name: x-1}], lastScheduleTime: "2026-01-01T00:01:00Z"}}`
	scheduled := func(schedule, more string) string {
		return `{apiVersion: batch/v1, kind: CronJob, metadata: {name: x, namespace: shop}, spec: {schedule: "` + schedule + `"` + more + `}}`
	}
	started := func(name, condition, at string) string {
		return `{apiVersion: batch/v1, kind: Job, metadata: {name: ` + name + `, namespace: shop, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: x, uid: uid-of-x, controller: true}]},
  status: {conditions: [{type: ` + condition + `, status: "True", reason: BackoffLimitExceeded, lastTransitionTime: "2026-01-01T00:` + at + `Z"}]}}`
	}
	const active = `{apiVersion: batch/v1, kind: Job, metadata: {name: x-1, namespace: shop, creationTimestamp: "2026-01-01T00:01:10Z", ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: x, uid: uid-of-x, controller: true}]}}`
	skipped := func(at string) string {
		return strings.Replace(warning("x", "JobAlreadyActive", "not starting", "2026-01-01T"+at+"Z"), "Warning", "Normal", 1)
	}
	volume := func(policy, phase string) string {
		return `{apiVersion: v1, kind: PersistentVolume, metadata: {name: x}, spec: {persistentVolumeReclaimPolicy: ` + policy + `, claimRef: {namespace: shop, name: c, uid: u}}, status: {phase: ` + phase + `}}`
	}
	labelled := func(app string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, labels: {app: ` + app + `}}}`
	}
	const web = `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{name: http, port: 80}, {port: 81}]}}`
	const role = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: shop}}`
	const clusterRole = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}`
	const class = `{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: c}}`
	const deviceClass = `{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}`
	for name, tc := range map[string]struct{ object, other, want string }{
		"IngressClass":               {ingress("ingressClassName: c"), class, ""},
		"without IngressClass":       {ingress("ingressClassName: nocls"), class, "Its IngressClass nocls does not exist."},
		"DeviceClass":                {claim("exactly: {deviceClassName: gpu}"), deviceClass, ""},
		"without DeviceClass":        {claim("exactly: {deviceClassName: nogpu}"), deviceClass, "Its DeviceClass nogpu does not exist: no device can be allocated."},
		"one DeviceClass of several": {claim("firstAvailable: [{name: a, deviceClassName: nogpu}, {name: b, deviceClassName: gpu}]"), deviceClass, ""},
		"none of several classes":    {claim("firstAvailable: [{name: a, deviceClassName: a}, {name: b, deviceClassName: b}]"), deviceClass, "Its DeviceClasses a, b do not exist: no device can be allocated."},
		"without subject":            {bound("{kind: ServiceAccount, name: nosa, namespace: jobs}, {kind: User, name: u}"), role, "Its subject ServiceAccount jobs/nosa does not exist."},
		"subject":                    {bound("{kind: ServiceAccount, name: sa, namespace: shop}"), role + "\n---\n" + `{apiVersion: v1, kind: ServiceAccount, metadata: {name: sa, namespace: shop}}`, ""},
		"without role and subject":   {bound("{kind: ServiceAccount, name: nosa, namespace: jobs}"), class, "Its Role r does not exist: it grants nothing; its subject ServiceAccount jobs/nosa does not exist."},
		"backend":                    {ingress(to("web", "name: http")), web, ""},
		"backend with a number":      {ingress(to("web", "number: 81")), web, ""},
		"without backend":            {ingress(to("nosvc", "number: 80")), web, "Its backend Service nosvc does not exist."},
		"without default backend":    {ingress("defaultBackend: {service: {name: nosvc, port: {number: 80}}}"), web, "Its backend Service nosvc does not exist."},
		"without port":               {ingress(to("web", "name: htpp")), web, "Its backend Service web has no port htpp: it has http 80, 81."},
		"without port number":        {ingress(to("web", "number: 8080")), web, "Its backend Service web has no port 8080: it has http 80, 81."},
		"backend elsewhere":          {ingress(to("web", "number: 8080")), strings.Replace(web, "spec: {", "spec: {type: ExternalName, ", 1), ""},
		"without TLS Secret":         {ingress("tls: [{secretName: notls}]"), web, "Its TLS Secret notls does not exist."},
		"TLS Secret":                 {ingress("tls: [{secretName: tls}, {}]"), `{apiVersion: v1, kind: Secret, metadata: {name: tls, namespace: shop}}`, ""},
		"backend and TLS Secret":     {ingress(to("nosvc", "number: 80") + ", tls: [{secretName: notls}]"), web, "Its TLS Secret notls does not exist; its backend Service nosvc does not exist."},
		"Role":                       {binding("RoleBinding", "Role", ", namespace: shop"), role, ""},
		"without Role":               {binding("RoleBinding", "Role", ", namespace: shop"), clusterRole, "Its Role r does not exist: it grants nothing."},
		"ClusterRole in a namespace": {binding("RoleBinding", "ClusterRole", ", namespace: shop"), clusterRole, ""},
		"ClusterRole":                {binding("ClusterRoleBinding", "ClusterRole", ""), clusterRole, ""},
		"without ClusterRole":        {binding("ClusterRoleBinding", "ClusterRole", ""), role, "Its ClusterRole r does not exist: it grants nothing."},
		"Service of a StatefulSet":   {set(", serviceName: web"), web, ""},
		"StatefulSet without one":    {set(""), web, ""},
		"without Service":            {set(", serviceName: nosvc"), web, "Its Service nosvc (spec.serviceName) does not exist: its Pods have no DNS names."},
		"StatefulSet with OnDelete":  {onDelete("updatedReplicas: 1"), web, "It has 1 Pod of an earlier revision: delete them to update them (spec.updateStrategy is OnDelete)."},
		"updated StatefulSet":        {onDelete("updatedReplicas: 2"), web, ""},
		"DaemonSet without a node":   {daemons(0), web, "It has no Pod: no node matches the nodeSelector, the affinity and the tolerations of its template."},
		"DaemonSet":                  {daemons(1), web, ""},
		"autoscaler that is off":     {scaler("{type: ScalingActive, status: \"False\", reason: ScalingDisabled, message: the replica count of the target is zero}"), web, "It does not scale: ScalingDisabled: the replica count of the target is zero."},
		"autoscaler at its maximum":  {scaler("{type: ScalingLimited, status: \"True\", reason: TooManyReplicas, message: more than the maximum}"), web, "It is limited: TooManyReplicas: more than the maximum."},
		"autoscaler at its minimum":  {scaler("{type: ScalingLimited, status: \"True\", reason: TooFewReplicas, message: less than the minimum}"), web, ""},
		"February 30th":              {scheduled("0 0 30 2 *", ""), web, `Its schedule "0 0 30 2 *" never starts a Job: no date matches it.`},
		"February 30th, suspended":   {scheduled("0 0 30 2 *", ", suspend: true"), web, ""},
		"February 29th":              {scheduled("0 0 29 2 *", ""), web, ""},
		"June and September 31st":    {scheduled("0 0 31 6,SEP *", ""), web, `Its schedule "0 0 31 6,SEP *" never starts a Job: no date matches it.`},
		"after February 29th":        {scheduled("* 0 30-31,31/1 feb ?", ""), web, `Its schedule "* 0 30-31,31/1 feb ?" never starts a Job: no date matches it.`},
		"one of two months":          {scheduled("0 0 31 2,3 *", ""), web, ""},
		"one of two days":            {scheduled("0 0 30,1 2 *", ""), web, ""},
		"range of months":            {scheduled("0 0 31 2-3 *", ""), web, ""},
		"each month":                 {scheduled("0 0 31 * *", ""), web, ""},
		"list without a day":         {scheduled("0 0 30, 2 *", ""), web, ""},
		"Mondays of February":        {scheduled("0 0 30 2 1", ""), web, ""}, // the day of the month, or that of the week
		"each second day":            {scheduled("0 0 */2 2 *", ""), web, ""},
		"February 30th in Lisbon":    {scheduled("TZ=Europe/Lisbon 0 0 30 2 *", ""), web, ""}, // which the API server refuses
		"interval":                   {scheduled("@every 30m", ""), web, ""},
		"schedule by its name":       {scheduled("@daily", ""), web, ""},
		"skipped start":              {cronJob, skipped("00:02:00") + "\n---\n" + active, "Its last start was skipped: Job x-1 is active and concurrencyPolicy is Forbid."},
		"late start":                 {cronJob, skipped("00:01:00") + "\n---\n" + active, ""}, // which upstream reports as long as the Job before is active
		"failed Job of a CronJob":    {cronJob, started("x-0", "Complete", "00:00") + "\n---\n" + started("x-1", "Failed", "01:00"), "Its last Job to finish, x-1, has failed: BackoffLimitExceeded."},
		"Job of a CronJob":           {cronJob, started("x-0", "Failed", "00:00") + "\n---\n" + started("x-1", "Complete", "01:00"), ""},
		"budget":                     {budget(", expectedPods: 1, desiredHealthy: 1, currentHealthy: 0"), web, ""},
		"budget that allows nothing": {budget(", expectedPods: 2, desiredHealthy: 2, currentHealthy: 2"), web, "It allows no eviction although all of its Pods are healthy: it requires 2 of 2."},
		"budget after an eviction":   {budget(", expectedPods: 2, desiredHealthy: 1, currentHealthy: 2"), web, ""},
		"budget that is not synced":  {budget(", expectedPods: 2, desiredHealthy: 1, currentHealthy: 2, conditions: [{type: DisruptionAllowed, status: \"False\", reason: SyncFailed, message: foos does not implement the scale subresource}]"), web, "Its condition DisruptionAllowed is False: SyncFailed: foos does not implement the scale subresource."},
		"budget that allows one":     {budget(", expectedPods: 2, desiredHealthy: 1, currentHealthy: 2, disruptionsAllowed: 1"), web, ""},
		"budget without Pods":        {budget(", expectedPods: 0"), web, "Its selector matches no Pod."},
		"budget of another Pod":      {budget(", expectedPods: 0"), labelled("wbe"), "Its selector matches no Pod."},
		"budget of bare Pods":        {budget(", expectedPods: 0"), labelled("web"), ""}, // upstream counts none with maxUnavailable
		"budget without selector":    {strings.Replace(budget(", expectedPods: 0"), "selector: {matchLabels: {app: web}}", "", 1), labelled("web"), "Its selector matches no Pod."},
		"budget of all Pods":         {strings.Replace(budget(", expectedPods: 0"), "matchLabels: {app: web}", "", 1), labelled("web"), ""},
		"Pod":                        {strings.Replace(runningPod, "status:", "spec: {nodeName: n1}\nstatus:", 1), web, ""},
		"Pod without a node":         {strings.Replace(runningPod, "status:", "spec: {nodeName: ghost}\nstatus:", 1), web, "Its node ghost does not exist: pod-garbage-collector-controller is going to delete the Pod."},
		"finished Pod":               {`{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: shop}, spec: {nodeName: ghost}, status: {phase: Succeeded}}`, web, ""},
		"retained volume":            {volume("Retain", "Released"), web, "It is Released: the PersistentVolumeClaim shop/c that it was bound to was deleted, and no claim can use it until its spec.claimRef is removed."},
		"released volume":            {volume("Delete", "Released"), web, ""},
		"bound volume":               {volume("Retain", "Bound"), web, ""},
		"volume not deleted":         {volume("Delete", "Failed, message: no deleter"), web, "It has failed: no deleter."},
		"budget that was changed":    {strings.Replace(budget(", expectedPods: 0"), "observedGeneration: 1", "observedGeneration: 0", 1), web, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, append(documents(tc.other), tc.object)...)
			r := RefOf(parseObject(t, tc.object))
			s, err := c.Examine(t.Context(), r.Kind, r.Namespace, r.Name)
			if got := s.Problem(); err != nil || tc.want != "" && got != tc.want || tc.want == "" && s.Doubt != "" {
				t.Errorf("got %s: %s, %v\nwant %s", s.Status, got, err, tc.want)
			}
		})
	}
}

// What cannot be read is not said to be missing.
func TestExamineUnreadableNeeds(t *testing.T) {
	c := newCluster(t, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, namespace: shop, generation: 1}, spec: {replicas: 0, serviceName: web}, status: {observedGeneration: 1}}`)
	c.objects.PrependReactor("get", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("services is forbidden")
	})
	if s, err := c.Examine(t.Context(), "statefulsets", "shop", "x"); err == nil || !strings.Contains(err.Error(), "services is forbidden") {
		t.Errorf("got %+v, %v", s, err)
	}
}

// Of objects that are not healthy in time, Wait also passes on what the others lack.
func TestFailedWaitNamesDoubts(t *testing.T) {
	const binding = `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: x, namespace: shop}, roleRef: {kind: Role, name: r}}`
	c := newCluster(t, binding)
	refs := []Ref{RefOf(parseObject(t, binding)), RefOf(parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: none, namespace: shop}}`))}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("too late"))
	defer cancel()
	var said []string
	err := c.Wait(ctx, refs, Options{Doubtful: func(s State) { said = append(said, s.Doubt) }})
	if want := []string{"its Role r does not exist: it grants nothing"}; err == nil || !slices.Equal(said, want) {
		t.Errorf("got %q, %v; want %q", said, err, want)
	}
}

// Wait passes on at its end what makes objects doubtful: it does not wait for what they need.
func TestWaitNamesDoubts(t *testing.T) {
	const ready = `{phase: Running, podIP: 10.1.0.1, conditions: [{type: Ready, status: "True"}]}`
	svc := strings.Replace(service, "%SPEC%", "", 1)
	for name, tc := range map[string]struct {
		pod, want string
		judged    bool // the Pod is not healthy itself
	}{
		"a Pod":              {webPod("a", "web", ready), "", false},
		"no Pod":             {webPod("a", "wbe", ready), "Service is ready, but it has no ready endpoint: its selector app=web matches no Pod", false},
		"an unhealthy Pod":   {webPod("a", "web", "{phase: Pending}"), "Service is ready, but it has no ready endpoint: its selector app=web matches 1 Pod, none of which is ready: Pod a: the kubelet of node node-1 has not started it", true},
		"one that has ended": {webPod("a", "web", "{phase: Succeeded}"), "Service is ready, but it has no endpoint: its selector app=web matches only completed Pods: 1 Pod", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, svc, tc.pod, widget)
			c.serve("example.com/v1", "widgets", "Widget", true)
			u := parseObject(t, svc)
			var said []string
			refs := []Ref{RefOf(u), RefOf(parseObject(t, widget))}
			if err := c.Wait(t.Context(), refs, Options{Doubtful: func(s State) { said = append(said, s.Message) }}); err != nil || strings.Join(said, "; ") != tc.want {
				t.Errorf("got %q, %v; want %q", said, err, tc.want)
			}
			if got := c.DoubtOf(t.Context())(u); got != "" && (tc.judged || got != strings.TrimPrefix(tc.want, "Service is ready, but ")) || got == "" && tc.want != "" && !tc.judged {
				t.Errorf("got the doubt %q", got)
			}
		})
	}
}

// docs/tracing.md has a table with a row for each kind with a rule.
func TestDoubtRulesAreDocumented(t *testing.T) {
	page := testutil.ReadFile(t, "../docs/tracing.md")
	_, table, _ := strings.Cut(page, "\n| Kind | What `why` says of a healthy object |\n| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var documented, want []string
	for row := range strings.Lines(table) {
		kinds := strings.Split(row, "|")[1]
		documented = append(documented, strings.Split(strings.TrimSpace(kinds), ", ")...)
	}
	for kind := range doubtRules {
		want = append(want, kind.Kind)
	}
	want = append(want, "any kind") // explainUnservedOwner
	slices.Sort(documented)
	slices.Sort(want)
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Errorf("the table of docs/tracing.md differs from doubtRules, -want +got:\n%s", diff)
	}
}
