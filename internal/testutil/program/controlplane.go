package program

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
)

// ControlPlane is a control plane in a process of its own.
type ControlPlane struct {
	Cmd    *exec.Cmd
	Dir    string        // its data folder
	Stderr *bytes.Buffer // to be read once Done is closed
	Done   chan struct{} // closed when the process has ended
}

// Start starts a command that runs a control plane with the given data folder. The
// process is killed when the test ends.
func Start(t *testing.T, cmd *exec.Cmd, dir string) *ControlPlane {
	t.Helper()
	p := &ControlPlane{Cmd: cmd, Dir: dir, Stderr: &bytes.Buffer{}, Done: make(chan struct{})}
	cmd.Stderr = p.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.Done)
		_ = cmd.Wait() // its ProcessState has the result
	}()
	t.Cleanup(p.Kill)
	return p
}

// Up starts a control plane with the given data folder and returns when it is ready.
func Up(t *testing.T, dir string, args ...string) *ControlPlane {
	t.Helper()
	p := Start(t, Command(t, append([]string{"up", "--ui", "none", "--data-dir", dir}, args...)...), dir)
	p.AwaitReady(t)
	return p
}

// AwaitReady waits until the verbs find the control plane, and until it is ready.
func (p *ControlPlane) AwaitReady(t *testing.T) {
	t.Helper()
	p.Await(t, "ready", func() bool {
		if !HasStarted(p.Dir) {
			return false
		}
		client, err := NewClient(p.Dir)
		return err == nil && client.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error() == nil
	})
}

// HasStarted reports whether the control plane in a data folder has written its state file, which
// is the last that a start writes: the verbs find it there.
func HasStarted(dir string) bool {
	state, err := os.ReadFile(filepath.Join(dir, "state.json"))
	return err == nil && strings.Contains(string(state), `"server"`)
}

// NewClient returns the administrator's client of the control plane in a data folder.
func NewClient(dir string) (*kubernetes.Clientset, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1
	return kubernetes.NewForConfig(cfg)
}

// Client returns the administrator's client.
func (p *ControlPlane) Client(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	client, err := NewClient(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Control returns a client of what only ctrlplane serves, such as its snapshot and its records.
func (p *ControlPlane) Control(t *testing.T) *controlrest.Client {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(p.Dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := controlrest.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// The least time between two questions of Await, and the most that it becomes because it has waited long.
const leastPause, longPause = 20 * time.Millisecond, 200 * time.Millisecond

// Await waits until the control plane is in a state, of which what is the name. It asks less often
// if asking takes long, or the longer it has waited: asking takes CPU, which what is awaited needs.
func (p *ControlPlane) Await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline, start := time.After(Timeout), time.Now()
	for {
		began := time.Now()
		if done() {
			return
		}
		select {
		case <-time.After(max(leastPause, 2*time.Since(began), min(time.Since(start)/20, longPause))):
		case <-p.Done:
			if done() { // what it did last
				return
			}
			t.Fatalf("ended before it was %s: %s", what, p.Stderr)
		case <-deadline:
			t.Fatalf("not %s after %v", what, Timeout)
		}
	}
}

// Kill kills the process, unless it has ended, and waits for its end.
func (p *ControlPlane) Kill() {
	_ = p.Cmd.Process.Kill() // fails if it has ended
	<-p.Done
}

// Stop sends a signal to the process and returns how long it took to end.
func (p *ControlPlane) Stop(t *testing.T, sig syscall.Signal) time.Duration {
	t.Helper()
	began := time.Now()
	if err := p.Cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done:
	case <-time.After(Timeout):
		t.Fatalf("still running %v after %v", Timeout, sig)
	}
	return time.Since(began)
}

// Status returns the output of "ctrlplane status" for the control plane in a data folder.
func Status(t *testing.T, dir string, args ...string) string {
	t.Helper()
	stdout, stderr, code := Run(t, Command(t, append([]string{"--data-dir", dir, "status"}, args...)...))
	if code != 0 || stderr != "" {
		t.Fatalf("status %v: exit code %d: %s", args, code, stderr)
	}
	return stdout
}

// WaitSettled waits until the control plane in a data folder has settled. A busy machine may need
// more than the minute that the verb waits by default.
func WaitSettled(t *testing.T, dir string) {
	t.Helper()
	MustRun(t, dir, "wait", "settled", "--timeout", "5m")
}

// CreateWeb creates a Deployment and a Service with new names in the control plane
// in a data folder, and returns the name of the Deployment.
func CreateWeb(t *testing.T, dir string, replicas int32) string {
	t.Helper()
	client, err := NewClient(dir)
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	meta := metav1.ObjectMeta{GenerateName: "web-"}
	deployment, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.invalid/web"}}},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	service := corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: meta, Spec: service}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return deployment.Name
}
