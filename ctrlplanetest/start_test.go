package ctrlplanetest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/leaks"
)

func fileMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// readPID returns the ID of the process that a control plane runs in.
func readPID(t *testing.T, kubeconfig string) int {
	t.Helper()
	data := testutil.ReadFile(t, filepath.Join(filepath.Dir(kubeconfig), "pid"))
	pid, err := strconv.Atoi(strings.TrimSpace(data))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestStartPassesOptionsAndCleansUp sets all Options, checks their effects, and that
// nothing is left behind.
func TestStartPassesOptionsAndCleansUp(t *testing.T) {
	before := goleak.IgnoreCurrent()
	logFile := filepath.Join(t.TempDir(), "log")
	var kubeconfig string
	var pid int
	r := newRecorder("TestStarted")
	r.runTest(func(tb testing.TB) {
		cp := ctrlplanetest.Start(tb, ctrlplanetest.Options{
			Nodes:                 2,
			Manifests:             []string{"testdata/widgets.yaml"},
			Controllers:           []string{"*", "-job"},
			NoScheduler:           true,
			Kubernetes:            "1.36",
			FeatureGates:          "ContextualLogging=true",
			RuntimeConfig:         "api/beta=true",
			APIServerArgs:         []string{"max-requests-inflight=401"},
			ControllerManagerArgs: []string{"node-monitor-period=4s"},
			ExcludeStart:          true,
			Records:               100,
			LogFile:               logFile,
			Backend:               ctrlplanetest.Binary{Flags: []string{"--node-zones=2"}},
		})
		kubeconfig, pid = cp.Kubeconfig(), readPID(t, cp.Kubeconfig())
		nodes, err := cp.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil || len(nodes.Items) != 2 || nodes.Items[1].Labels["topology.kubernetes.io/zone"] != "zone-b" {
			t.Errorf("nodes: %v, %v", nodes, err)
		}
		version, err := cp.Client().Discovery().ServerVersion()
		if err != nil || version.EmulationMinor != "36" {
			t.Errorf("version: %+v, %v, want an emulated 1.36", version, err)
		}
		s, err := cp.Source().Snapshot(t.Context())
		if err != nil || s.Journal.Size != 100 || s.Journal.StartEnd == 0 {
			t.Errorf("the journal holds %d records, %v, want 100; the start ended at %d", s.Journal.Size, err, s.Journal.StartEnd)
		}
		for _, c := range s.Controllers {
			if (c.Name == "job-controller" || c.Name == "kube-scheduler") && c.State == "running" {
				t.Errorf("%s runs", c.Name)
			}
		}
		if fileMissing(logFile) {
			t.Error("no log file")
		}
	})
	if r.failed {
		t.Error(r.logged())
	}
	if !fileMissing(filepath.Dir(kubeconfig)) {
		t.Errorf("%s still exists", filepath.Dir(kubeconfig))
	}
	if processAlive(pid) {
		t.Errorf("process %d still runs", pid)
	}
	leaks.VerifyNone(t, before)
}

func TestStartOfWrongProgram(t *testing.T) {
	for _, tc := range []struct{ role, want string }{
		{"chatterbox", `: unexpected output "hello, this is not ctrlplane": is this ctrlplane?`},
		{"newer", "is version v9.9.9 with protocol 99, the tests need protocol 2: install the version of ctrlplane that go.mod requires"},
		{"older", "is too old for these tests: install the version of ctrlplane that go.mod requires"},
		{"no file", "kubeconfig of "},
		{"crashing", "did not start: process exited: exit status 1: ctrlplane: the disk is full"},
	} {
		t.Run(tc.role, func(t *testing.T) { requireStartError(t, fakeProgram(t, tc.role), tc.want) })
	}
	t.Run("mute", func(t *testing.T) {
		o := fakeProgram(t, "mute")
		o.StartTimeout = 100 * time.Millisecond
		requireStartError(t, o, "is not ready: timed out after 100ms")
	})
	t.Run("no such file", func(t *testing.T) {
		requireStartError(t, ctrlplanetest.Options{Backend: ctrlplanetest.Binary{Path: "/no/such/ctrlplane"}}, "Binary.Path is not an executable program")
	})
	t.Run("environment names a folder", func(t *testing.T) {
		t.Setenv("CTRLPLANE", "testdata")
		requireStartError(t, ctrlplanetest.Options{}, "$CTRLPLANE is not an executable program")
	})
	t.Run("none in PATH", func(t *testing.T) {
		t.Setenv("CTRLPLANE", "")
		t.Setenv("PATH", t.TempDir())
		requireStartError(t, ctrlplanetest.Options{}, `program ctrlplane not found in PATH, and $CTRLPLANE is not set: install it with "go install github.com/ctrlplane/ctrlplane/cmd/ctrlplane@latest"`)
	})
}

// TestStartWithInvalidOptions starts with Options that are refused.
func TestStartWithInvalidOptions(t *testing.T) {
	requireStartError(t, ctrlplanetest.Options{Timeout: -1}, "Options.Timeout: -1ns is negative")
	requireStartError(t, ctrlplanetest.Options{FeatureGates: "NoSuchGate=true"}, "NoSuchGate")
	requireStartError(t, ctrlplanetest.Options{Manifests: []string{"/no/such/file"}}, "/no/such/file")
	requireStartError(t, ctrlplanetest.Options{Backend: ctrlplanetest.Binary{Flags: []string{"--no-such-flag"}}}, "unknown flag: --no-such-flag")
	requireStartError(t, ctrlplanetest.Options{Records: -1}, "Options.Records: -1 is negative")
	requireStartError(t, ctrlplanetest.Options{Controllers: []string{}}, "Options.Controllers: the list is empty: name controllers, or leave it nil for the default")
	requireStartError(t, ctrlplanetest.Options{StartTimeout: -1}, "Options.StartTimeout: -1ns is negative")
	requireStartError(t, ctrlplanetest.Options{StartTimeout: 10 * time.Millisecond}, "timed out after 10ms")
	r := newRecorder("Two")
	r.runTest(func(tb testing.TB) { ctrlplanetest.Start(tb, ctrlplanetest.Options{}, ctrlplanetest.Options{}) })
	if want := "2 Options given: pass at most one"; !strings.Contains(r.logged(), want) {
		t.Errorf("got %q, want %q", r.logged(), want)
	}
}

// requireStartError checks that a start fails with an error that contains want.
func requireStartError(t *testing.T, o ctrlplanetest.Options, want string) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	r := newRecorder("Refused")
	r.runTest(func(tb testing.TB) { ctrlplanetest.Start(tb, o) })
	if !r.failed || !strings.HasPrefix(r.logged(), "ctrlplanetest: ") || !strings.Contains(r.logged(), want) {
		t.Errorf("got %q, want %q", r.logged(), want)
	}
	leaks.VerifyNone(t, before)
}

