package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

func stages() dynamic.ResourceInterface {
	return controlPlane.dynamic.Resource(schema.GroupVersionResource{Group: "kwok.x-k8s.io", Version: "v1alpha1", Resource: "stages"})
}

// newStage returns a Stage for the Pods of one app.
func newStage(t *testing.T, app, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(spec, "APP", app)), &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetAPIVersion("kwok.x-k8s.io/v1alpha1")
	object.SetKind("Stage")
	object.SetName(app)
	return object
}

// createStage creates a Stage and deletes it when the test ends.
func createStage(t *testing.T, app, spec string) {
	t.Helper()
	object := newStage(t, app, spec)
	if _, err := stages().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		if err := stages().Delete(ctx, app, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// failingStage makes running Pods fail after a second.
const failingStage = `
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchLabels: {app: APP}
    matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]
  delay: {durationMilliseconds: 1000}
  next:
    event: {type: Warning, reason: Broken, message: as the stage says}
    statusTemplate: |
      phase: Failed
      reason: Broken
`

func TestWorkloadStageFailsPod(t *testing.T) {
	ns, app := beginWorkload(t), uniqueName("fails")
	createStage(t, app, failingStage)
	createObject(t, pods(ns), newPod("broken", map[string]string{"app": app}))
	createObject(t, pods(ns), newPod("other", webLabels))
	// The stage leaves the containers alone: the kubelet stops those of a Pod that has failed.
	failed := await(t, "failed pod without a running container", getByName(pods(ns), "broken"), func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodFailed && p.Status.ContainerStatuses[0].State.Terminated != nil
	})
	if s := failed.Status; s.Reason != "Broken" || s.StartTime == nil || s.ContainerStatuses[0].State.Terminated.ExitCode != 143 {
		t.Errorf("status: %s", toYAML(s))
	}
	awaitEvent(t, ns, "Pod", "broken", "Broken")
	await(t, "running pod of another app", getByName(pods(ns), "other"), func(p *corev1.Pod) bool { return isRunning(*p) })
}

// crashingStage terminates the container of a Pod some time after each start.
const crashingStage = `
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchLabels: {app: APP}
    matchExpressions: [{key: '.status.containerStatuses.[].state.running.startedAt', operator: Exists}]
  delay: {durationMilliseconds: 500}
  next:
    statusTemplate: |
      {{ $was := index .status.containerStatuses 0 }}
      containerStatuses:
      - name: {{ $was.name }}
        image: {{ $was.image }}
        imageID: ""
        ready: false
        restartCount: {{ $was.restartCount }}
        state:
          terminated: {exitCode: 7, reason: Error, startedAt: {{ Quote $was.state.running.startedAt }}, finishedAt: {{ Quote Now }}}
`

// Repeatedly crashing Pods block a rollout, and the Deployment reports it.
func TestWorkloadStageBlocksRollout(t *testing.T) {
	ns, app := beginWorkload(t), uniqueName("crashes")
	createStage(t, app, crashingStage)
	d := newDeployment("registry.invalid/app:1")
	// The Pod must fail before it counts as available, even on a busy machine: the condition never
	// comes otherwise.
	d.Spec.Replicas, d.Spec.MinReadySeconds, d.Spec.ProgressDeadlineSeconds = new(int32(1)), 40, new(int32(41))
	labels := map[string]string{"app": app}
	d.Spec.Selector, d.Spec.Template.Labels = labelSelector(labels), labels
	createObject(t, deployments(ns), d)
	awaitWithin(t, 2*waitTimeout, "ProgressDeadlineExceeded condition", getByName(deployments(ns), "web"), func(d *appsv1.Deployment) bool {
		c := deploymentCondition(d, appsv1.DeploymentProgressing)
		return c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded"
	})
	p := awaitPods(t, ns, "app="+app, 1)[0]
	// Between the stage and the next start the status is what the stage writes, without the last state.
	again := await(t, "second run", getByName(controlPlane.client.CoreV1().Pods(ns), p.Name), func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].LastTerminationState.Terminated != nil
	})
	s := again.Status.ContainerStatuses[0]
	if s.RestartCount < 1 || s.LastTerminationState.Terminated.ExitCode != 7 {
		t.Errorf("container: %s", toYAML(s))
	}
}

