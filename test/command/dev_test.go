//go:build unix

package command_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// fakeOperator is an operator whose source is one line: it creates a Lease and a ConfigMap,
// which it cannot do twice, and a process.
const fakeOperator = `
trap 'echo stopping; exit 0' TERM
read -r reply <source/reply.yaml
case $reply in
exit*) echo "cannot go on: $reply" >&2; exit 3;;
stubborn*) trap '' TERM;;
esac
widgets=$("$CTRLPLANE" kubectl get widgets -o name)
"$CTRLPLANE" kubectl create -f - <<END || exit
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: leader}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: state}}
END
echo reconciled $reply $widgets
sleep 1000 & 
echo child $!
wait
wait
`

const widgetManifests = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// devProcess is a running "ctrlplane dev".
type devProcess struct {
	cmd    *exec.Cmd
	out    io.Closer // where lines come from
	lines  chan string
	seen   bytes.Buffer
	stderr bytes.Buffer // to be read once ended is closed
	ended  chan struct{}
}

// writeFile writes a file in the home folder of the process.
func (d *devProcess) writeFile(t *testing.T, name, text string) {
	t.Helper()
	replaceFile(t, filepath.Join(d.cmd.Dir, name), text)
}

// replaceFile writes a file that another process may read at any time.
func replaceFile(t *testing.T, path, text string) {
	t.Helper()
	unfinished := testutil.WriteFile(t, filepath.Join(t.TempDir(), "unfinished"), text)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Rename(unfinished, path)); err != nil {
		t.Fatal(err)
	}
}

// startDev starts "ctrlplane dev" with the fake operator.
func startDev(t *testing.T, args ...string) *devProcess {
	t.Helper()
	d := newDev(t, args...)
	d.start(t)
	return d
}

// newDev returns "ctrlplane dev" with the files of the fake operator.
func newDev(t *testing.T, args ...string) *devProcess {
	t.Helper()
	args = append([]string{"dev", "--watch", "source", "--crds", "crds", "-f", "widget.yaml"}, args...)
	d := &devProcess{cmd: program.Command(t, append(args, "--", "sh", "operator.sh")...), lines: make(chan string, 1000), ended: make(chan struct{})}
	d.writeFile(t, "operator.sh", fakeOperator)
	d.writeFile(t, "no-interpreter", "#!/no-such-interpreter\n")
	if err := os.Chmod(filepath.Join(d.cmd.Dir, "no-interpreter"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.writeFile(t, "source/reply.yaml", "one\n")
	d.writeFile(t, "crds/widgets.yaml", widgetManifests)
	d.writeFile(t, "crds/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: x}\n")
	d.writeFile(t, "widget.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: first}\n")
	d.cmd.Env = append(d.cmd.Env, "CTRLPLANE="+program.Path())
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return d
}

func (d *devProcess) start(t *testing.T) {
	t.Helper()
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.out, d.cmd.Stderr = out, &d.stderr
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(d.ended)
		defer close(d.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			d.lines <- in.Text()
		}
		_ = d.cmd.Wait() // its ProcessState has the result
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // fails if it has ended
		<-d.ended
	})
}

// requireLine returns the next line that contains a text.
func (d *devProcess) requireLine(t *testing.T, text string) string {
	t.Helper()
	for deadline := time.After(program.Timeout); ; {
		select {
		case line, ok := <-d.lines:
			if !ok {
				<-d.ended
				t.Fatalf("ended with %v before it printed %q: %s%s", d.cmd.ProcessState, text, &d.seen, &d.stderr)
			}
			fmt.Fprintln(&d.seen, line)
			if strings.Contains(line, text) {
				return line
			}
		case <-deadline:
			t.Fatalf("did not print %q: %s", text, &d.seen)
		}
	}
}

// status returns what the verb status prints.
func (d *devProcess) status(t *testing.T) string {
	t.Helper()
	out, err := d.run("status")
	if err != nil {
		t.Errorf("status: %v", err)
	}
	return out
}

