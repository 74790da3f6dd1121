package command_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// stuckManifest has a namespace whose content is not released, a rollout that makes no progress, a
// Pod that fails again and again, Pods that cannot start, and a Job that fails.
const stuckManifest = `
apiVersion: v1
kind: Namespace
metadata: {name: gone}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, namespace: gone, finalizers: [example.com/wait]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, finalizers: [example.com/wait]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: late, namespace: default}
spec:
  progressDeadlineSeconds: 1
  selector: {matchLabels: {app: late}}
  template:
    metadata: {labels: {app: late}}
    spec: {nodeSelector: {disk: ssd}, containers: [{name: c, image: c}]}
---
apiVersion: v1
kind: Pod
metadata: {name: crash, namespace: default, annotations: {ctrlplane.local/exit-code: "1"}}
spec: {containers: [{name: c, image: c}]}
---
apiVersion: v1
kind: Pod
metadata: {name: nomap, namespace: default}
spec: {containers: [{name: c, image: c, envFrom: [{configMapRef: {name: missing}}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: novolume, namespace: default}
spec:
  containers: [{name: c, image: c, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, secret: {secretName: missing}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: bad, namespace: default}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {ctrlplane.local/exit-code: "1"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: c}]}
`

// loopManifest has a rollout that is complete once its Pod is ready: if it is not ready later, upstream's
// controller checks the progress without an end.
const loopManifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: looping, namespace: default}
spec:
  progressDeadlineSeconds: 1
  selector: {matchLabels: {app: looping}}
  template:
    metadata: {labels: {app: looping}}
    spec: {readinessGates: [{conditionType: example.com/ready}], containers: [{name: c, image: c}]}
`

// TestStatusNamesWhatIsStuck checks that what does not work is named although the control plane is
// settled, and work without an end where it is not.
func TestStatusNamesWhatIsStuck(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	p := k.startUp()
	manifest := filepath.Join(t.TempDir(), "stuck.yaml")
	testutil.WriteFile(t, manifest, stuckManifest)
	k.mustRun("kubectl", "apply", "-f", manifest)
	if err := p.Client(t).CoreV1().Namespaces().Delete(t.Context(), "gone", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := p.Client(t).CoreV1().ConfigMaps("default").Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := p.Client(t).CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := rest.AnonymousClientConfig(loadKubeconfig(t, k.dir))
	cfg.BearerToken, cfg.UserAgent = token.Status.Token, "stranger/v1 (linux/amd64)"
	stranger, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	beRefused := func() { // again and again, as an informer: a refusal counts for some time only
		t.Helper()
		for range 3 {
			if _, err := stranger.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
				t.Fatal(err)
			}
		}
	}
	client := p.Client(t)
	p.Await(t, "with a rollout and a Job that have failed", func() bool {
		late, err := client.AppsV1().Deployments("default").Get(t.Context(), "late", metav1.GetOptions{})
		bad, badErr := client.BatchV1().Jobs("default").Get(t.Context(), "bad", metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(late.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Reason == "ProgressDeadlineExceeded" }) &&
			badErr == nil && slices.ContainsFunc(bad.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobFailed })
	})
	awaitPod(t, p, "crash", "in a crash loop", waitingFor("CrashLoopBackOff"))
	awaitEvent(t, p, "novolume", "MountVolume")
	p.Await(t, "what is stuck", func() bool {
		status := strings.Join(strings.Fields(k.status()), " ")
		return strings.Contains(status, "Namespace gone terminating for ") && strings.Contains(status, "finalizers remaining: example.com/wait") &&
			strings.Contains(status, "ConfigMap default/kept terminating for ") &&
			strings.Contains(status, "Deployment default/late failed exceeded its progressDeadlineSeconds of 1; Pod late-") &&
			strings.Contains(status, "2 Pods cannot start, 1 Pod is unschedulable, 1 Pod waits for a restart, 1 Job failed") &&
			strings.Contains(status, "Pod default/nomap not ready container c is waiting: CreateContainerConfigError: ") &&
			strings.Contains(status, "Pod default/novolume not ready container c is being created; last warning: FailedMount: ") &&
			strings.Contains(status, "Job default/bad failed BackoffLimitExceeded: ")
	})
	p.Await(t, "warnings", func() bool {
		beRefused()
		_, stderr, code := program.Run(t, k.command("wait", "settled"))
		return code == 0 && strings.Contains(stderr, "settled, but Pod default/crash waits for a restart: CrashLoopBackOff, next attempt in ") &&
			strings.Contains(stderr, ": list of configmaps is refused: ")
	})
	p.Await(t, "a refused client", func() bool {
		beRefused()
		return strings.Contains(k.mustRun("clients"), ": list of configmaps is refused: ")
	})

	testFailingWrites(t, k, p)
	testUnavailableAPI(t, k, p)

	testutil.WriteFile(t, manifest, loopManifest)
	k.mustRun("kubectl", "apply", "-f", manifest)
	setReady := func(status corev1.ConditionStatus) {
		t.Helper()
		p.Await(t, "setting the readiness gate", func() bool {
			pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=looping"})
			if err != nil || len(pods.Items) != 1 {
				return false
			}
			patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"example.com/ready","status":%q}]}}`, status)
			_, err = client.CoreV1().Pods("default").Patch(t.Context(), pods.Items[0].Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
			return err == nil
		})
	}
	setReady(corev1.ConditionTrue)
	p.Await(t, "with a complete rollout", func() bool {
		d, err := client.AppsV1().Deployments("default").Get(t.Context(), "looping", metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Reason == "NewReplicaSetAvailable" })
	})
	setReady(corev1.ConditionFalse)
	p.Await(t, "the hot loop as JSON", func() bool {
		var s struct {
			HotLoops []struct {
				Controller, Key string
				PerSecond       float64
			}
			Unhealthy []struct{ Object struct{ Kind, Name string } }
		}
		out := k.status("-o", "json")
		if out == "" {
			return false
		}
		testutil.DecodeJSON(t, out, &s)
		return len(s.HotLoops) == 1 && s.HotLoops[0].Controller == "deployment-controller" && s.HotLoops[0].Key == "default/looping" &&
			s.HotLoops[0].PerSecond > 1 && len(s.Unhealthy) >= 6 // Pod crash is started again and again
	})
	p.Await(t, "the line of the hot loop", func() bool {
		return strings.Contains(k.status(), "hot loop: deployment-controller: key default/looping in queue deployment repeats itself: ")
	})
}

