package nodes

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/observe"
)

const podStage = `
metadata: {name: fails}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchLabels: {fails: "yes"}
    matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]
  next: {statusTemplate: "phase: Failed\nreason: Demo"}
`

func parseStage(t *testing.T, text string) *v1alpha1.Stage {
	t.Helper()
	stage := &v1alpha1.Stage{}
	if err := yaml.UnmarshalStrict([]byte(text), stage); err != nil {
		t.Fatal(err)
	}
	return stage
}

func TestStageSetErrors(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"valid":       {"", "", ""},
		"kind":        {"kind: Pod", "kind: Service", "stage fails is of v1 Service: only stages of v1 Pod and v1 Node are played"},
		"expression":  {"key: .status.phase", `key: ".status["`, "stage fails: "},
		"CEL":         {"{key: .status.phase, operator: In, values: [Running]}", `{cel: {expression: "self."}}`, "stage fails: failed to compile expression"},
		"no selector": {"  selector:\n    matchLabels: {fails: \"yes\"}\n    matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]\n", "", "stage fails has no selector"},
	} {
		t.Run(name, func(t *testing.T) {
			text := podStage
			if c.from != "" {
				text = strings.Replace(text, c.from, c.to, 1)
			}
			set := newStageSet(nil)
			_, err := set.set(parseStage(t, text))
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
				t.Errorf("set: %v, want %q", err, c.want)
			}
			var want []string
			if c.want == "" {
				want = []string{"fails"}
			}
			if diff := cmp.Diff(want, set.names()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStageSetMatch(t *testing.T) {
	set := newStageSet(nil)
	pod := testPod(func(p *corev1.Pod) {
		p.Labels = map[string]string{"fails": "yes"}
		p.Status.Phase = corev1.PodRunning
	})
	var current dueStage
	match := func() string {
		current, _ = set.match(t.Context(), podRef, &pod.ObjectMeta, pod, epoch, current)
		return current.name
	}
	if got := match(); got != "" {
		t.Errorf("an empty set matches %q", got)
	}
	for _, text := range []string{
		podStage,
		strings.NewReplacer("name: fails", "name: never", `{key: .status.phase, operator: In, values: [Running]}`, `{cel: {expression: 'self.metadata.annotations["none"] == ""'}}`).Replace(podStage),
		strings.NewReplacer("name: fails", "name: node", "kind: Pod", "kind: Node").Replace(podStage),
	} {
		if _, err := set.set(parseStage(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	if got := match(); got != "user/fails" {
		t.Errorf("matched %q, want user/fails: the other two do not apply", got)
	}
	heavy := parseStage(t, strings.Replace(podStage, "name: fails", "name: heavy", 1))
	heavy.Spec.Weight = 1
	if _, err := set.set(heavy); err != nil {
		t.Fatal(err)
	}
	if got := match(); got != "user/heavy" {
		t.Errorf("matched %q, want the one with a weight", got)
	}
	heavy = heavy.DeepCopy()
	heavy.Name, heavy.Spec.Weight = "heavier", 1<<40
	if _, err := set.set(heavy); err != nil {
		t.Fatal(err)
	}
	if got := match(); got != "user/heavy" {
		t.Errorf("matched %q, want the current one, which could be drawn", got)
	}
	set.remove("heavy")
	set.remove("heavier")
	pod.Labels = nil
	if got := match(); got != "" {
		t.Errorf("matched %q without the label", got)
	}
}

// TestStageWithAnInvalidWeight has several stages whose weights come from an annotation: of a
// negative sum kwok cannot draw one.
func TestStageWithAnInvalidWeight(t *testing.T) {
	set := newStageSet(nil)
	for _, name := range []string{"a", "b", "c"} {
		stage := parseStage(t, strings.NewReplacer("name: fails", "name: "+name, "spec:\n", "spec:\n  weightFrom: {jq: {expression: '.metadata.annotations[\"weight-"+name+"\"]'}}\n").Replace(podStage))
		if _, err := set.set(stage); err != nil {
			t.Fatal(err)
		}
	}
	for _, weights := range []struct{ a, b, want string }{
		{"-5", "-1", "user/c"},
		{"9223372036854775807", "9223372036854775807", "user/c"},
		{"-5", "1", "user/b"},
	} {
		pod := testPod(func(p *corev1.Pod) {
			p.Labels = map[string]string{"fails": "yes"}
			p.Annotations = map[string]string{"weight-a": weights.a, "weight-b": weights.b, "weight-c": "0"}
			p.Status.Phase = corev1.PodRunning
		})
		if what, _ := set.match(t.Context(), podRef, &pod.ObjectMeta, pod, epoch, dueStage{}); what.name != weights.want {
			t.Errorf("weights %+v: matched %q", weights, what.name)
		}
	}
}

// TestEndlessStage has, beside another one, a Stage with an expression that does not end: only that Stage is ignored.
func TestEndlessStage(t *testing.T) {
	const selector = "matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]"
	for name, change := range map[string][2]string{
		"recursion":    {selector, "matchExpressions: [{key: 'def f: f; f', operator: DoesNotExist}]"},
		"many results": {selector, "matchExpressions: [{key: 'range(1; 1e12)', operator: Exists}]"},
		"weight":       {"spec:\n", "spec:\n  weightFrom: {jq: {expression: 'def f: f; f'}}\n"},
		"delay":        {"spec:\n", "spec:\n  delay: {durationFrom: {jq: {expression: 'def f: f; f'}}}\n"},
		"jitter":       {"spec:\n", "spec:\n  delay: {durationMilliseconds: 1, jitterDurationFrom: {jq: {expression: 'def f: f; f'}}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var ignored []string
			set := newStageSet(func(stage *corev1.ObjectReference, why error) {
				ignored = append(ignored, stage.Kind+" "+stage.Name+": "+why.Error())
			})
			endless := strings.NewReplacer("name: fails", "name: endless", change[0], change[1]).Replace(podStage)
			for _, text := range []string{podStage, endless} {
				if _, err := set.set(parseStage(t, text)); err != nil {
					t.Fatal(err)
				}
			}
			pod := testPod(func(p *corev1.Pod) {
				p.Labels = map[string]string{"fails": "yes"}
				p.Status.Phase = corev1.PodRunning
			})
			matched := make(chan string)
			go func() {
				what, _ := set.match(t.Context(), podRef, &pod.ObjectMeta, pod, epoch, dueStage{})
				matched <- what.name
			}()
			select {
			case got := <-matched:
				if got != "user/fails" {
					t.Errorf("matched %q", got)
				}
			case <-time.After(waitTimeout):
				t.Fatal("the expression does not end: does gojq call Done of its context before each step?")
			}
			want := []string{"Stage endless: stage endless is ignored until it changes: for Pod n/p its expressions take more than 1048576 steps"}
			if diff := cmp.Diff(want, ignored); diff != "" {
				t.Error(diff)
			}
			if _, err := set.set(parseStage(t, endless)); err != nil { // as a list has it again
				t.Fatal(err)
			}
			if !set.has(set.users["fails"]) || set.has(set.users["endless"]) {
				t.Error("not only the endless stage is ignored")
			}
		})
	}
}

// TestEndlessStageOfOthers has a Stage that is due for a Pod when its expressions do not end for another one:
// the default behaviour of the first continues.
func TestEndlessStageOfOthers(t *testing.T) {
	client := fake.NewClientset()
	f := startTestFleet(t, client, Config{Count: 1})
	stage := strings.NewReplacer("{key: .status.phase,", "{key: 'if .metadata.labels.endless then (def f: f; f) else .status.phase end',", "values: [Running]", "values: [Pending]", "spec:\n", "spec:\n  delay: {durationMilliseconds: 3600000}\n").Replace(podStage)
	if _, err := f.simulation.stages.set(parseStage(t, stage)); err != nil {
		t.Fatal(err)
	}
	create := func(name string, labels map[string]string) *corev1.Pod {
		pod := testPod(func(p *corev1.Pod) { p.Name, p.UID, p.Labels = name, types.UID(name), labels })
		if _, err := client.CoreV1().Pods("n").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return pod
	}
	isRunning := func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }
	waitForPod(t, client, create("usual", nil), isRunning) // from now on, Pods are seen in the order of their creation
	first := create("first", map[string]string{"fails": "yes"})
	create("endless", map[string]string{"fails": "yes", "endless": "yes"})
	waitForPod(t, client, first, isRunning)
}

// TestFailedStage has a Stage whose template fails, in place of what is due for a Pod by default.
func TestFailedStage(t *testing.T) {
	client := fake.NewClientset()
	f := startTestFleet(t, client, Config{Count: 1})
	stage := strings.NewReplacer("values: [Running]", "values: [Pending]", `"phase: Failed\nreason: Demo"`, `'{{ fail "it is a demo" }}'`).Replace(podStage)
	if _, err := f.simulation.stages.set(parseStage(t, stage)); err != nil {
		t.Fatal(err)
	}
	pod := testPod(func(p *corev1.Pod) { p.Labels = map[string]string{"fails": "yes"} })
	if _, err := client.CoreV1().Pods("n").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := awaitEvent(t, client, func(e *corev1.Event) bool { return e.Reason == "StageFailed" })
	if got.InvolvedObject.UID != pod.UID || !strings.HasPrefix(got.Message, "stage fails: ") || !strings.Contains(got.Message, "it is a demo") || got.Type != corev1.EventTypeWarning {
		t.Errorf("got %+v", got)
	}
	if due := f.NextDue(); len(due) != 0 {
		t.Errorf("due although it is not tried again: %+v", due)
	}
}

func TestFleetPlaysUserStages(t *testing.T) {
	client := fake.NewClientset()
	f := startTestFleet(t, client, Config{Count: 1})
	if _, err := f.simulation.stages.set(parseStage(t, podStage)); err != nil {
		t.Fatal(err)
	}
	pod := testPod(func(p *corev1.Pod) { p.Labels = map[string]string{"fails": "yes"} })
	if _, err := client.CoreV1().Pods("n").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := waitForPod(t, client, pod, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if got.Status.Reason != "Demo" {
		t.Errorf("reason %q, want Demo", got.Status.Reason)
	}
}

// TestStageApplies has a Stage that creates another object: that follows from the Pod.
func TestStageApplies(t *testing.T) {
	o, p, _ := newPlayedPod(t)
	client := fake.NewClientset()
	made := make(chan string, 1)
	objects := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
	objects.PrependReactor("create", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		object := a.(clienttesting.CreateAction).GetObject()
		p.recorder.RecordCall(&observe.Called{Verb: "create"})
		made <- object.(metav1.Object).GetName() + " in " + a.GetNamespace()
		return true, object, nil
	})
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	f, err := startWithClients(t.Context(), Config{Count: 1, Informers: runInformers(t, client)}, client, stageClients{dynamic: objects, mapper: mapper}, p)
	if err != nil {
		t.Fatal(err)
	}
	stage := parseStage(t, strings.Replace(podStage, `next: {statusTemplate: "phase: Failed\nreason: Demo"}`, `steps: [{apply: {template: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-{{ .metadata.name }}}"}}]`, 1))
	if _, err := f.simulation.stages.set(stage); err != nil {
		t.Fatal(err)
	}
	pod := testPod(func(p *corev1.Pod) { p.Labels = map[string]string{"fails": "yes"} })
	if _, err := client.CoreV1().Pods("n").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-made:
		if got != "of-p in n" {
			t.Errorf("created %s", got)
		}
	case <-time.After(waitTimeout):
		t.Error("nothing was created")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	page, err := o.Records(t.Context(), observe.Query{})
	if err != nil {
		t.Fatal(err)
	}
	delivered, syncs, sync := map[uint64]string{}, map[uint64]*observe.Synced{}, uint64(0)
	for _, r := range page.Records {
		switch e := r.Event.(type) {
		case *observe.Delivered:
			delivered[r.Seq] = e.Object.String()
		case *observe.Synced:
			syncs[e.ID] = e
		case *observe.Called:
			sync = e.Sync
		}
	}
	if got := syncs[sync]; got == nil || got.Key != "n/p" || !strings.Contains(delivered[got.Cause], "n/p") {
		t.Errorf("it was created in the sync %+v", got)
	}
}