// run runs a verb for the control plane of dev.
func (d *devProcess) run(args ...string) (string, error) {
	cmd := exec.Command(program.Path(), append([]string{"--name", "dev"}, args...)...)
	cmd.Env, cmd.Dir = d.cmd.Env, d.cmd.Dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// requireChild returns the ID of a process that the operator has started.
func (d *devProcess) requireChild(t *testing.T) int {
	t.Helper()
	fields := strings.Fields(d.requireLine(t, "[operator] child "))
	pid, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil || syscall.Kill(pid, 0) != nil {
		t.Fatalf("%v: the child does not run", fields)
	}
	return pid
}

// requireEnd checks the exit code, and that nothing is left of the operator, the folders
// and the processes.
func (d *devProcess) requireEnd(t *testing.T, code, child int) {
	t.Helper()
	for range d.lines { // until the end
	}
	<-d.ended
	if got := d.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d: %s%s", got, code, &d.seen, &d.stderr)
	}
	requireNothingLeft(t, d.cmd)
	if child == 0 { // nothing was started
		return
	}
	if state := processState(child); state != "" && state != "Z" {
		t.Errorf("process %d of the operator is left in state %s", child, state)
	}
}

// processState is the state of a process as ps shows it, without details; empty = it does
// not exist.
func processState(pid int) string {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	if err != nil || len(out) == 0 {
		return ""
	}
	return string(out[:1])
}

func TestDevRestartsTheOperator(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	d.requireLine(t, "manifests  ") // as a stage of the start
	d.requireLine(t, "[dev] watching source, operator.sh, crds, widget.yaml (sources: *.yaml)")
	d.requireLine(t, "[operator] reconciled one widget.example.com/first")
	first := d.requireChild(t)

	// The operator could not create its ConfigMap again if the first one were still there,
	// nor the Lease, which is not part of the restored state.
	d.writeFile(t, "source/reply.yaml", "two\n")
	d.requireLine(t, "[dev] source/reply.yaml changed: restarting the operator")
	d.requireLine(t, "[dev] operator stopped and state restored after ")
	d.requireLine(t, "[dev] operator started (run 2), ")
	d.requireLine(t, "[operator] reconciled two widget.example.com/first")
	if state := processState(first); state != "" && state != "Z" {
		t.Errorf("a process of the first run is left in state %s", state)
	}
	d.requireChild(t)

	// The command itself is a source, too.
	d.writeFile(t, "operator.sh", fakeOperator+"# changed\n")
	d.requireLine(t, "[dev] operator.sh changed: restarting the operator")
	d.requireLine(t, "[operator] reconciled two widget.example.com/first")
	d.requireChild(t)

	// A change of a manifest is applied to the state from before all of them.
	d.writeFile(t, "widget.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: second}\n")
	if line := d.requireLine(t, "[operator] reconciled two "); strings.Contains(line, "first") || !strings.Contains(line, "second") {
		t.Errorf("%q: want only what the manifests have now", line)
	}
	d.requireChild(t)

	d.writeFile(t, "crds/widgets.yaml", "kind: [\n")
	d.requireLine(t, "crds/widgets.yaml:1: ")
	d.writeFile(t, "crds/widgets.yaml", widgetManifests)
	d.requireLine(t, "[operator] reconciled two ")
	d.requireChild(t)

	d.writeFile(t, "source/reply.yaml", "exit\n")
	if line := d.requireLine(t, "[dev] the operator exited"); !strings.Contains(line, "with code 3: cannot go on: exit (after ") || !strings.HasSuffix(line, "; waiting for a change") {
		t.Errorf("got %q", line)
	}
	const ended = "the operator of dev has not run for "
	if got := d.status(t); !strings.Contains(got, ended) || !strings.Contains(got, ": it exited with code 3: cannot go on: exit; dev starts it again when a source changes\n") {
		t.Errorf("status of an operator that has ended:\n%s", got)
	}
	const waited = "Widget default/second: The operator of dev has not run since "
	if got, err := d.run("wait", "widget/second", "--for-deletion", "--timeout", "1s"); err == nil || strings.Count(got, waited) != 1 {
		t.Errorf("wait while the operator does not run: %v:\n%s", err, got)
	}
	d.writeFile(t, "source/reply.yaml", "stubborn\n")
	d.requireLine(t, "[operator] reconciled stubborn")
	child := d.requireChild(t)
	if got := d.status(t); strings.Contains(got, ended) {
		t.Errorf("status of an operator that runs:\n%s", got)
	}

	// The operator ignores SIGTERM: the second signal does not wait for it. One that comes too soon is not the second.
	testutil.Await(t, "end of the operator", func() bool {
		_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have waited long enough
		state := processState(child)
		return state == "" || state == "Z"
	})
	d.requireEnd(t, 143, child)
}

