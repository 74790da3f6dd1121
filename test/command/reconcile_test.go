package command_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// reconcilerScript copies a ConfigMap once a file exists.
const reconcilerScript = `[ "$1" = note ] || exit 0
[ -e %s ] || { echo "not yet: $2"; exit 3; }
%s kubectl create configmap copy -n "$2"
`

// endedPattern matches why the controller of a process that has ended is off. The last report may be lost
// on a busy machine: then the control plane notices the end by itself, after 10 s.
const endedPattern = "its process (has ended|does not report any more|has closed its connection)"

// reconcilerProcess runs reconcilerScript as the reconciler of operator/configmap.
type reconcilerProcess struct {
	cmd    *exec.Cmd
	out    lineBuffer
	exited chan error
}

func startReconciler(t *testing.T, p *program.ControlPlane, script string) *reconcilerProcess {
	t.Helper()
	r := &reconcilerProcess{cmd: program.Command(t, "--data-dir", p.Dir, "reconcile", "cm", "-n", "default", "--", "sh", script), exited: make(chan error, 1)}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.exited <- r.cmd.Wait() }()
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	p.Await(t, "controller", func() bool { return strings.Contains(r.out.String(), "operator/configmap is running") })
	return r
}

// terminate ends the process as Ctrl-C does.
func (r *reconcilerProcess) terminate(t *testing.T) {
	t.Helper()
	program.Signal(t, r.cmd, syscall.SIGTERM)
	if err := <-r.exited; err != nil && !strings.Contains(err.Error(), "exit status") {
		t.Error(err)
	}
}

// testReconcile runs a script as the reconciler of a controller.
func testReconcile(t *testing.T, p *program.ControlPlane) {
	dir := t.TempDir()
	script, ready := filepath.Join(dir, "copy.sh"), filepath.Join(dir, "ready")
	testutil.WriteFile(t, script, fmt.Appendf(nil, reconcilerScript, ready, program.Path()))
	r := startReconciler(t, p, script)
	createNote := func() {
		t.Helper()
		note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "note"}}
		if _, err := p.Client(t).CoreV1().ConfigMaps("default").Create(t.Context(), note, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	createNote()
	p.Await(t, "failed syncs", func() bool {
		return strings.Count(r.out.String(), "default/note: not yet: default\ndefault/note: failed with exit code 3, will retry\n") >= 2
	})

	// Its writes are held while it is paused, and that is what its command waits for.
	program.MustRun(t, p.Dir, "controllers", "pause", "operator/configmap")
	testutil.WriteFile(t, ready, "")
	held := func() bool { return hasHeldWrite(t, p, "operator/configmap", "ConfigMap default/copy") }
	p.Await(t, "held write", held)
	if text := program.MustRun(t, p.Dir, "controllers", "held", "operator/configmap"); !strings.Contains(text, "copy") {
		t.Errorf("held writes:\n%s", text)
	}
	program.MustRun(t, p.Dir, "controllers", "resume", "operator/configmap")
	why := ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("last story:\n%s\noutput:\n%s", why, r.out.String())
		}
	})
	p.Await(t, "story of the copy", func() bool {
		why = program.MustRun(t, p.Dir, "why", "configmap/copy")
		return strings.Contains(why, "operator/configmap created ConfigMap copy") && strings.Contains(why, "operator/configmap synced note") &&
			strings.Contains(why, "exit code 3: not yet: default") && !strings.Contains(why, "likely")
	})

	// It ends while a command of it waits. One process whose last report arrives is enough.
	off := regexp.MustCompile(`operator/configmap .*\n +` + endedPattern)
	for tries := 1; ; tries++ {
		program.MustRun(t, p.Dir, "controllers", "pause", "operator/configmap")
		if err := p.Client(t).CoreV1().ConfigMaps("default").Delete(t.Context(), "note", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		p.Await(t, "next held write", held)
		r.terminate(t)
		program.MustRun(t, p.Dir, "controllers", "resume", "operator/configmap")
		var found []string
		p.Await(t, "off", func() bool {
			found = off.FindStringSubmatch(program.MustRun(t, p.Dir, "controllers"))
			return found != nil
		})
		if found[1] == "has ended" {
			break
		}
		if tries == 5 {
			t.Fatalf("none of %d processes has sent a last report: %s", tries, found[0])
		}
		createNote()
		r = startReconciler(t, p, script)
	}

	// It works for an object that it has never synced: it has the name of its kind.
	p.AwaitFailure(t, time.Second, []string{"wait", "configmap/late"}, "ConfigMap default/late: operator/configmap has not run since ")
}

