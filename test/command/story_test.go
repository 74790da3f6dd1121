package command_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// TestStory follows Pods from the request of a user through the controllers, the
// scheduler and the simulated kubelet, and back.
func TestStory(t *testing.T) {
	t.Parallel()
	p := program.Up(t, t.TempDir())
	client := p.Client(t)
	output := func(args ...string) string { t.Helper(); return program.MustRun(t, p.Dir, args...) }
	// awaitStory waits until a verb tells it: what an answer or a write sets off is recorded a moment later.
	awaitStory := func(args []string, words ...string) (told string) {
		t.Helper()
		p.Await(t, "telling "+strings.Join(words, " … "), func() bool {
			stdout, _, code := program.Run(t, program.Command(t, append([]string{"--data-dir", p.Dir}, args...)...))
			told = strings.Join(strings.Fields(stdout), " ")
			return code == 0 && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(told, w) })
		})
		return told
	}
	takesPods := func() bool {
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		return err == nil && len(nodes.Items) == 1 && len(nodes.Items[0].Spec.Taints) == 0
	}
	if !takesPods() && !strings.Contains(output("logs"), "nodes are ready, but still have the taint of new ones") { // a start waits some seconds
		t.Error("a control plane that is ready has a node that takes no Pods")
	}
	p.Await(t, "with a node that takes Pods", takesPods) // or the news of the node is why a Pod is bound
	pods := client.CoreV1().Pods("default")
	labels := map[string]string{"app": "web"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
	replicas := int32(1)
	_, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var web string
	p.Await(t, "running a Pod", func() bool {
		list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil || len(list.Items) != 1 || list.Items[0].Status.Phase != corev1.PodRunning {
			return false
		}
		web = list.Items[0].Name
		return true
	})

	t.Run("the chain is certain from end to end", func(t *testing.T) {
		var chain trace.Chain
		p.Await(t, "telling a chain that begins with a request", func() bool { // the last link is recorded after the Pod runs
			chain = trace.Chain{}
			testutil.DecodeJSON(t, output("why", "pod/"+web, "--changed", "-o", "json"), &chain)
			return chain.Complete
		})
		var who []string
		for _, n := range chain.Links {
			if n.Cause != nil && n.Cause.Certainty != trace.Certain {
				t.Errorf("%s of %s follows from %s by %s, which is only %s", n.ID, n.Controller, n.Cause.ID, n.Cause.Rule, n.Cause.Certainty)
			}
			if n.Kind == trace.Call {
				who = append(who, n.Controller)
			}
		}
		if got := strings.Join(who[:min(4, len(who))], " "); got != "simulated-kubelet kube-scheduler replicaset-controller deployment-controller" {
			t.Errorf("the writes were made by %s", got)
		}
		if text := strings.Join(strings.Fields(output("trace", "deployment/web", "--controller", "kube-scheduler")), " "); !strings.Contains(text, "bound Pod "+web+" to node-1 ") {
			t.Errorf("the node of the Pod is missing:\n%s", text)
		}
	})

	t.Run("a Pod that fits no node", func(t *testing.T) {
		spec := *template.Spec.DeepCopy()
		spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
		if _, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "big"}, Spec: spec}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		var told string
		p.Await(t, "telling why the Pod fits no node", func() bool {
			told = output("trace", "pod/big")
			return strings.Contains(strings.Join(strings.Fields(told), " "), `logs "No node fits" NodeResourcesFit="Insufficient cpu (1 of 1 nodes)"`)
		})
		for line := range strings.Lines(told) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		awaitStory([]string{"why", "pod/big"}, "It is not ready: unschedulable: 0/1 nodes are available: 1 Insufficient cpu; it requests cpu 1k, and no node has more than ")
	})

	t.Run("what the scheduler and the kubelet do", func(t *testing.T) {
		text := output("explain", "kube-scheduler", "kubelet")
		scheduler, kubelet, _ := strings.Cut(text, "\nsimulated-kubelet ")
		if !strings.Contains(scheduler, "Watches\n") || !strings.Contains(scheduler, "persistentvolumes, pods,") || !strings.Contains(kubelet, "  nodes, pods, stages.kwok.x-k8s.io\n") || !strings.Contains(kubelet, "\n  pods\n    A key is: a Pod on a simulated node") {
			t.Errorf("what the scheduler and the kubelet watch is not explained:\n%s", text)
		}
		// An event about a node may take the Pod out of its queue for a moment.
		p.Await(t, "with the Pod in the queue of what does not fit", func() bool {
			status, err := p.Control(t).Snapshot(t.Context())
			return err == nil && !slices.ContainsFunc(status.Queues, func(q observe.Queue) bool {
				return q.Controller == "kube-scheduler" && (q.Name == "active" && (q.Adds < 2 || q.Done < 2) || q.Name == "unschedulable" && (q.Adds < 1 || q.Depth != 1))
			})
		})
	})

	t.Run("a controller that was stopped", func(t *testing.T) {
		output("controllers", "stop", "replicaset")
		_, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "late"},
			Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "late"}}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "late"}}, Spec: template.Spec}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p.Await(t, "creating the ReplicaSet", func() bool {
			list, err := client.AppsV1().ReplicaSets("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=late"})
			return err == nil && len(list.Items) == 1
		})
		output("controllers", "start", "replicaset")
		var late string
		p.Await(t, "creating the Pod", func() bool {
			list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "app=late"})
			if err != nil || len(list.Items) != 1 {
				return false
			}
			late = list.Items[0].Name
			return true
		})
		awaitStory([]string{"why", "pod/" + late}, "when it started. It ", "began when ", " created Deployment late.") // not with the start of the controller
	})

	t.Run("a Pod that has finished", func(t *testing.T) {
		done := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "done"}, Spec: *template.Spec.DeepCopy()}
		done.Annotations = map[string]string{"ctrlplane.local/run-for": "0s"}
		done.Spec.RestartPolicy = corev1.RestartPolicyNever
		if _, err := pods.Create(t.Context(), done, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		p.Await(t, "finishing the Pod", func() bool {
			pod, err := pods.Get(t.Context(), "done", metav1.GetOptions{})
			return err == nil && pod.Status.Phase == corev1.PodSucceeded
		})
		program.WaitSettled(t, p.Dir)
		if got := output("why", "pod/done"); !strings.Contains(got, "Why Pod default/done was created") || strings.Contains(got, "deleted") {
			t.Errorf("got:\n%s", got)
		}
	})

	t.Run("what is not simulated", func(t *testing.T) {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "pi"}, Spec: batchv1.JobSpec{Template: *template.DeepCopy()}}
		job.Spec.Template.Labels, job.Spec.Template.Spec.RestartPolicy = nil, corev1.RestartPolicyNever
		job.Spec.Template.Spec.Containers[0].Command = []string{"perl", "-e", "1"}
		if _, err := client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "deny"}}
		if _, err := client.NetworkingV1().NetworkPolicies("default").Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		nothingRuns := "Nothing runs in container a, which exits with 0 at once: its command needs perl, which is not simulated."
		awaitStory([]string{"why", "job/pi"}, " created Job pi.", nothingRuns)
		awaitStory([]string{"why", "networkpolicy/deny"}, " created NetworkPolicy deny.", "No component of a control plane enforces a NetworkPolicy")
		var ofJob string
		p.Await(t, "the Pod of the Job", func() bool {
			list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=pi"})
			if err != nil || len(list.Items) != 1 {
				return false
			}
			ofJob = list.Items[0].Name
			return true
		})
		awaitStory([]string{"why", "pod/" + ofJob}, nothingRuns)
		if got := output("why", "pod/"+web); strings.Contains(got, "Nothing runs") || strings.Contains(got, "not ready") {
			t.Errorf("of a server that runs:\n%s", got)
		}
	})

	t.Run("a Pod of a Job that was suspended since", func(t *testing.T) {
		jobs := client.BatchV1().Jobs("default")
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "low"}, Spec: batchv1.JobSpec{Template: *template.DeepCopy()}}
		job.Spec.Template.Labels, job.Spec.Template.Spec.RestartPolicy = nil, corev1.RestartPolicyNever
		job.Spec.Template.Spec.Containers[0].Command = []string{"sleep", "1h"}
		if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		var low string // which does not end by itself
		p.Await(t, "the Pod of the Job", func() bool {
			list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=low"})
			if err != nil || len(list.Items) != 1 {
				return false
			}
			low = list.Items[0].Name
			return true
		})
		if _, err := jobs.Patch(t.Context(), "low", types.MergePatchType, []byte(`{"spec":{"suspend":true}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		awaitStory([]string{"why", "pod/" + low, "--deleted"}, "job-controller deleted Pod "+low, "Job low is not ready: suspended: spec.suspend is true.")
	})

	t.Run("who deleted it", func(t *testing.T) {
		if err := client.AppsV1().Deployments("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		p.Await(t, "without the Pod", func() bool {
			list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
			return err == nil && len(list.Items) == 0
		})
		awaitStory([]string{"why", "pod/" + web, "--deleted"}, "garbage-collector-controller deleted Pod "+web, "because ReplicaSet ", "simulated-kubelet then removed Pod "+web)
		if err := pods.Delete(t.Context(), "big", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		awaitStory([]string{"why", "pod/big", "--deleted"}, " deleted Pod big.") // by a client
		awaitStory([]string{"why", "pod/big"}, "Why Pod default/big was created", "deleted Pod big: ", ` why pod/big --deleted" shows why.`)
	})

	t.Run("what holds a deleted object", func(t *testing.T) {
		configMaps := client.CoreV1().ConfigMaps("default")
		held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/hold"}}}
		if _, err := configMaps.Create(t.Context(), held, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := configMaps.Delete(t.Context(), held.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		awaitStory([]string{"why", "configmap/held", "--deleted"}, "Why ConfigMap default/held is being deleted (", "deleted ConfigMap held.",
			"It is being deleted; waiting for finalizer example.com/hold.")
	})

	t.Run("why a request was refused", func(t *testing.T) {
		quotas, services := client.CoreV1().ResourceQuotas("default"), client.CoreV1().Services("default")
		few := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/services": resource.MustParse("0")}}}
		if _, err := quotas.Create(t.Context(), few, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		front := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "front"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		p.Await(t, "refusing services", func() bool {
			other := front.DeepCopy()
			other.Name = "other"
			_, err := services.Create(t.Context(), other, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota") // before, its status is unknown
		})
		if _, err := services.Create(t.Context(), front, metav1.CreateOptions{}); err == nil {
			t.Fatal("the quota allows a Service")
		}
		for _, verb := range []string{"trace", "why"} {
			awaitStory([]string{verb, "service/front"}, `failed to create Service front: 403: services "front" is forbidden: exceeded quota: few`)
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, Type: corev1.SecretTypeDockerConfigJson, StringData: map[string]string{corev1.DockerConfigJsonKey: "hunter2"}}
		if _, err := client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err == nil {
			t.Fatal("the Secret is valid")
		}
		if got := awaitStory([]string{"why", "secret/key"}, "failed to create Secret key: 422 Invalid"); strings.Contains(got, "hunter2") {
			t.Errorf("a Secret:\n%s", got)
		}
	})
}
