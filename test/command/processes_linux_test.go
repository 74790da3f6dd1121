package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

const copyOperator = "copy-operator (kubernetes-admin)"

// TestCausesOfARestartedProgram: programs in Python and Node list, work for what they have found, and watch then, over HTTP/1.1.
// What one that has ended was sent is not the cause of what the next one writes.
func TestCausesOfARestartedProgram(t *testing.T) {
	testutil.NeedSocketDiag(t)
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"), minimal()...)
	c, saved := &clientsTest{T: t, plane: p}, filepath.Join(t.TempDir(), "page.tar.gz")
	pages := configMapsAs(t, p.Dir, "page-author")
	page, err := pages.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "page"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.run("snapshot", "save", saved)

	first := startProgram(t, p.Dir, "copy-operator")
	awaitCopy := func() {
		t.Helper()
		testutil.Await(t, "copied", func() bool {
			_, err := pages.Get(t.Context(), "page-copy", metav1.GetOptions{})
			return err == nil
		})
	}
	awaitCopy()
	const found = copyOperator + " created ConfigMap page-copy likely because it found ConfigMap page when it started."
	c.says(c.run("why", "configmap/page-copy"), found+" It began when page-author (kubernetes-admin) created ConfigMap page.")
	if err := setData(t.Context(), pages, "changed"); err != nil {
		t.Fatal(err)
	}
	awaitData(t, pages, "page-copy", "changed")
	c.says(c.run("why", "configmap/page-copy", "--changed"), copyOperator+" patched ConfigMap page-copy likely because ConfigMap page was updated")

	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.run("snapshot", "restore", saved)
	startProgram(t, p.Dir, "copy-operator")
	awaitCopy()
	c.says(c.run("why", "configmap/page-copy"), found+" It began when ctrlplane restored ConfigMap page.")

	// Another process lists nothing, and writes in the name of the same program.
	other := configMapsAs(t, p.Dir, "copy-operator")
	if _, err := other.Create(t.Context(), copyOf(page, "other-copy"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.says(c.run("why", "configmap/other-copy"), "The cause of the last line is not known.")
	var chain struct{ Complete bool }
	if err := json.Unmarshal([]byte(c.run("why", "configmap/other-copy", "-o", "json")), &chain); err != nil || chain.Complete {
		t.Errorf("the chain is complete: %v", err)
	}
}

// TestCausesOfShortConnections: programs open a connection for each request, as with Python's urllib.
func TestCausesOfShortConnections(t *testing.T) {
	testutil.NeedSocketDiag(t)
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"), minimal()...)
	c := &clientsTest{T: t, plane: p}
	if _, err := configMapsAs(t, p.Dir, "page-author").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "page"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := startProgram(t, p.Dir, "short-operator").Wait(); err != nil {
		t.Fatal(err)
	}
	for _, name := range shortOperators() {
		why := strings.Join(strings.Fields(c.run("why", "configmap/"+name)), " ")
		isKnown := strings.Contains(why, "likely because it found ConfigMap page when it started.")
		if !isKnown && !strings.Contains(why, "The cause of the last line is not known.") { // a busy machine finds a process too late
			t.Errorf("why configmap/%s says nothing of a cause: %s", name, why)
		}
	}
}

// shortOperators returns the names of operators, none of which has watched anything before, and of what each creates.
func shortOperators() (names []string) {
	for i := range 10 {
		names = append(names, fmt.Sprintf("short-operator-%d", i))
	}
	return names
}

// actWithShortConnections is what these operators do.
func actWithShortConnections(t *testing.T, dir string) error {
	for _, name := range shortOperators() {
		cfg := loadKubeconfig(t, dir)
		cfg.UserAgent = name
		secure, err := rest.TLSConfigFor(cfg)
		if err != nil {
			return err
		}
		transport, err := rest.HTTPWrappersForConfig(cfg, &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true})
		if err != nil {
			return err
		}
		own, err := kubernetes.NewForConfigAndClient(cfg, &http.Client{Transport: transport})
		if err != nil {
			return err
		}
		if err := copyPageTo(t.Context(), own.CoreV1().ConfigMaps("default"), name); err != nil {
			return err
		}
	}
	return nil
}

// copyPageTo copies the page that it finds in a list, and opens a watch then.
func copyPageTo(ctx context.Context, c corev1client.ConfigMapInterface, name string) error {
	list, err := c.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list.Items, func(found corev1.ConfigMap) bool { return found.Name == "page" })
	if _, err := c.Create(ctx, copyOf(&list.Items[i], name), metav1.CreateOptions{}); err != nil {
		return err
	}
	w, err := c.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	w.Stop()
	return nil
}

// TestNoCauseFromBeforeARestore: a restore does not change the page, so that its watch is sent nothing.
func TestNoCauseFromBeforeARestore(t *testing.T) {
	testutil.NeedSocketDiag(t)
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"), minimal()...)
	c, saved := &clientsTest{T: t, plane: p}, filepath.Join(t.TempDir(), "page.tar.gz")
	operator, author := configMapsAs(t, p.Dir, "page-operator"), configMapsAs(t, p.Dir, "page-author")
	w, err := operator.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=page"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	page, err := author.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "page"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-w.ResultChan()
	create := func(name string) {
		t.Helper()
		if _, err := operator.Create(t.Context(), copyOf(page, name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("before")
	c.says(c.run("why", "configmap/before"), "likely because ConfigMap page was added")
	c.run("snapshot", "save", saved)
	create("undone")
	c.run("snapshot", "restore", saved)
	create("after")
	c.says(c.run("why", "configmap/after"), "page-operator (kubernetes-admin) created ConfigMap after.", "The cause of the last line is not known.")
}

func copyOf(page *corev1.ConfigMap, name string) *corev1.ConfigMap {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: page.Name, UID: page.UID}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}}, Data: page.Data}
}

func awaitData(t *testing.T, c corev1client.ConfigMapInterface, name, key string) {
	t.Helper()
	testutil.Await(t, key, func() bool {
		found, err := c.Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && found.Data[key] != ""
	})
}

// actAsCopier copies the page that it finds in a list, and then each change of it, until it is killed.
func actAsCopier(t *testing.T, dir string) error {
	c := configMapsAs(t, dir, "OpenAPI-Generator/22.6.0/python")
	list, err := c.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, found := range list.Items {
		if found.Name != "page" {
			continue
		}
		if _, err := c.Create(t.Context(), copyOf(&found, "page-copy"), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	w, err := configMapsAs(t, dir, "OpenAPI-Generator/22.6.0/python").Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=page", ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer w.Stop()
	for range w.ResultChan() {
		if err := setDataOf(t.Context(), c, "page-copy", "changed"); err != nil {
			return err
		}
	}
	return nil
}