// TestControlPlaneEndsWithKilledTests kills a process of tests: its control plane must end.
func TestControlPlaneEndsWithKilledTests(t *testing.T) {
	cmd, line := startRole(t, "victim")
	kubeconfig := strings.TrimSpace(line)
	pid := readPID(t, kubeconfig)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	testutil.Await(t, "the end of the control plane", func() bool { return !processAlive(pid) })
	if !fileMissing(filepath.Dir(kubeconfig)) {
		t.Errorf("%s still exists", filepath.Dir(kubeconfig))
	}
}

// TestControlPlaneDiesDuringTest kills the control plane during a test.
func TestControlPlaneDiesDuringTest(t *testing.T) {
	r := newRecorder("TestDies")
	r.runTest(func(tb testing.TB) {
		cp := ctrlplanetest.Start(tb)
		object := cp.ObjectsByName(tb, "deployment/never")
		t.Cleanup(func() { os.RemoveAll(filepath.Dir(cp.Kubeconfig())) }) // as the next start does
		process, err := os.FindProcess(readPID(t, cp.Kubeconfig()))
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Kill(); err != nil {
			t.Fatal(err)
		}
		cp.WaitHealthy(tb, object...)
	})
	if n := strings.Count(r.logged(), "the control plane exited during the tests: "); n < 2 {
		t.Errorf("it is reported %d times, want by the wait and at the end of the test: %s", n, r.logged())
	}
}