// TestDevAppliesChangesOfABase changes files outside the folder of -k that its kustomization consists of, or will.
func TestDevAppliesChangesOfABase(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		replaceFile(t, filepath.Join(folder, name), text)
	}
	write("base/kustomization.yaml", "resources: [widget.yaml]\nconfigMapGenerator: [{name: note, files: [note.txt]}]\n")
	write("base/widget.yaml", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: before}}")
	write("base/note.txt", "one")
	write("overlay/kustomization.yaml", "resources: [../base]\n")
	write("later/kustomization.yaml", "configMapGenerator: [{name: later, files: [later.txt]}]\n")
	write("later/later.txt", "one")
	const operator = `echo reconciled one $("$CTRLPLANE" kubectl get widgets -o name); sleep 1000 & echo child $!; wait`
	d := startDev(t, "-k", filepath.Join(folder, "overlay"), "--watch", folder, "--", "sh", "-c", operator)
	d.requireLine(t, "widget.example.com/before")
	write("base/widget.yaml", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: after}}")
	if line := d.requireLine(t, "[operator] reconciled one "); strings.Contains(line, "before") || !strings.Contains(line, "after") {
		t.Errorf("%q: want only what the manifests have now", line)
	}
	write("base/note.txt", "two")
	d.requireLine(t, "note.txt changed: restarting the operator")
	d.requireLine(t, "[operator] reconciled one ")
	write("overlay/kustomization.yaml", "resources: [../base, ../later]\n")
	d.requireLine(t, "[operator] reconciled one ")
	write("later/later.txt", "two")
	d.requireLine(t, "later.txt changed: restarting the operator")
	d.requireLine(t, "[operator] reconciled one ")
	child := d.requireChild(t)
	program.Signal(t, d.cmd, syscall.SIGTERM)
	d.requireEnd(t, 143, child)
}

// leasingOperator says which Leases it finds. It takes over one of them, and leaves one that has expired.
const leasingOperator = `
"$CTRLPLANE" kubectl get leases -o jsonpath='found{range .items[*]} {.metadata.name} of {.spec.holderIdentity}{end} and no more{"\n"}' || exit
"$CTRLPLANE" kubectl apply --server-side --force-conflicts -f - <<END || exit
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: leader}, spec: {holderIdentity: operator-$$}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: expired}
spec: {holderIdentity: operator-1, leaseDurationSeconds: 1, renewTime: "2020-01-01T00:00:00.000000Z"}
END
echo leading
sleep 1000 &
wait
`

// TestDevDeletesKeptLeases runs dev twice. What the first operator has left does not hinder the
// second one: one Lease has expired, and the other one, which it takes over, is gone at its next run.
func TestDevDeletesKeptLeases(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	leads := func(d *devProcess, finds string) {
		t.Helper()
		d.requireLine(t, "[operator] found"+finds)
		d.requireLine(t, "[operator] leading")
	}
	end := func(d *devProcess) {
		t.Helper()
		program.Signal(t, d.cmd, syscall.SIGTERM)
		d.requireEnd(t, 143, 0)
	}
	begin := func() *devProcess {
		t.Helper()
		return startDev(t, "--data-dir", dir, "--", "sh", "-c", leasingOperator)
	}
	d := begin()
	leads(d, " and no more")
	end(d)
	d = begin()
	leads(d, " leader of operator-")
	d.writeFile(t, "source/reply.yaml", "two\n")
	leads(d, " and no more")
	end(d)
}

