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

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/observe"
)

// project is an operator in the layout of kubebuilder that uses the instrument module.
const project = "../../examples/kubebuilder"

// TestOperator runs such an operator, with and without leader election: its queue, keys and
// syncs are shown like those of the built-in controllers, with certain causes.
func TestOperator(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	manager := filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", manager, "./cmd")
	build.Dir = project
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p := program.Up(t, dir)
	c := &clientsTest{T: t, dir: dir}
	crd, err := filepath.Abs(project + "/config/crd/bases/shop.example.com_pages.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c.run("kubectl", "apply", "-f", crd)
	c.run("kubectl", "wait", "--for=condition=Established", "crd/pages.shop.example.com")

	end := c.startManager(p, manager)
	c.testPageCauses(p)
	c.testPagePause(p)
	c.testPageConflict(p)
	end()
	c.says(c.run("controllers", "-o", "wide"), "manager/page off")
	end = c.startManager(p, manager, "--leader-elect")
	c.createPage("second")
	c.awaitConfigMap(p, "second")
	c.awaitStory(p, "why configmap/second", "manager/page created ConfigMap second because Page second was added")
	end()
}

// startManager runs the operator, and returns when it is known. end ends it.
func (t *clientsTest) startManager(p *program.ControlPlane, manager string, args ...string) (end func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), manager, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(t.dir, "kubeconfig"))
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.Await(t.T, "known", func() bool { return t.hasController("manager/page", "running") })
	return func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, &log)
		}
		p.Await(t.T, "gone", func() bool { return t.hasController("manager/page", "off") })
	}
}

func (t *clientsTest) hasController(name, state string) bool {
	t.Helper()
	return slices.ContainsFunc(t.snapshot().Controllers, func(c observe.Controller) bool { return c.Name == name && c.State == state })
}

func (t *clientsTest) createPage(name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".yaml")
	writeFile(t.T, file, fmt.Sprintf("apiVersion: shop.example.com/v1\nkind: Page\nmetadata: {name: %s}\nspec: {text: Welcome}\n", name))
	t.run("kubectl", "create", "-f", file)
}

// awaitStory waits until a verb tells it: a sync is reported a moment after it has ended.
func (t *clientsTest) awaitStory(p *program.ControlPlane, verb string, words ...string) string {
	t.Helper()
	var text string
	p.Await(t.T, "told", func() bool {
		text = strings.Join(strings.Fields(t.run(strings.Fields(verb)...)), " ")
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	})
	return text
}

func (t *clientsTest) testPageCauses(p *program.ControlPlane) {
	t.Helper()
	t.createPage("front")
	t.awaitConfigMap(p, "front")
	text := t.awaitStory(p, "why configmap/front", "manager/page created ConfigMap front because Page front was added", "kubectl (kubernetes-admin) created Page front", "manager/page synced front in")
	if strings.Contains(text, "likely") || strings.Contains(text, "not in the records") {
		t.Errorf("the cause is not certain:\n%s", text)
	}
	t.awaitStory(p, "trace page/front", "manager/page saw it added, synced front in", "created ConfigMap front", "updated Page front status")
	i := slices.IndexFunc(t.snapshot().Queues, func(q observe.Queue) bool { return q.Controller == "manager/page" && q.Name == "page" })
	if i < 0 {
		t.Fatal("the queue is not listed")
	}
	if q := t.snapshot().Queues[i]; q.Outside || q.Adds == 0 || q.Workers != 1 || q.Work.Total.Count == 0 {
		t.Errorf("%+v", q)
	}
	t.says(t.run("clients", "-o", "json"), `"controllers": [ "manager/page" ]`)
	p.Await(t.T, "settled", func() bool { return t.snapshot().Process.Settled })
}

// testPagePause holds the writes of the operator's controller, and steps one.
func (t *clientsTest) testPagePause(p *program.ControlPlane) {
	t.Helper()
	t.says(t.run("controllers", "pause", "page"), "paused: manager/page")
	t.run("kubectl", "patch", "page", "front", "--type=merge", "-p", `{"spec":{"text":"Sale"}}`)
	p.Await(t.T, "held", func() bool { return strings.Contains(t.run("controllers", "held", "page"), "ConfigMap default/front") })
	t.says(t.run("status"), "changed manually: manager/page (paused)")
	if text := t.run("status"); strings.Contains(strings.SplitN(text, ";", 2)[0], "settled") {
		t.Errorf("settled while a sync waits:\n%s", text)
	}
	t.says(t.run("controllers", "step", "manager/page"), "update ConfigMap default/front: 200 OK", "+  text: Sale")
	t.says(t.run("controllers", "resume", "manager/page"), "resumed: manager/page")
	t.fails(2, `unknown controller "manager/pge": did you mean "manager/page"?`, "controllers", "pause", "manager/pge")
	t.fails(2, "a controller of another process", "controllers", "scale", "manager/page", "--workers", "3")
}

// testPageConflict changes what the operator manages, which it undoes.
func (t *clientsTest) testPageConflict(p *program.ControlPlane) {
	t.Helper()
	t.run("kubectl", "patch", "configmap", "front", "--type=merge", "-p", `{"data":{"text":"Vandalism"}}`)
	t.awaitStory(p, "why configmap/front", "manager/page")
	p.Await(t.T, "undone", func() bool {
		return strings.Contains(t.run("kubectl", "get", "configmap", "front", "-o", "jsonpath={.data.text}"), "Sale")
	})
	t.awaitStory(p, "trace configmap/front", "kubectl (kubernetes-admin) patched ConfigMap front", "manager/page saw it updated", "updated ConfigMap front")
}
