//go:build unix

package command_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRunHealthy has a Deployment that fits on no node.
func TestRunHealthy(t *testing.T) {
	t.Parallel()
	for _, healthy := range []bool{true, false} {
		args := []string{"--settle", "--report", "out", "-f", "shop.yaml", "--max-failed-syncs", "100", "--max-conflicts", "job=0"}
		if healthy {
			args = append(args, "--healthy")
		}
		cmd := newRunCommand(t, append(args, "--", "sh", "-c", "echo done; echo oh >&2")...)
		if err := os.WriteFile(filepath.Join(cmd.Dir, "shop.yaml"), []byte(shopManifest), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd.Env = withoutCIEnv(cmd.Env)
		stdout, stderr, code := program.Run(t, cmd)
		want, says := 0, "passed in "
		if healthy {
			want, says = 123, "failed an assertion after "
		}
		if code != want || stdout != "done\n" {
			t.Errorf("exit code %d, want %d, stdout %q: %s", code, want, stdout, stderr)
		}
		for _, text := range []string{says, "1 of 4 objects is not healthy", "; the report is ", "ctrlplane: not healthy: Deployment shop/big: InProgress: Pod big-", "oh\n"} {
			if !strings.Contains(stderr, text) {
				t.Errorf("stderr does not contain %q: %s", text, stderr)
			}
		}
		files := readReport(t, filepath.Join(cmd.Dir, "out"))
		failures := slices.DeleteFunc(junitFailures(t, files["junit.xml"]), func(m string) bool { return m == "" })
		if n := len(failures); n != map[bool]int{true: 2, false: 1}[healthy] || !strings.Contains(failures[n-1], "Insufficient cpu") {
			t.Errorf("junit.xml has the failures %q", failures)
		}
		if healthy {
			requireLastLine(t, stderr, "--healthy: 1 of 4 objects is not healthy")
		}
		if n := strings.Count(stderr, "1 of 4 objects is not healthy"); n != 1 {
			t.Errorf("stderr says it %d times: %s", n, stderr)
		}
		for name, texts := range map[string][]string{
			"output.log":  {"done\n", "oh\n"},
			"report.html": {"--max-conflicts job=0", "holds", "what led to its last change", "Why Deployment shop/big was changed", "command output"},
		} {
			for _, text := range texts {
				if !strings.Contains(files[name], text) {
					t.Errorf("%s does not contain %q", name, text)
				}
			}
		}
	}
}

// TestRunHealthyTooEarly checks the hint for a run that ends while controllers are busy.
func TestRunHealthyTooEarly(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, "--healthy", "-f", "shop.yaml", "--", "true")
	if err := os.WriteFile(filepath.Join(cmd.Dir, "shop.yaml"), []byte(shopManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := program.Run(t, cmd)
	if code != 123 {
		t.Errorf("exit code %d, want 123", code)
	}
	requireLastLine(t, stderr, "not healthy: add --settle if controllers were not done yet")
}

// TestRunAssertions has a client that reacts to the events of its own writes. The exit
// code of a command that fails is that of the command.
func TestRunAssertions(t *testing.T) {
	t.Parallel()
	for _, code := range []int{0, 7} {
		r := startRun(t, "--no-hot-loop", "--max-conflicts", "nosuch=3", "--controllers=namespace", "--nodes=0", "--no-scheduler", "--", "sh", "-c",
			strings.Replace(reportScript, "exec cat", fmt.Sprintf("cat; exit %d", code), 1))
		client, _ := r.readClient(t)
		maps := client.CoreV1().ConfigMaps("default")
		object, err := maps.Create(t.Context(), newConfigMap("mine"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), program.Timeout)
		defer cancel()
		events, err := maps.Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: "mine"}))
		if err != nil {
			t.Fatal(err)
		}
		for n := range 30 {
			if _, ok := <-events.ResultChan(); !ok {
				t.Fatal("the watch has ended")
			}
			object.Data = map[string]string{"n": fmt.Sprint(n)}
			if object, err = maps.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		events.Stop()
		r.stdin.Close()
		want := code
		if code == 0 {
			want = 123
		}
		r.requireExit(t, want)
		for _, text := range []string{
			"evidence for --no-hot-loop:", "update of ConfigMap default/mine repeats itself", "updated ConfigMap default/mine",
			`--max-conflicts nosuch=3: unknown controller or client "nosuch"`,
		} {
			if !strings.Contains(r.stderr.String(), text) {
				t.Errorf("stderr does not contain %q: %s", text, &r.stderr)
			}
		}
	}
}
