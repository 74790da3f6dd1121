//go:build unix

package command_test

import (
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRunBare checks that --bare is what suites with envtest expect: a Pod is admitted without a ServiceAccount, and nothing
// else creates or changes objects. A namespace can be deleted nevertheless, and failed Jobs count unless --runtime-config has turned
// them off.
func TestRunBare(t *testing.T) {
	t.Parallel()
	r := startRun(t, "--bare", "--runtime-config=api/beta=true", "--", "sh", "-c", reportScript)
	client, _ := r.readClient(t)
	const ns = "shop"
	createNamespace(t, client, ns)
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.invalid/web:1"}}},
	}
	pod, err := client.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: template.Spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	deployment, err := client.AppsV1().Deployments(ns).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	program.WaitSettled(t, r.dataDir)
	if got, err := client.CoreV1().Pods(ns).Get(t.Context(), pod.Name, metav1.GetOptions{}); err != nil || got.ResourceVersion != pod.ResourceVersion {
		t.Errorf("the Pod has changed: %v, %v", got, err)
	}
	if got, err := client.AppsV1().Deployments(ns).Get(t.Context(), deployment.Name, metav1.GetOptions{}); err != nil || got.ResourceVersion != deployment.ResourceVersion {
		t.Errorf("the Deployment has changed: %v, %v", got, err)
	}
	job, err := client.BatchV1().Jobs(ns).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "once"},
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: template.Spec.Containers}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	job.Status = batchv1.JobStatus{StartTime: new(metav1.Now()), Failed: 1, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}, {Type: batchv1.JobFailed, Status: corev1.ConditionTrue},
	}}
	if _, err := client.BatchV1().Jobs(ns).UpdateStatus(t.Context(), job, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	testutil.Await(t, "count of the failed Job", func() bool { return strings.Contains(program.MustRun(t, r.dataDir, "status"), "1 Job failed") })
	for _, what := range []string{"nodes,replicasets,serviceaccounts,configmaps", "apiservice/v1beta1.metrics.k8s.io"} {
		if got := program.MustRun(t, r.dataDir, "kubectl", "get", what, "-n", ns, "--ignore-not-found", "-o", "name"); got != "" {
			t.Errorf("found %s", got)
		}
	}
	createNamespace(t, client, "empty")
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "empty", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	program.MustRun(t, r.dataDir, "kubectl", "wait", "--for=delete", "namespace/empty", "--timeout=5m")
	r.stdin.Close()
	r.requireExit(t, 0)
}

func createNamespace(t *testing.T, client *kubernetes.Clientset, name string) {
	t.Helper()
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestRunBareWithOtherFlags: flags that are given take precedence over what --bare stands for.
func TestRunBareWithOtherFlags(t *testing.T) {
	t.Parallel()
	r := startRun(t, "--nodes=1", "--controllers=-job", "--bare", "--runtime-config=batch/v1=false", "--kube-apiserver-arg=disable-admission-plugins=LimitRanger", "--", "sh", "-c", reportScript)
	client, _ := r.readClient(t)
	createNamespace(t, client, "shop")
	if _, err := client.CoreV1().Pods("shop").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.invalid/web:1"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if got := program.MustRun(t, r.dataDir, "nodes", "-o", "name"); got != "node-1\n" {
		t.Errorf("nodes: %q", got)
	}
	var controllers controllerList
	testutil.DecodeJSON(t, program.MustRun(t, r.dataDir, "controllers", "-o", "json"), &controllers)
	for _, c := range controllers.Items {
		if c.State == "running" {
			t.Errorf("%s runs", c.Name)
		}
	}
	if log := testutil.ReadFile(t, filepath.Join(r.dataDir, "ctrlplane.log")); strings.Contains(log, "*v1.Job") {
		t.Errorf("Jobs are listed, although they are not served:\n%s", log)
	}
	r.stdin.Close()
	r.requireExit(t, 0)
	if want := "ctrlplane: warning: --controllers=-job turns off all controllers: to turn off only these, use --controllers='*,-job'\n"; !strings.Contains(r.stderr.String(), want) {
		t.Errorf("stderr %q, want %q", &r.stderr, want)
	}
}

// TestRunBareJudgesNoObjects: what no controller works on is not healthy, which only --settle and --healthy ask for.
func TestRunBareJudgesNoObjects(t *testing.T) {
	t.Parallel()
	const script = `"$0" kubectl run web --image=registry.invalid/web:1`
	for _, tc := range []struct {
		flags   []string
		code    int
		verdict string
		failure string // of the Pod's test case
	}{
		{[]string{"--bare"}, 0, "s; the report is ", ""},
		{[]string{"--bare", "--settle"}, 0, "s: settled, 1 of 1 object is not healthy; the report is ", "InProgress"},
		{[]string{"--bare", "--healthy"}, 123, "--healthy: 1 of 1 object is not healthy", "InProgress"},
		{minimal("--kube-apiserver-arg=disable-admission-plugins=ServiceAccount"), 0, "s: 1 of 1 object is not healthy; the report is ", "InProgress"},
	} {
		cmd := newRunCommand(t, append(tc.flags, "--report=out", "--", "sh", "-c", script, program.Path())...)
		cmd.Env = withoutCIEnv(cmd.Env)
		_, stderr, code := program.Run(t, cmd)
		if code != tc.code {
			t.Errorf("%s: exit code %d, want %d", tc.flags, code, tc.code)
		}
		requireText(t, stderr, tc.verdict)
		junit := readReport(t, filepath.Join(cmd.Dir, "out"))["junit.xml"]
		failures := junitFailures(t, junit)
		if got := failures[len(failures)-1]; !strings.HasPrefix(got, tc.failure) || (got == "") != (tc.failure == "") {
			t.Errorf("%s: the Pod has the failure %q, want %q", tc.flags, got, tc.failure)
		}
		if skipped := strings.Contains(junit, `<skipped message="not judged: InProgress`); skipped != (tc.failure == "") {
			t.Errorf("%s: skipped: %t: %s", tc.flags, skipped, junit)
		}
	}
}
