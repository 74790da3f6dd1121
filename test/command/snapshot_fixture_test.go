package command_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// snapshotFixture runs commands with one state folder, which holds the snapshots.
type snapshotFixture struct {
	t     *testing.T
	state string
	dir   string // the data folder of the control plane
}

func newSnapshotFixture(t *testing.T) snapshotFixture {
	state := t.TempDir()
	return snapshotFixture{t, state, filepath.Join(t.TempDir(), "data")}
}

func (k snapshotFixture) command(args ...string) *exec.Cmd {
	k.t.Helper()
	cmd := program.Command(k.t, append([]string{"--data-dir", k.dir}, args...)...)
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+k.state)
	return cmd
}

// mustRun runs a command, which must succeed, and returns its output.
func (k snapshotFixture) mustRun(args ...string) string {
	k.t.Helper()
	stdout, stderr, code := program.Run(k.t, k.command(args...))
	if code != 0 {
		k.t.Fatalf("%v: exit code %d: %s%s", args, code, stdout, stderr)
	}
	return stdout
}

func (k snapshotFixture) snapshotFile(name string) string {
	return filepath.Join(k.state, "ctrlplane", "_snapshots", name)
}

func (k snapshotFixture) newClient() *kubernetes.Clientset {
	k.t.Helper()
	c, err := program.NewClient(k.dir)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

func (k snapshotFixture) startUp(args ...string) *program.ControlPlane {
	k.t.Helper()
	p := program.Start(k.t, k.command(append([]string{"up", "--ui", "none"}, args...)...), k.dir)
	p.AwaitReady(k.t)
	return p
}

// status returns what "status" prints, empty if it fails, as while no control plane answers.
func (k snapshotFixture) status(args ...string) string {
	k.t.Helper()
	stdout, _, code := program.Run(k.t, k.command(append([]string{"status"}, args...)...))
	if code != 0 {
		return ""
	}
	return stdout
}

func (k snapshotFixture) createConfigMap(name string) {
	k.t.Helper()
	_, err := k.newClient().CoreV1().ConfigMaps("default").Create(k.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k snapshotFixture) countConfigMaps() int {
	k.t.Helper()
	l, err := k.newClient().CoreV1().ConfigMaps("default").List(k.t.Context(), metav1.ListOptions{LabelSelector: "!x"})
	if err != nil {
		k.t.Fatal(err)
	}
	return len(l.Items)
}

func requireContains(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not contain %q", text, w)
		}
	}
}