// keepingOperator says which Leases it finds. One is that of an election, the other one its data.
const keepingOperator = `
echo found $("$CTRLPLANE" kubectl get leases -o name) and no more
"$CTRLPLANE" kubectl apply --server-side -f - <<END || exit
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: data}, spec: {holderIdentity: a, renewTime: "2030-01-01T00:00:00.000000Z"}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: leader}
spec: {holderIdentity: a, leaseDurationSeconds: 15, acquireTime: "2030-01-01T00:00:00.000000Z", renewTime: "2030-01-01T00:00:00.000000Z"}
END
echo leading
sleep 1000 &
wait
`

// lockingOperator says who holds its lock, which is a ConfigMap with data, and takes it, as a program in Python does.
const lockingOperator = `
echo found "$("$CTRLPLANE" kubectl get configmaps lock --ignore-not-found -o jsonpath='{.data.a} held by {.metadata.annotations}')" and no more
"$CTRLPLANE" kubectl apply --server-side --force-conflicts -f - <<END || exit
apiVersion: v1
kind: ConfigMap
metadata:
  name: lock
  annotations:
    control-plane.alpha.kubernetes.io/leader: '{"holderIdentity": "operator-$$", "leaseDurationSeconds": "15", "renewTime": "RENEWED"}'
data: {a: "1"}
END
echo leading
sleep 1000 &
wait
`

// TestDevReleasesLocks restarts an operator whose lock is a ConfigMap: with --keep, the next run finds it without a holder. So it is
// with a state to return to in which the holder is that of an earlier dev, which has expired.
func TestDevReleasesLocks(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	const released = "1 held by  and no more"
	for _, run := range []struct {
		flags []string
		finds string
	}{
		{[]string{"--keep"}, " and no more"},
		{nil, released},
	} {
		d := startDev(t, append(run.flags, "--data-dir", dir, "--", "sh", "-c", strings.Replace(lockingOperator, "RENEWED", "2020-01-01 00:00:00.000001", 1))...)
		d.requireLine(t, "[operator] found "+run.finds)
		d.requireLine(t, "[operator] leading")
		d.writeFile(t, "source/reply.yaml", "two\n")
		d.requireLine(t, "[operator] found "+released)
		d.requireLine(t, "[operator] leading")
		program.Signal(t, d.cmd, syscall.SIGTERM)
		d.requireEnd(t, 143, 0)
	}
}

// guardedOperator is like lockingOperator, with a webhook that only it could serve.
const guardedOperator = `
"$CTRLPLANE" kubectl create -f - <<END
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks:
- name: guard.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [configmaps]}]
  sideEffects: None
  admissionReviewVersions: [v1]
END
`

// TestDevRunsWithoutReleasingALock restarts an operator whose webhook refuses that dev releases its lock.
func TestDevRunsWithoutReleasingALock(t *testing.T) {
	t.Parallel()
	script := strings.Replace(lockingOperator, "RENEWED", "2020-01-01 00:00:00.000001", 1)
	d := startDev(t, "--keep", "--", "sh", "-c", strings.Replace(script, "echo leading", guardedOperator+"echo leading", 1))
	d.requireLine(t, "[operator] leading")
	d.writeFile(t, "source/reply.yaml", "two\n")
	d.requireLine(t, "warning: a lock of a leader election was not released, a new leader waits until it expires: configmaps ")
	d.requireLine(t, "[operator] found ")
	program.Signal(t, d.cmd, syscall.SIGTERM)
	d.requireEnd(t, 143, 0)
}

// TestDevKeepsLeasesThatAreData restarts an operator with --keep: only the Lease of its election is gone.
func TestDevKeepsLeasesThatAreData(t *testing.T) {
	t.Parallel()
	d := startDev(t, "--keep", "--", "sh", "-c", keepingOperator)
	d.requireLine(t, "[operator] found and no more")
	d.requireLine(t, "[operator] leading")
	d.writeFile(t, "source/reply.yaml", "two\n")
	d.requireLine(t, "[operator] found lease.coordination.k8s.io/data and no more")
	d.requireLine(t, "[operator] leading")
	program.Signal(t, d.cmd, syscall.SIGTERM)
	d.requireEnd(t, 143, 0)
}