// testOperatorThatEndsDuringALesson runs an operator that is not the lesson's to start again.
func testOperatorThatEndsDuringALesson(t *testing.T, p *program.ControlPlane) {
	cmd := program.Command(t, "--data-dir", p.Dir, "reconcile", "secrets", "--", "true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it has ended
		<-ended
	})
	const name = "operator/secret"
	p.Await(t, "listing "+name, func() bool {
		list, err := p.Control(t).Controllers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list, func(c control.Controller) bool { return c.Name == name })
	})
	lesson := fmt.Sprintf("## One\n\n```run\nrun: kill %d; until ctrlplane controllers | grep -A 1 '^%s ' | grep -E '%s'; do sleep 0.1; done\n```\n", cmd.Process.Pid, name, endedPattern)
	if out := program.MustRun(t, p.Dir, "learn", "--auto", program.WriteLesson(t, lesson)); !regexp.MustCompile(endedPattern).MatchString(out) {
		t.Errorf("the operator has not ended:\n%s", out)
	}
	listed := func() bool { return strings.Contains(program.MustRun(t, p.Dir, "controllers", "-o", "name"), name) }
	if !listed() {
		t.Fatal("the lesson has removed an operator of another one")
	}
	_, says, code := program.Run(t, program.Command(t, "--data-dir", p.Dir, "wait", "settled", "--timeout", "5m"))
	if code != 0 || !strings.Contains(says, "settled, but "+name+" does not run: ") || !regexp.MustCompile(` controllers remove [^"]*`+name+`[ "]`).MatchString(says) {
		t.Errorf("wait settled: exit code %d: %s", code, says)
	}
	if out := program.MustRun(t, p.Dir, "controllers", "remove", name); out != "removed: "+name+"\n" || listed() {
		t.Errorf("remove: %s", out)
	}
	const own = "## One\n\n```run\nrun: ctrlplane reconcile secrets -- true &\n```\n\n```run\nrun: until ctrlplane controllers -o name | grep " + name + "; do sleep 0.1; done\n```\n"
	if out := program.MustRun(t, p.Dir, "learn", "--auto", program.WriteLesson(t, own)); !strings.Contains(out, "  "+name+"\n") {
		t.Errorf("the lesson has not started its operator:\n%s", out)
	}
	if listed() {
		t.Error("the lesson leaves its operator behind")
	}
}

func testReconcileUsageErrors(t *testing.T, p *program.ControlPlane) {
	for args, tc := range map[string]struct {
		code int
		says string
	}{
		"reconcile":                                   {2, "reconcile KIND -- COMMAND"},
		"reconcile configmaps sh":                     {2, "reconcile KIND -- COMMAND"},
		"reconcile nothings -- sh":                    {2, `unknown kind "nothings"`},
		"reconcile configmaps --owns nothings -- sh":  {2, `unknown kind "nothings"`},
		"reconcile configmapz -- sh":                  {2, `unknown kind "configmapz": did you mean "configmap"?`},
		"why deploymnt/web":                           {2, `unknown kind "deploymnt": did you mean "deployment"?`},
		"trace deploymnt/web":                         {2, `unknown kind "deploymnt": did you mean "deployment"?`},
		"wait deploymnt/web":                          {2, `unknown kind deploymnt: did you mean "deployment"?`},
		"reconcile configmaps -- no-such-program-was": {1, "no-such-program-was"},
	} {
		t.Run(args, func(t *testing.T) {
			program.RequireFailure(t, program.Command(t, append([]string{"--data-dir", p.Dir}, strings.Fields(args)...)...), tc.code, tc.says)
		})
	}
}
