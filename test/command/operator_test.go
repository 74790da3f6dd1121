package command_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/observe"
)

// project is an operator in the layout of kubebuilder that uses the instrument module.
const project = "../../examples/kubebuilder"

// TestOperators runs operators one after the other on one control plane, which outlives them.
func TestOperators(t *testing.T) {
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"))
	t.Run("usage errors of reconcile", func(t *testing.T) { testReconcileUsageErrors(t, p) })
	t.Run("manager", func(t *testing.T) { testManager(t, p) })
	t.Run("reconcile", func(t *testing.T) { testReconcile(t, p) })
	t.Run("one that ends during a lesson", func(t *testing.T) { testOperatorThatEndsDuringALesson(t, p) })
}

// testManager runs such an operator, with and without leader election: its queue, keys and
// syncs are shown like those of the built-in controllers, with certain causes.
func testManager(t *testing.T, p *program.ControlPlane) {
	manager := filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", manager, "./cmd")
	build.Dir = project
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := &clientsTest{T: t, plane: p}
	c.createCRD(project + "/config/crd/bases/shop.example.com_pages.yaml")

	end := c.startManager(manager)
	c.testPageCauses()
	c.testPagePause()
	c.testPageConflict()
	end()
	c.says(c.run("controllers", "-o", "wide"), "manager/page off")
	end = c.startManager(manager, "--leader-elect")
	c.createPage("second")
	c.awaitConfigMap("second")
	c.awaitStory("why configmap/second", "manager/page created ConfigMap second because Page second was added")
	end()
}

// startManager runs the operator, and returns when it is known. end ends it.
func (t *clientsTest) startManager(manager string, args ...string) (end func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), manager, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(t.plane.Dir, "kubeconfig"))
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.plane.Await(t.T, "known", func() bool { return t.hasController("manager/page", "running") })
	return func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, &log)
		}
		t.plane.Await(t.T, "gone", func() bool { return t.hasController("manager/page", "off") })
	}
}

func (t *clientsTest) hasController(name, state string) bool {
	t.Helper()
	return slices.ContainsFunc(t.snapshot().Controllers, func(c observe.Controller) bool { return c.Name == name && c.State == state })
}

// hasHeldWrite reports whether a write of an object such as "ConfigMap default/x" is held for a
// controller.
func hasHeldWrite(t *testing.T, p *program.ControlPlane, controller, object string) bool {
	t.Helper()
	held, err := p.Control(t).Interventions().HeldWrites(t.Context(), controller, 100)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(held.Items, func(w control.HeldWrite) bool { return w.Object.String() == object })
}

func (t *clientsTest) createPage(name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".yaml")
	testutil.WriteFile(t.T, file, fmt.Sprintf("apiVersion: shop.example.com/v1\nkind: Page\nmetadata: {name: %s}\nspec: {text: Welcome}\n", name))
	t.run("kubectl", "create", "-f", file)
}

// awaitStory waits until a verb tells it: a sync is reported a moment after it has ended.
func (t *clientsTest) awaitStory(verb string, words ...string) string {
	t.Helper()
	var text string
	t.plane.Await(t.T, "told", func() bool {
		text = strings.Join(strings.Fields(t.run(strings.Fields(verb)...)), " ")
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	})
	return text
}

func (t *clientsTest) testPageCauses() {
	t.Helper()
	t.createPage("front")
	t.awaitConfigMap("front")
	text := t.awaitStory("why configmap/front", "manager/page created ConfigMap front because Page front was added", "kubectl (kubernetes-admin) created Page front", "manager/page synced front in")
	if strings.Contains(text, "likely") || strings.Contains(text, "not in the records") {
		t.Errorf("the cause is not certain:\n%s", text)
	}
	t.awaitStory("trace page/front", "manager/page saw it added, synced front in", "created ConfigMap front", "updated Page front status")
	queues := t.snapshot().Queues
	i := slices.IndexFunc(queues, func(q observe.Queue) bool { return q.Controller == "manager/page" && q.Name == "page" })
	if i < 0 {
		t.Fatal("the queue is not listed")
	}
	if q := queues[i]; q.Outside || q.Adds == 0 || q.Workers != 1 || q.Work.Total.Count == 0 {
		t.Errorf("%+v", q)
	}
	t.says(t.run("clients", "-o", "json"), `"controllers": [ "manager/page" ]`)
	t.plane.Await(t.T, "settled", func() bool { return t.snapshot().Process.Settled })
}

// testPagePause holds the writes of the operator's controller, and steps one.
func (t *clientsTest) testPagePause() {
	t.Helper()
	t.says(t.run("controllers", "pause", "page"), "paused: manager/page")
	t.run("kubectl", "patch", "page", "front", "--type=merge", "-p", `{"spec":{"text":"Sale"}}`)
	t.plane.Await(t.T, "held", func() bool { return hasHeldWrite(t.T, t.plane, "manager/page", "ConfigMap default/front") })
	t.says(t.run("controllers", "held", "page"), "ConfigMap default/front")
	text := t.run("status")
	t.says(text, "changed manually: manager/page (paused)")
	if strings.Contains(strings.SplitN(text, ";", 2)[0], "settled") {
		t.Errorf("settled while a sync waits:\n%s", text)
	}
	t.says(t.run("controllers", "step", "manager/page"), "update ConfigMap default/front: 200 OK", "+  text: Sale")
	t.says(t.run("controllers", "resume", "manager/page"), "resumed: manager/page")
	t.fails(2, `unknown controller "manager/pge": did you mean "manager/page"?`, "controllers", "pause", "manager/pge")
	t.fails(2, "a controller of another process", "controllers", "scale", "manager/page", "--workers", "3")
}

// testPageConflict changes what the operator manages, which it undoes.
func (t *clientsTest) testPageConflict() {
	t.Helper()
	t.run("kubectl", "patch", "configmap", "front", "--type=merge", "-p", `{"data":{"text":"Vandalism"}}`)
	t.plane.Await(t.T, "undone", func() bool {
		front, err := t.plane.Client(t.T).CoreV1().ConfigMaps("default").Get(t.Context(), "front", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(front.Data["text"], "Sale")
	})
	t.awaitStory("trace configmap/front", "kubectl (kubernetes-admin) patched ConfigMap front", "manager/page saw it updated", "updated ConfigMap front")
}
