package command_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// requireCleanStop checks that a signal ends a control plane with exit code 0 and nothing on stderr,
// and that an open watch does not delay the end.
func requireCleanStop(t *testing.T, p *program.ControlPlane, sig syscall.Signal) {
	t.Helper()
	w, err := p.Client(t).CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	p.Stop(t, sig)
	for line := range strings.Lines(program.MustRun(t, p.Dir, "logs")) {
		if strings.Contains(line, "request canceled because") && strings.Contains(line, "command.test/") {
			t.Errorf("the end has waited for the watch: %s", line)
		}
	}
	if code, stderr := p.Cmd.ProcessState.ExitCode(), program.WithoutSlowStart(p.Stderr.String()); code != 0 || stderr != "" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// restartKeepsCluster checks that a second start with the same folder finds the same cluster. stop ends the first.
func restartKeepsCluster(t *testing.T, p *program.ControlPlane, stop func()) {
	t.Helper()
	dir := p.Dir
	program.RequireFailure(t, program.Command(t, "up", "--ui", "none", "--data-dir", dir), 1, "is already running at https://")
	before := loadKubeconfig(t, dir)
	gated := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "gated"}, Spec: corev1.PodSpec{
		SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/later"}}, Containers: []corev1.Container{{Name: "c", Image: "nginx"}},
	}}
	if _, err := p.Client(t).CoreV1().Pods("default").Create(t.Context(), gated, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stop()
	program.Up(t, dir)
	why, missing, code := program.Run(t, program.Command(t, "why", "pod/gated", "--data-dir", dir))
	if code != 0 || !strings.HasPrefix(why, "It is not ready: ") || !strings.Contains(why, "What led to it is not known: the records begin at ") {
		t.Errorf("why of a Pod without records: exit code %d, %q, %q", code, why, missing)
	}
	after := loadKubeconfig(t, dir)
	if before.Host != after.Host || string(before.CAData) != string(after.CAData) {
		t.Errorf("the URL changed from %s to %s, or the CA changed", before.Host, after.Host)
	}
	requirePrivateModes(t, dir)
}

// requireCleanHangup sends SIGHUP as a terminal that is closed does, and so do its shell and make.
func requireCleanHangup(t *testing.T, f *outputFollower) {
	t.Helper()
	program.Signal(t, f.Cmd, syscall.SIGHUP)
	f.awaitText(t, "stopping")
	_ = f.Cmd.Process.Signal(syscall.SIGHUP) // it may have ended
	<-f.Done
	if code, stderr := f.Cmd.ProcessState.ExitCode(), program.WithoutSlowStart(f.Stderr.String()); code != 0 || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

func loadKubeconfig(t *testing.T, dir string) *rest.Config {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// requirePrivateModes checks that only the user can read the data folder.
func requirePrivateModes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) { // a temporary file, which has its final name now
			return nil
		}
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestEphemeralLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]syscall.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			cmd := program.Command(t, append([]string{"up", "--ui", "none", "--ephemeral", "--name", name}, minimal()...)...)
			folders := func() []string {
				found, err := filepath.Glob(filepath.Join(cmd.Dir, "ctrlplane-*"))
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
			p := program.Start(t, cmd, "")
			p.Await(t, "ready", func() bool {
				return slices.ContainsFunc(folders(), program.HasStarted)
			})
			asked := program.Command(t, "--name", name, "kubectl", "get", "namespaces")
			asked.Env = cmd.Env
			if out, err := asked.CombinedOutput(); err != nil {
				t.Errorf("kubectl by name: %v: %s", err, out)
			}
			p.Stop(t, end)
			if end == syscall.SIGKILL {
				// The next start cleans up, even one that fails on a value that only a part
				// of Kubernetes can check.
				next := program.Command(t, "up", "--ephemeral", "--ui", "none", "--feature-gates", "NoSuchGate=true")
				next.Env = cmd.Env
				program.RequireFailure(t, next, 2, "NoSuchGate")
			}
			if left := folders(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// testReadOnlyVerbs runs the other verbs on a control plane without one of its controllers.
func testReadOnlyVerbs(t *testing.T, p *program.ControlPlane) {
	ask := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := program.Run(t, program.Command(t, append([]string{"--data-dir", p.Dir}, args...)...))
		if code != 0 {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
		return stdout
	}
	if got := strings.TrimSpace(ask("kubeconfig")); got != filepath.Join(p.Dir, "kubeconfig") {
		t.Errorf("kubeconfig: got %q", got)
	}
	if _, err := clientcmd.Load([]byte(ask("kubeconfig", "--raw"))); err != nil {
		t.Errorf("kubeconfig --raw: %v", err)
	}
	var list struct {
		Items []struct{ Name, State, Reason string }
	}
	testutil.DecodeJSON(t, ask("controllers", "-o", "json"), &list)
	states := map[string]string{}
	for _, c := range list.Items {
		states[c.Name] = strings.TrimSpace(c.State + " " + c.Reason)
	}
	for name, want := range map[string]string{
		"deployment-controller":                       "running",
		"cronjob-controller":                          "off turned off by --controllers",
		"storageversion-garbage-collector-controller": "off feature gate StorageVersionAPI is off",
	} {
		if states[name] != want {
			t.Errorf("%s: got %q, want %q", name, states[name], want)
		}
	}
	ask("kubectl", "create", "deployment", "shop", "--image=registry.invalid/web", "--replicas=3")
	p.Await(t, "three Pods", func() bool {
		return strings.Count(ask("kubectl", "get", "pods", "-o", "name"), "pod/shop-") == 3
	})
	if _, _, code := program.Run(t, program.Command(t, "--data-dir", p.Dir, "kubectl", "get", "pod", "missing")); code != 1 {
		t.Errorf("kubectl get of a missing object: exit code %d, want 1", code)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		watch := startFollower(t, p.Dir, "--data-dir", p.Dir, "kubectl", "get", "--raw", "/api/v1/namespaces?watch=1")
		watch.awaitText(t, "kube-system")
		watch.Stop(t, sig)
	}
	log := testutil.ReadFile(t, filepath.Join(p.Dir, "ctrlplane.log"))
	whole := log[:strings.LastIndexByte(log, '\n')+1] // a line may be written just now
	for line := range strings.Lines(whole) {
		if !json.Valid([]byte(line)) {
			t.Fatalf("a log line is not JSON: %s", line)
		}
	}
}
