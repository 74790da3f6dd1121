package command_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/observe"
)

// actFor is the variable that makes the process of this test one of the programs that it is called by. Its value
// is the data folder of a control plane.
const actFor = "CTRLPLANE_TEST_ACT_FOR"

const (
	siteOperator = "site-operator (kubernetes-admin)"
	siteTests    = "site-tests (kubernetes-admin)"
)

// TestProgramsWithGenericUserAgents: programs that say only which library they use are named after
// what their processes run.
func TestProgramsWithGenericUserAgents(t *testing.T) {
	testutil.NeedSocketDiag(t)
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"), minimal()...)
	c := &clientsTest{T: t, plane: p}
	startProgram(t, p.Dir, "site-operator")
	p.Await(t, "watching", func() bool {
		return slices.ContainsFunc(c.snapshot().Clients, func(c observe.Client) bool { return len(c.Watches) > 0 && c.Name == siteOperator })
	})
	if err := startProgram(t, p.Dir, "site-tests").Wait(); err != nil {
		t.Fatal(err)
	}

	list := c.run("clients")
	c.says(list, siteOperator, siteTests)
	for _, agent := range []string{"undici", "kubernetes-client-javascript", "OpenAPI-Generator"} {
		if strings.Contains(list, agent) {
			t.Errorf("%s is a client of its own:\n%s", agent, list)
		}
	}
	// The patch of the tests follows an event that only the operator has received, and has no cause.
	c.awaitStory("trace configmap/page", siteTests+" created ConfigMap page", siteOperator+" saw it added, patched ConfigMap page", siteTests+" patched ConfigMap page")
	c.says(c.run("clients", "pause", "site-operator"), "paused: "+siteOperator)
}

// startProgram runs the process of this test under the name of a program.
func startProgram(t *testing.T, dir, name string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestActAsProgram$")
	cmd.Args[0] = "/usr/local/bin/" + name
	cmd.Env = append(os.Environ(), "CTRLPLANE="+program.Path(), actFor+"="+dir)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		}
	})
	return cmd
}

// TestActAsProgram is what the programs do.
func TestActAsProgram(t *testing.T) {
	dir := os.Getenv(actFor)
	if dir == "" {
		t.Skip("this is the process of another test")
	}
	act := map[string]func(*testing.T, string) error{"site-operator": actAsOperator, "site-tests": actAsTests, "copy-operator": actAsCopier, "short-operator": actWithShortConnections}[filepath.Base(os.Args[0])]
	if err := act(t, dir); err != nil {
		t.Fatal(err)
	}
}

// configMapsAs returns a client with a user agent and connections of its own, over HTTP/1.1 as those of the libraries.
func configMapsAs(t *testing.T, dir, agent string) corev1client.ConfigMapInterface {
	t.Helper()
	cfg := loadKubeconfig(t, dir)
	cfg.NextProtos = []string{"http/1.1"}
	cfg.UserAgent, cfg.Dial = agent, new(net.Dialer).DialContext
	return kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
}

func setData(ctx context.Context, c corev1client.ConfigMapInterface, key string) error {
	return setDataOf(ctx, c, "page", key)
}

func setDataOf(ctx context.Context, c corev1client.ConfigMapInterface, name, key string) error {
	patch := fmt.Sprintf(`{"data":{%q:"true"}}`, key)
	_, err := c.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// actAsOperator marks a ConfigMap that it sees, until it is killed. Its user agents are those of
// @kubernetes/client-node 2.
func actAsOperator(t *testing.T, dir string) error {
	w, err := configMapsAs(t, dir, "undici").Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=page"})
	if err != nil {
		return err
	}
	defer w.Stop()
	writes := configMapsAs(t, dir, "kubernetes-client-javascript/2.0.1")
	for e := range w.ResultChan() {
		if e.Type == watch.Added {
			if err := setData(t.Context(), writes, "seen"); err != nil {
				return err
			}
		}
	}
	return nil
}

// actAsTests creates a ConfigMap, awaits the operator, and changes the ConfigMap.
func actAsTests(t *testing.T, dir string) error {
	c := configMapsAs(t, dir, "OpenAPI-Generator/22.6.0/python")
	if _, err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "page"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	testutil.Await(t, "marked", func() bool {
		page, err := c.Get(t.Context(), "page", metav1.GetOptions{})
		return err == nil && page.Data["seen"] != ""
	})
	return setData(t.Context(), c, "tested")
}
