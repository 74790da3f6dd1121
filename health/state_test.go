package health

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rollout is a Rollout of Argo, with the type that its CRD has for status.observedGeneration.
func rollout(generation int, observed, status string) string {
	return fmt.Sprintf(`{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: r, generation: %d}, status: {observedGeneration: "%s", %s}}`, generation, observed, status)
}

// What a Rollout reports: the conditions of one that is aborted do not say that it is not healthy.
const (
	healthyRollout  = `phase: Healthy, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True"}]`
	degradedRollout = `phase: Degraded, message: "RolloutAborted: metric failed", conditions: [{type: Available, status: "True"}, {type: Progressing, status: "False", reason: RolloutAborted, message: metric failed}]`
)

// observing is a Widget whose observedGeneration kstatus cannot read.
func observing(status, conditions string) string {
	if status == "" {
		status = "conditions: [" + conditions + "]"
	}
	return `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 1}, status: {observedGeneration: true, ` + status + `}}`
}

// run is a TaskRun of Tekton, which has one condition.
func run(succeeded string) string {
	return `{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: r}, status: {conditions: [{type: Succeeded, ` + succeeded + `}]}}`
}

// generations is a Widget with conditions that may be of an earlier generation than its own.
func generations(own int, conditions string) string {
	return fmt.Sprintf(`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: %d, managedFields: [{manager: op, subresource: status}]}, status: {conditions: [%s]}}`, own, conditions)
}

// unreadable is an object of which neither kstatus nor we can say whether it is ready.
const unreadable = `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w}, status: {conditions: [{type: Ready, status: true}]}}`

// What cannot be judged is not said to be not ready, and why is said once.
func TestUnknownState(t *testing.T) {
	c := newCluster(t, unreadable, warning("w", "Failed", "no paint", "2026-01-01T00:00:00Z"))
	c.serve("example.com/v1", "widgets", "Widget", true)
	s, err := c.Examine(t.Context(), "widgets.example.com", "shop", "w")
	const want = "Whether it is ready is not known: its status.conditions[0].status is not a string; last warning: Failed: no paint."
	if err != nil || s.Problem() != want {
		t.Errorf("got  %s, %v\nwant %s", s.Problem(), err, want)
	}
}

// An object of which nothing but its state is known gives a sentence, too.
func TestProblemWithoutAMessage(t *testing.T) {
	u := parseObject(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {conditions: [{type: Ready, status: "False"}]}}`)
	if got := StateOf(u).Problem(); got != "It is not ready." {
		t.Errorf("got %s", got)
	}
}

// The Ready condition of operators with operatorpkg lists other conditions, which have the reason.
func TestReadyListsOtherConditions(t *testing.T) {
	const listed = `{type: Ready, status: "False", reason: UnhealthyDependents, message: "Registered=Unknown, NodeClassReady=False"}`
	for name, test := range map[string]struct{ others, want string }{
		"with their reasons": {
			`{type: NodeClassReady, status: "False", reason: NodeClassNotFound, message: "NodeClass not found\non cluster."}, {type: Registered, status: Unknown, reason: NodeNotFound}`,
			"UnhealthyDependents: Registered=Unknown: NodeNotFound; NodeClassReady=False: NodeClassNotFound: NodeClass not found on cluster",
		},
		"that have changed since": {
			`{type: NodeClassReady, status: "True", reason: NodeClassReady}`,
			"UnhealthyDependents: Registered=Unknown; NodeClassReady=False",
		},
	} {
		u := parseObject(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {conditions: [`+listed+", "+test.others+`]}}`)
		if got := StateOf(u).Message; got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, test.want)
		}
	}
}

