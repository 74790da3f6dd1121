//go:build unix

package command_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRunHealthy has a Deployment that fits on no node. Without the flag such an object is only
// reported: see TestRunSettlesWithoutNodes.
func TestRunHealthy(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, "--settle", longTimeout, "--healthy", "--report", "out", "-f", "shop.yaml", "--max-failed-syncs", "100", "--max-conflicts", "job=0",
		"--", "sh", "-c", "echo done; echo oh >&2")
	testutil.WriteFile(t, filepath.Join(cmd.Dir, "shop.yaml"), shopManifest)
	cmd.Env = withoutCIEnv(cmd.Env)
	stdout, stderr, code := program.Run(t, cmd)
	if code != 123 || stdout != "done\n" {
		t.Errorf("exit code %d, want 123, stdout %q: %s", code, stdout, stderr)
	}
	requireText(t, stderr, "failed an assertion after ", "; the report is ", "ctrlplane: not healthy: Deployment shop/big: InProgress: Pod big-", "oh\n")
	requireLastLine(t, stderr, "--healthy: 1 of 4 objects is not healthy")
	if n := strings.Count(stderr, "1 of 4 objects is not healthy"); n != 1 {
		t.Errorf("stderr says it %d times: %s", n, stderr)
	}
	files := readReport(t, filepath.Join(cmd.Dir, "out"))
	failures := slices.DeleteFunc(junitFailures(t, files["junit.xml"]), func(m string) bool { return m == "" })
	if n := len(failures); n != 2 || !strings.Contains(failures[n-1], "Insufficient cpu") {
		t.Errorf("junit.xml has the failures %q", failures)
	}
	requireText(t, files["output.log"], "done\n", "oh\n")
	requireText(t, files["report.html"], "--max-conflicts job=0", "holds", "what led to its last change", "Why Deployment shop/big was changed", "command output")
}

// TestRunHealthyTooEarly checks the hint for a run that ends while controllers are busy.
func TestRunHealthyTooEarly(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, "--healthy", "-f", "shop.yaml", "--", "true")
	testutil.WriteFile(t, filepath.Join(cmd.Dir, "shop.yaml"), shopManifest)
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
	r := startRun(t, minimal("--no-hot-loop", "--max-conflicts", "nosuch=3", "--", "sh", "-c", strings.Replace(reportScript, "exec cat", "cat; exit 7", 1))...)
	client, _ := r.readClient(t)
	ctx, cancel := context.WithTimeout(t.Context(), program.Timeout)
	defer cancel()
	for n, took := 0, program.Timeout; took > 10*time.Second; n++ { // slower, it is not a hot loop
		began := time.Now()
		if err := reactToOwnWrites(ctx, client, fmt.Sprintf("mine-%d", n), 30); err != nil {
			t.Fatal(err)
		}
		took = time.Since(began)
	}
	r.stdin.Close()
	r.requireExit(t, 7)
	requireText(t, r.stderr.String(), "evidence for --no-hot-loop:", "update of ConfigMap default/mine-", " repeats itself", "updated ConfigMap default/mine-",
		`--max-conflicts nosuch=3: unknown controller or client "nosuch"`)
}

// reactToOwnWrites updates a ConfigMap at each event about it, so many times.
func reactToOwnWrites(ctx context.Context, client kubernetes.Interface, name string, times int) error {
	maps := client.CoreV1().ConfigMaps("default")
	object, err := maps.Create(ctx, newConfigMap(name), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	events, err := maps.Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: name}))
	if err != nil {
		return err
	}
	defer events.Stop()
	for n := range times {
		if _, ok := <-events.ResultChan(); !ok {
			return errors.New("the watch has ended")
		}
		object.Data = map[string]string{"n": fmt.Sprint(n)}
		if object, err = maps.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// holdWrite has a write of another client wait, until the run ends.
func holdWrite(t *testing.T, r *runProcess, cfg *rest.Config) {
	t.Helper()
	other := rest.CopyConfig(cfg)
	other.UserAgent = "held/v1"
	client, err := kubernetes.NewForConfig(other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	verb := func(args ...string) string {
		cmd := program.Command(t, append([]string{"--data-dir", r.dataDir}, args...)...)
		out, stderr, code := program.Run(t, cmd)
		if code != 0 {
			t.Fatalf("%q: %s", args, stderr)
		}
		return out
	}
	verb("clients", "pause", "held")
	go func() { // ends with the control plane
		_, _ = client.CoreV1().ConfigMaps("default").Create(t.Context(), newConfigMap("held"), metav1.CreateOptions{})
	}()
	testutil.Await(t, "the write is held", func() bool { return strings.Contains(verb("clients", "held", "held"), "ConfigMap") })
}

// TestRunSettleEndsAtHotLoop has a loop that goes on after the command: --settle does not
// wait for it, and does not hold. A write that is held keeps the control plane from settling
// between two rounds.
func TestRunSettleEndsAtHotLoop(t *testing.T) {
	t.Parallel()
	r := startRun(t, minimal("--settle", "--no-hot-loop", "--report", "out", "--", "sh", "-c", reportScript)...)
	client, cfg := r.readClient(t)
	holdWrite(t, r, cfg)
	loop := make(chan error, 1)
	go func() { loop <- reactToOwnWrites(t.Context(), client, "mine", math.MaxInt) }()
	round := func() int {
		object, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "mine", metav1.GetOptions{})
		if err != nil {
			return 0
		}
		n, _ := strconv.Atoi(object.Data["n"])
		return n
	}
	began, first := time.Now(), 0
	testutil.Await(t, "the loop is hot", func() bool { // slower, it is not one
		n := round()
		if time.Since(began) > 3*time.Second {
			began, first = time.Now(), n
		}
		return n >= first+20
	})
	status := program.Command(t, "--data-dir", r.dataDir, "status")
	if out, stderr, code := program.Run(t, status); code != 0 || !strings.Contains(out, "update of ConfigMap default/mine repeats itself") || !strings.Contains(out, "; each changes data.n\n") {
		t.Errorf("exit code %d: %s%s", code, stderr, out)
	}
	r.stdin.Close()
	r.requireExit(t, 123)
	if err := <-loop; err == nil { // the control plane has ended
		t.Error("the loop has ended")
	}
	data := testutil.ReadFile(t, filepath.Join(r.cmd.Dir, "out", "junit.xml"))
	if want := "not settled: a hot loop was found"; !strings.Contains(data, want) {
		t.Errorf("junit.xml does not contain %q: %s", want, data)
	}
}