// countingOperator counts the signals that it gets until it may end.
const countingOperator = `
n=0
trap 'n=$((n+1)); echo asked $n' TERM
echo "make is $PPID"
until read -r _ <may-end; do :; done
echo ends after $n
`

// TestDevStopsMakeOnce stops an operator that make runs: it gets one signal, though make passes on SIGTERM, and make runs
// nothing after it.
func TestDevStopsMakeOnce(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"make", "ps"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	d := newDev(t, "--", "sh", "-c", "exec make run")
	d.writeFile(t, "Makefile", "run:\n\t@sh counting.sh\n\t@echo the next line runs\n")
	d.writeFile(t, "counting.sh", countingOperator)
	path := filepath.Join(d.cmd.Dir, "may-end")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	mayEnd, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer mayEnd.Close()
	d.start(t)
	fields := strings.Fields(d.requireLine(t, "[operator] make is "))
	pid, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		t.Fatal(err)
	}
	d.writeFile(t, "source/reply.yaml", "two\n")
	d.requireLine(t, "[operator] asked 1")
	if state := processState(pid); state == "" || state == "Z" {
		t.Errorf("make, process %d, has not waited for what it runs: state %q", pid, state)
	}
	end := func() {
		t.Helper()
		if _, err := mayEnd.WriteString("yes\n"); err != nil {
			t.Fatal(err)
		}
		d.requireLine(t, "[operator] ends after 1")
	}
	end()
	d.requireLine(t, "[operator] make is ")
	program.Signal(t, d.cmd, syscall.SIGTERM)
	d.requireLine(t, "[operator] asked 1")
	end()
	d.requireEnd(t, 143, 0)
	if strings.Contains(d.seen.String(), "the next line runs") {
		t.Errorf("make has gone on: %s", &d.seen)
	}
}

// TestDevEndsAlone ends dev otherwise than from the terminal.
func TestDevEndsAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  func(*testing.T, *devProcess)
		code int
		says string
	}{
		{"terminal closed", func(t *testing.T, d *devProcess) { program.Signal(t, d.cmd, syscall.SIGHUP) }, 129, ""},
		{"output closed", func(t *testing.T, d *devProcess) {
			if err := d.out.Close(); err != nil {
				t.Fatal(err)
			}
			d.writeFile(t, "source/reply.yaml", "two\n")
		}, 125, "ctrlplane: stopped: nothing reads stdout any more: redirect it to a file\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := startDev(t, "--keep", "--", "sh", "-c", "sleep 1000 & echo child $!; wait")
			child := d.requireChild(t)
			tt.end(t, d)
			d.requireEnd(t, tt.code, child)
			if got := program.WithoutSlowStart(d.stderr.String()); got != tt.says {
				t.Errorf("stderr %q, want %q", got, tt.says)
			}
		})
	}
}

// TestDevEndsWithoutOperator ends dev after its command could not be started, which is
// found out only when it is.
func TestDevEndsWithoutOperator(t *testing.T) {
	t.Parallel()
	d := startDev(t, "--", "./no-interpreter")
	d.requireLine(t, "check the path, and the interpreter if it is a script")
	program.Signal(t, d.cmd, syscall.SIGTERM)
	d.requireEnd(t, 143, 0)
}

func TestDevRejects(t *testing.T) {
	t.Parallel()
	empty := testutil.WriteFile(t, filepath.Join(t.TempDir(), "x.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n")
	for _, tt := range []struct {
		name string
		args []string
		code int
		text string
	}{
		{"unknown command", []string{"--", "no-such-command"}, 127, "PATH"},
		{"no definition", []string{"--crds", empty, "--", "true"}, 2, "no CustomResourceDefinition in"},
		{"definitions in subfolders", []string{"--crds", t.TempDir(), "--", "true"}, 2, "its subfolders are not read): name the folder that has them"},
		{"missing manifest", []string{"-f", "missing.yaml", "--", "true"}, 2, "missing.yaml: no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			program.RequireFailure(t, program.Command(t, append([]string{"dev"}, tt.args...)...), tt.code, tt.text)
		})
	}
}