func TestStateOf(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		want   State
	}{
		"rolled out":   {rolledOut, State{Status: Current, Message: "Deployment is available. Replicas: 2"}},
		"just created": {justMade, State{Status: InProgress, Message: "Replicas: 0/2"}},
		"running Pod":  {runningPod, State{Status: Current, Message: "Pod is Ready"}},
		"failed Pod":   {failedPod, State{Status: Failed, Message: "Pod has failed", Final: true}},
		"ConfigMap":    {`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}`, State{Status: Current, Message: "Resource is always ready"}},
		"deadline exceeded": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, status: {conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`,
			State{Status: Failed, Message: "Progress deadline exceeded", Final: true},
		},
		"load balancer without address": {
			`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}}`,
			State{Status: InProgress, Message: "no external address"},
		},
		"load balancer": {
			`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}}`,
			State{Status: Current, Message: "Service is ready"},
		},
		"new APIService": {
			`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}}`,
			State{Status: InProgress, Message: "not available"},
		},
		"APIService without service": {
			`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, status: {conditions: [{type: Available, status: "False", reason: ServiceNotFound, message: no service}]}}`,
			State{Status: InProgress, Message: "not available: ServiceNotFound: no service"},
		},
		"APIService": {
			`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, status: {conditions: [{type: Available, status: "True"}]}}`,
			State{Status: Current, Message: "Resource is current"},
		},
		"Job with a Pod that is not ready": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {startTime: "2026-01-01T00:00:00Z", active: 2, ready: 1}}`,
			State{Status: InProgress, Message: "Ready: 1/2, failed: 0"},
		},
		"Job between two Pods": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {startTime: "2026-01-01T00:00:00Z", failed: 1, ready: 0}}`,
			State{Status: InProgress, Message: "Ready: 0/0, failed: 1"},
		},
		"Job that runs": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {startTime: "2026-01-01T00:00:00Z", active: 2, ready: 2}}`,
			State{Status: Current, Message: "Job in progress. success:0, active: 2, failed: 0"},
		},
		"Job that is complete": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {startTime: "2026-01-01T00:00:00Z", succeeded: 1, conditions: [{type: Complete, status: "True"}]}}`,
			State{Status: Current, Message: "Job Completed. succeeded: 1/1"},
		},
		"Job that has failed": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {startTime: "2026-01-01T00:00:00Z", failed: 1, conditions: [{type: Failed, status: "True"}]}}`,
			State{Status: Failed, Message: "Job has failed", Final: true},
		},
		"Job that has failed for a reason": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {completions: 1}, status: {startTime: "2026-01-01T00:00:00Z", failed: 3, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: "Job has reached\nthe specified backoff limit"}]}}`,
			State{Status: Failed, Message: "Job has failed: BackoffLimitExceeded: Job has reached the specified backoff limit", Final: true},
		},
		"autoscaler without a target": {
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, status: {conditions: [{type: AbleToScale, status: "False", reason: FailedGetScale, message: "deployments.apps \"webb\" not found"}]}}`,
			State{Status: InProgress, Message: `FailedGetScale: deployments.apps "webb" not found`},
		},
		"autoscaler without metrics": {
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, status: {conditions: [{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: no metrics}]}}`,
			State{Status: InProgress, Message: "FailedGetResourceMetric: no metrics"},
		},
		"autoscaler that is off": {
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, status: {conditions: [{type: ScalingActive, status: "False", reason: ScalingDisabled}]}}`,
			State{Status: Current, Message: "Resource is current"},
		},
		"being deleted": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: j, deletionTimestamp: "2026-01-01T00:00:00Z"}}`,
			State{Status: Terminating, Message: "Resource scheduled for deletion"},
		},
		"custom without conditions": {widget, State{Status: Current, Message: "Resource is current"}},
		"custom that is not ready": {
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {conditions: [{type: Ready, status: "False", reason: NoPaint, message: "the paint\nis out"}]}}`,
			State{Status: InProgress, Message: "NoPaint: the paint is out"},
		},
		"custom that could not be reconciled": {
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {conditions: [{type: Synced, status: "True"}, {type: Reconciled, status: "False", reason: NoPaint, message: "the paint\nis out."}, {type: Degraded, status: "True"}]}}`,
			State{
				Status: Current, Message: "Resource is current, but its condition Reconciled is False: NoPaint: the paint is out; its condition Degraded is True",
				Doubt: "its condition Reconciled is False: NoPaint: the paint is out; its condition Degraded is True",
			},
		},
		"custom with other conditions": {
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {conditions: [{type: Progressing, status: "False"}, {type: Degraded, status: "False"}, {type: Available, status: "True"}]}}`,
			State{Status: Current, Message: "Resource is current"},
		},
		"custom whose health is not known": {
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {conditions: [{type: Available, status: Unknown, reason: WaitingForPaint}, {type: Degraded, status: Unknown}]}}`,
			State{
				Status: Current, Message: "Resource is current, but its condition Available is Unknown: WaitingForPaint",
				Doubt: "its condition Available is Unknown: WaitingForPaint",
			},
		},
		"built-in with such a condition": {
			`{apiVersion: v1, kind: Node, metadata: {name: n}, status: {conditions: [{type: Ready, status: "True"}, {type: Available, status: "False"}]}}`,
			State{Status: Current, Message: "Resource is Ready"},
		},
		"custom that is stalled": {
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {conditions: [{type: Stalled, status: "True", reason: Broke, message: it broke}]}}`,
			State{Status: Failed, Message: "Broke: it broke"},
		},
		"custom whose change was not observed": {
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 2}, status: {observedGeneration: 1}}`,
			State{Status: InProgress, Message: "LatestGenerationNotObserved: Widget generation is 2, but latest observed generation is 1"},
		},
		"custom whose conditions are of an earlier generation": {
			generations(3, `{type: Ready, status: "True", observedGeneration: 2}, {type: Scheduled, status: "True", observedGeneration: 1}`),
			State{Status: Current, Message: "Resource is Ready, but its conditions are of generation 2 or before, and it is at generation 3", Doubt: "its conditions are of generation 2 or before, and it is at generation 3"},
		},
		"custom of whose conditions one is of its generation": {
			generations(3, `{type: Ready, status: "True", observedGeneration: 1}, {type: Scheduled, status: "True", observedGeneration: 3}`),
			State{Status: Current, Message: "Resource is Ready"},
		},
		"custom that has observed its generation, but not in its conditions": {
			strings.Replace(generations(3, `{type: Ready, status: "True", observedGeneration: 1}`), "status: {", "status: {observedGeneration: 3, ", 1),
			State{Status: Current, Message: "Resource is Ready"},
		},
		"custom whose conditions have no generation": {
			generations(3, `{type: Ready, status: "True", observedGeneration: 0}, {type: Scheduled, status: "True"}`), State{Status: Current, Message: "Resource is Ready"},
		},
		"custom without the subresource status": {
			strings.Replace(generations(3, `{type: Ready, status: "True", observedGeneration: 2}`), ", subresource: status", "", 1),
			State{Status: Current, Message: "Resource is Ready"},
		},
		"custom whose conditions have an unreadable generation": {
			generations(3, `{type: Available, status: "True", observedGeneration: "1"}`), State{Status: Current, Message: "Resource is current"},
		},
		"Rollout": {rollout(3, "3", healthyRollout), State{Status: Current, Message: "Resource is current"}},
		"Rollout whose change was not observed": {
			rollout(3, "2", healthyRollout),
			State{Status: InProgress, Message: "LatestGenerationNotObserved: Rollout generation is 3, but latest observed generation is 2"},
		},
		"Rollout that is degraded":   {rollout(3, "3", degradedRollout), State{Status: Failed, Message: "Degraded: RolloutAborted: metric failed"}},
		"Rollout that progresses":    {rollout(3, "3", "phase: Progressing, message: more replicas need to be updated"), State{Status: InProgress, Message: "Progressing: more replicas need to be updated"}},
		"Rollout that is paused":     {rollout(3, "3", "phase: Paused, message: CanaryPauseStep"), State{Status: InProgress, Message: "Paused: CanaryPauseStep"}},
		"Rollout without a phase":    {rollout(3, "3", `conditions: [{type: Available, status: "True"}]`), State{Status: InProgress, Message: "it has no status.phase yet"}},
		"Rollout without a status":   {`{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: r, generation: 1}}`, State{Status: InProgress, Message: "it has no status.phase yet"}},
		"Workflow that has failed":   {`{apiVersion: argoproj.io/v1alpha1, kind: Workflow, metadata: {name: w}, status: {phase: Error}}`, State{Status: Failed, Message: "Error", Final: true}},
		"TaskRun that runs":          {run(`status: Unknown, reason: Running, message: Not all Steps have finished executing`), State{Status: InProgress, Message: "Running: Not all Steps have finished executing"}},
		"TaskRun that was pending":   {run(`status: Unknown`), State{Status: InProgress, Message: "its condition Succeeded is Unknown"}},
		"TaskRun that has failed":    {run(`status: "False", reason: TaskRunTimeout, message: "failed to finish within 1m"`), State{Status: Failed, Message: "TaskRunTimeout: failed to finish within 1m", Final: true}},
		"TaskRun that has succeeded": {run(`status: "True", reason: Succeeded, message: All Steps have completed executing`), State{Status: Current, Message: "Resource is current"}},
		"TaskRun without a status": {
			`{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: r}}`, State{Status: InProgress, Message: "it has no condition Succeeded yet"},
		},
		"TaskRun that has succeeded, with an observedGeneration of another form": {
			strings.Replace(run(`status: "True"`), "}, status: {", ", generation: 1}, status: {observedGeneration: none, ", 1), State{Status: Current, Message: "Resource is current"},
		},
		"TaskRun that has succeeded, with another condition": {
			run(`status: "True"}, {type: Synced, status: "False"`), State{Status: Current, Message: "Resource is current"},
		},
		"Succeeded of a kind of which it is not known what False means": {
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {conditions: [{type: Succeeded, status: "False", reason: Running}]}}`,
			State{Status: Current, Message: "Resource is current"},
		},
		"AnalysisRun that is over":                             {`{apiVersion: argoproj.io/v1alpha1, kind: AnalysisRun, metadata: {name: a}, status: {phase: Successful}}`, State{Status: Current, Message: "Resource is current"}},
		"phase of another kind":                                {`{apiVersion: example.com/v1, kind: Rollout, metadata: {name: r}, status: {phase: Degraded}}`, State{Status: Current, Message: "Resource is current"}},
		"Rollout whose observedGeneration is a hash":           {rollout(3, "6c98b8764", healthyRollout), State{Status: Current, Message: "Resource is current"}},
		"Rollout whose observedGeneration is a hash of digits": {rollout(3, "5686874", healthyRollout), State{Status: Current, Message: "Resource is current"}},
		"Rollout with a hash that is degraded":                 {rollout(3, "6c98b8764", degradedRollout), State{Status: Failed, Message: "Degraded: RolloutAborted: metric failed"}},
		"Rollout that is being deleted":                        {strings.Replace(rollout(3, "3", degradedRollout), "name:", `deletionTimestamp: "2026-01-01T00:00:00Z", name:`, 1), State{Status: Terminating, Message: "Resource scheduled for deletion"}},
		"observedGeneration of another form, and not ready":    {observing("", `{type: Ready, status: "False", reason: NoPaint}`), State{Status: InProgress, Message: "NoPaint"}},
		"observedGeneration of another form, and ready":        {observing("", `{type: Ready, status: "True"}`), State{Status: Current, Message: "Resource is Ready"}},
		"observedGeneration of another form, and available":    {observing("", `{type: Available, status: "True"}, {type: Progressing, status: "False"}`), State{Status: Current, Message: "Resource is current"}},
		"observedGeneration of another form, and invalid":      {observing("", `{type: Available, status: "True"}, {type: InvalidSpec, status: "True", message: no paint}`), State{Status: InProgress, Message: "its condition InvalidSpec is True: no paint"}},
		"observedGeneration of another form, and unavailable":  {observing("", `{type: Ready, status: "True"}, {type: Synced, status: "False", reason: Unlucky}`), State{Status: InProgress, Message: "its condition Synced is False: Unlucky"}},
		"observedGeneration of another form, and no condition": {observing("phase: Broken", ""), State{Status: InProgress, Message: "none of its conditions says that it is healthy"}},
		"observedGeneration of another form, and others":       {observing("", `{type: Progressing, status: "False"}, {type: Available, status: Unknown}`), State{Status: InProgress, Message: "its condition Available is Unknown"}},
		"conditions of another form": {
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {conditions: {Ready: {status: "True"}}}}`,
			State{Status: Unknown, Message: "its status.conditions is not a list"},
		},
		"status of another form": {
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 1}, status: Ready}`,
			State{Status: Unknown, Message: "its status is not an object"},
		},
		"status of another form of an object that is being deleted": {
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 1, deletionTimestamp: "2026-01-01T00:00:00Z"}, status: Ready}`,
			State{Status: Terminating, Message: "Resource scheduled for deletion"},
		},
		"status of a condition of another form":  {unreadable, State{Status: Unknown, Message: "its status.conditions[0].status is not a string"}},
		"condition of another form":              {observing("", `{type: Ready, status: "True"}, Ready`), State{Status: Unknown, Message: "its status.conditions[1] is not an object"}},
		"message of a condition of another form": {observing("", `{type: Ready, status: "True", message: [ok]}`), State{Status: Unknown, Message: "its status.conditions[0].message is not a string"}},
	} {
		t.Run(name, func(t *testing.T) {
			u := parseObject(t, test.object)
			test.want.Ref = RefOf(u)
			if diff := cmp.Diff(test.want, StateOf(u)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An object whose status cannot be read is explained as it is, not as it was before.
func TestWaitForAStatusThatCannotBeRead(t *testing.T) {
	b := newTracker([]Ref{RefOf(parseObject(t, widget))}, Options{})
	for _, object := range []string{widget, unreadable} {
		u := parseObject(t, object)
		b.applyUpdate(objectUpdate{ref: RefOf(u), object: u})
	}
	c := newCluster(t, unreadable)
	c.serve("example.com/v1", "widgets", "Widget", true)
	const want = "its status.conditions[0].status is not a string"
	if got := c.newSearch(t.Context(), searchOptions{}, nil).explainState(&b.objects[0], false).Reason; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
