package command_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestStopsOnSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			p := startUp(t, filepath.Join(t.TempDir(), "data"))
			// A watch that nobody ends must not hold it up.
			client, err := p.newClient()
			if err != nil {
				t.Fatal(err)
			}
			w, err := client.CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			if took := p.stop(t, sig); took > 3*time.Second {
				t.Errorf("took %v", took)
			}
			if code := p.cmd.ProcessState.ExitCode(); code != 0 || p.stderr.Len() > 0 {
				t.Errorf("exit code %d, %s", code, p.stderr)
			}
		})
	}
}

// TestRestartKeepsCluster checks that a second start on a folder is the same cluster.
func TestRestartKeepsCluster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first := startUp(t, dir)
	requireFailure(t, newCommand(t, "up", "--ui", "none", "--data-dir", dir), 1, fmt.Sprintf("in use by process %d", first.cmd.Process.Pid))
	before := loadKubeconfig(t, dir)
	first.stop(t, syscall.SIGTERM)
	startUp(t, dir)
	after := loadKubeconfig(t, dir)
	if before.Host != after.Host || string(before.CAData) != string(after.CAData) {
		t.Errorf("%s has become %s, or its CA another", before.Host, after.Host)
	}
	requirePrivateModes(t, dir)
}

func loadKubeconfig(t *testing.T, dir string) *rest.Config {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// requirePrivateModes checks that nobody else can read what is in the data folder.
func requirePrivateModes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
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
	for name, end := range map[string]syscall.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			cmd := newCommand(t, "up", "--ui", "none", "--ephemeral", "--name", name)
			folders := func() []string {
				found, err := filepath.Glob(filepath.Join(cmd.Dir, "ctrlplane-*"))
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			p := &controlPlane{cmd: cmd, ended: make(chan struct{})}
			go func() {
				defer close(p.ended)
				_ = cmd.Wait() // ProcessState tells
			}()
			t.Cleanup(p.kill)
			p.await(t, "ready", func() bool {
				for _, f := range folders() {
					if _, err := os.Stat(filepath.Join(f, "kubeconfig")); err == nil {
						return true
					}
				}
				return false
			})
			asked := newCommand(t, "--name", name, "kubectl", "get", "namespaces")
			asked.Env = cmd.Env
			if out, err := asked.CombinedOutput(); err != nil {
				t.Errorf("by its name: %v: %s", err, out)
			}
			p.stop(t, end)
			if end == syscall.SIGKILL {
				// The next one clears up; it is refused itself, for speed.
				next := newCommand(t, "up", "--ephemeral", "--ui", "none", "--pod-cidr", "zz")
				next.Env = cmd.Env
				requireFailure(t, next, 2, "zz")
			}
			if left := folders(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestAuthentication asks without, and with wrong, credentials.
func TestAuthentication(t *testing.T) {
	p := startUp(t, filepath.Join(t.TempDir(), "data"))
	cfg := loadKubeconfig(t, p.dir)
	anonymous := rest.AnonymousClientConfig(cfg)
	wrong := rest.AnonymousClientConfig(cfg)
	wrong.BearerToken = "wrong"
	for _, tc := range []struct {
		cfg  *rest.Config
		path string
		want int
	}{
		{anonymous, "/healthz", 200}, {anonymous, "/livez", 200}, {anonymous, "/readyz", 200},
		{anonymous, "/api", 401}, {anonymous, "/version", 401}, {anonymous, "/metrics", 401},
		{anonymous, "/debug/pprof/", 401}, {anonymous, "/ctrlplane/v1/controllers", 401},
		{wrong, "/api", 401}, {wrong, "/healthz", 401},
		{cfg, "/api", 200}, {cfg, "/ctrlplane/v1/controllers", 200},
	} {
		client, err := rest.HTTPClientFor(tc.cfg)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Get(cfg.Host + tc.path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tc.want {
			t.Errorf("%s: got %s, want %d %s", tc.path, resp.Status, tc.want, http.StatusText(tc.want))
		}
	}
}

// TestReadOnlyVerbs uses the other verbs on a control plane that lacks a controller.
func TestReadOnlyVerbs(t *testing.T) {
	p := startUp(t, filepath.Join(t.TempDir(), "data"), "--controllers=*,-cronjob", "--log-format=json")
	ask := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := runToEnd(t, newCommand(t, append([]string{"--data-dir", p.dir}, args...)...))
		if code != 0 {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
		return stdout
	}
	if got := strings.TrimSpace(ask("kubeconfig")); got != filepath.Join(p.dir, "kubeconfig") {
		t.Errorf("kubeconfig: got %q", got)
	}
	if _, err := clientcmd.Load([]byte(ask("kubeconfig", "--raw"))); err != nil {
		t.Errorf("kubeconfig --raw: %v", err)
	}
	var list struct {
		Items []struct{ Name, State, Reason string }
	}
	if err := json.Unmarshal([]byte(ask("controllers", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
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
	ask("kubectl", "create", "deployment", "web", "--image=registry.invalid/web", "--replicas=3")
	p.await(t, "three Pods", func() bool {
		return strings.Count(ask("kubectl", "get", "pods", "-o", "name"), "pod/web-") == 3
	})
	if _, _, code := runToEnd(t, newCommand(t, "--data-dir", p.dir, "kubectl", "get", "pod", "nobody")); code != 1 {
		t.Errorf("kubectl's exit code became %d", code)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} { // one is enough
		watch := startFollower(t, p.dir, "--data-dir", p.dir, "kubectl", "get", "--raw", "/api/v1/namespaces?watch=1")
		watch.awaitText(t, "kube-system")
		watch.stop(t, sig)
	}
	log, err := os.ReadFile(filepath.Join(p.dir, "ctrlplane.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if !json.Valid([]byte(line)) {
			t.Fatalf("a line of the log is no JSON: %s", line)
		}
	}
}