// The delay of a Stage goes on when the Pod changes. It is over when the Pod does not match any more, or its node fails.
func TestWorkloadStageDelay(t *testing.T) {
	ns, app, pool := beginWorkload(t), uniqueName("slow"), uniqueName("pool")
	lost := newPod("lost", map[string]string{"app": app})
	lost.Spec.NodeName = createOwnNode(t, pool)
	selectPool(&lost.Spec, pool)
	createObject(t, pods(ns), lost)
	for _, name := range []string{"freed", "steady"} {
		createObject(t, pods(ns), newPod(name, map[string]string{"app": app}))
	}
	awaitRunning(t, ns, "app="+app, 3)
	createStage(t, app, strings.Replace(failingStage, "1000", "15000", 1))
	updateObject(t, pods(ns), "freed", func(p *corev1.Pod) { p.Labels = nil })
	if err := newRemoteClient(t).Nodes().Fail(t.Context(), lost.Spec.NodeName); err != nil {
		t.Fatal(err)
	}
	await(t, "failed pod that changes all the time", func(ctx context.Context) (*corev1.Pod, error) {
		return tryUpdate(ctx, pods(ns), "steady", func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, "now", time.Now().String()) })
	}, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	createObject(t, pods(ns), newPod("later", map[string]string{"app": app})) // its delay ends after that of the others
	await(t, "failed pod", getByName(pods(ns), "later"), func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	for _, name := range []string{"freed", "lost"} {
		if p := getObject(t, pods(ns), name); p.Status.Phase != corev1.PodRunning {
			t.Errorf("pod %s: %s", name, toYAML(p.Status))
		}
	}
}

// applyingStage creates a ConfigMap with the name of the Pod.
const applyingStage = `
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchLabels: {app: APP}
    matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]
  steps:
  - apply:
      template: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ .metadata.name }}, namespace: {{ .metadata.namespace }}}
`

// A Stage that is refused is played again if the code of the answer says so, whatever its text says.
func TestWorkloadStageIsRefused(t *testing.T) {
	ns, app := beginWorkload(t), uniqueName("refused")
	var busy atomic.Int32
	h := &fakeWebhook{decide: func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		switch {
		case r.Name == "final":
			return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusForbidden, Message: "the namespace makes too many requests"}}
		case r.Name == "busy" && busy.Add(1) == 1:
			return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusServiceUnavailable, Message: "come back"}}
		}
		return &admissionv1.AdmissionResponse{Allowed: true}
	}}
	_, how := h.startServer(t)
	name := uniqueName("webhook")
	createShared(t, controlPlane.client.AdmissionregistrationV1().ValidatingWebhookConfigurations(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "refuses.e2e.example", ClientConfig: how, Rules: []admissionregistrationv1.RuleWithOperations{ruleFor(admissionregistrationv1.Create, "", "v1", "configmaps")},
			NamespaceSelector: selectNamespace(ns), SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, name)
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "final"}}
	_ = awaitRefusal(t, "final", "too many requests", dryRunCreate(configMaps(ns), probe))
	createStage(t, app, applyingStage)
	for _, name := range []string{"final", "busy"} {
		createObject(t, pods(ns), newPod(name, map[string]string{"app": app}))
	}
	await(t, "object of a stage", getByName(configMaps(ns), "busy"), anyState)
	if e := awaitEvent(t, ns, "Pod", "final", "StageFailed"); !strings.Contains(e.Message, "the namespace makes too many requests") {
		t.Errorf("the event says %q", e.Message)
	}
	events, err := controlPlane.client.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=StageFailed,involvedObject.name=busy"})
	if err != nil || len(events.Items) > 0 {
		t.Errorf("events about what has succeeded: %s: %v", toYAML(events), err)
	}
}

// An invalid Stage is refused, and one that cannot be used reports why.
func TestWorkloadStageErrors(t *testing.T) {
	beginWorkload(t)
	_, err := stages().Create(t.Context(), newStage(t, uniqueName("typo"), strings.Replace(failingStage, "kind: Pod", "kind: 1", 1)), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "spec.resourceRef.kind") {
		t.Errorf("a kind that is not a string: %v", err)
	}
	for want, spec := range map[string]string{
		"only stages of v1 Pod and v1 Node are played": strings.Replace(failingStage, "kind: Pod", "kind: Secret", 1),
		"has no selector": "spec:\n  resourceRef: {apiGroup: v1, kind: Pod}\n  next: {delete: true}\n",
		"unexpected EOF":  strings.Replace(failingStage, "key: .status.phase", `key: '.status['`, 1),
	} {
		app := uniqueName("wrong")
		createStage(t, app, spec)
		if e := awaitEvent(t, metav1.NamespaceDefault, "Stage", app, "InvalidStage"); !strings.Contains(e.Message, want) {
			t.Errorf("the event says %q, want %q", e.Message, want)
		}
	}
}