// testFailingWrites has an operator that tries again and again what is refused.
func testFailingWrites(t *testing.T, k snapshotFixture, p *program.ControlPlane) {
	t.Helper()
	cfg := loadKubeconfig(t, k.dir)
	cfg.UserAgent = "eager/v1 (linux/amd64)"
	eager, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	configMaps := eager.CoreV1().ConfigMaps("default")
	watch, err := configMaps.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	owner, err := p.Client(t).CoreV1().Pods("default").Get(t.Context(), "crash", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := metav1.ObjectMeta{Name: "wrong", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("Pod"))}}
	m := &corev1.ConfigMap{ObjectMeta: owned, Data: map[string]string{"a/b": "no key may have a slash"}}
	tryAgain := func() { // some time after the last attempt, the text is another one, and later there is none
		t.Helper()
		for range 3 {
			if _, err := configMaps.Create(t.Context(), m, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
				t.Fatal(err)
			}
		}
	}
	const fails = `eager \(kubernetes-admin\) fails to create ConfigMap default/wrong, \d+ times in a row(, last .+ ago)?: 422: `
	inStatus, asWarning := regexp.MustCompile(`(?m)^`+fails), regexp.MustCompile(`(?m)^settled, but `+fails)
	ofOwner := regexp.MustCompile(`(?m)^Pod default/crash: eager \(kubernetes-admin\) fails to create ConfigMap wrong, \d+ times in a row(, last .+ ago)?: 422: `)
	p.Await(t, "a line of the status", func() bool {
		tryAgain()
		return inStatus.MatchString(k.status())
	})
	p.Await(t, "a warning", func() bool {
		tryAgain()
		_, stderr, code := program.Run(t, k.command("wait", "settled"))
		return code == 0 && asWarning.MatchString(stderr)
	})
	p.Await(t, "a reason of the wait for the owner", func() bool {
		tryAgain()
		_, stderr, code := program.Run(t, k.command("wait", "pod/crash", "--timeout", "1s"))
		return code == 1 && ofOwner.MatchString(stderr)
	})
	var s struct {
		FailingWrites []struct {
			Controller, Verb string
			Object           struct{ Kind, Name string }
			Times, Status    int
		}
	}
	p.Await(t, "as JSON", func() bool {
		tryAgain()
		testutil.DecodeJSON(t, k.mustRun("status", "-o", "json"), &s)
		return len(s.FailingWrites) == 1
	})
	if f := s.FailingWrites[0]; f.Controller != "eager (kubernetes-admin)" || f.Verb != "create" || f.Object.Name != "wrong" || f.Times < 3 || f.Status != 422 {
		t.Errorf("got %+v", f)
	}
	delete(m.Data, "a/b")
	if _, err := configMaps.Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if status := k.mustRun("status"); strings.Contains(status, " fails to ") {
		t.Error(status)
	}
}

// unavailableManifest has an API whose Service does not exist.
const unavailableManifest = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.none.example.com}
spec: {group: none.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {namespace: default, name: none}}
---
apiVersion: v1
kind: Namespace
metadata: {name: unserved}
`

// testUnavailableAPI has a namespace that is not deleted while an API does not answer: status and why name its APIService,
// and why that does not.
func testUnavailableAPI(t *testing.T, k snapshotFixture, p *program.ControlPlane) {
	t.Helper()
	client, apiService := p.Client(t), "/apis/apiregistration.k8s.io/v1/apiservices/v1.none.example.com"
	manifest := filepath.Join(t.TempDir(), "unavailable.yaml")
	testutil.WriteFile(t, manifest, unavailableManifest)
	k.mustRun("kubectl", "apply", "-f", manifest)
	const reason = `not available: ServiceNotFound: service/none in "default" is not present`
	p.Await(t, "without the Service", func() bool {
		text, err := client.RESTClient().Get().AbsPath(apiService).DoRaw(t.Context())
		return err == nil && strings.Contains(string(text), "ServiceNotFound")
	})
	p.Await(t, "the APIService in the status", func() bool {
		status := strings.Join(strings.Fields(k.status()), " ")
		return strings.Contains(status, "APIService v1.none.example.com not ready for ") && strings.Contains(status, reason)
	})
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "unserved", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.Await(t, "a namespace whose deletion fails", func() bool {
		ns, err := client.CoreV1().Namespaces().Get(t.Context(), "unserved", metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(ns.Status.Conditions, func(c corev1.NamespaceCondition) bool {
			return c.Type == corev1.NamespaceDeletionDiscoveryFailure && c.Status == corev1.ConditionTrue
		})
	})
	p.Await(t, "the APIService in why", func() bool {
		return strings.Contains(strings.Join(strings.Fields(k.mustRun("why", "ns/unserved")), " "), "; APIService v1.none.example.com is "+reason)
	})
	if err := client.RESTClient().Delete().AbsPath(apiService).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
}
