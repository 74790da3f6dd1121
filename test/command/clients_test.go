package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	shopOperator = "shop-operator (system:serviceaccount:default:operator)"
	siteCRD      = "../../examples/operator/config/crd.yaml"
)

var siteResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "sites"}

// clientsTest is what the tests of clients share: a control plane, and an operator that
// creates a ConfigMap for each Site that it sees.
type clientsTest struct {
	*testing.T
	dir      string
	operator dynamic.Interface
}

// run runs a verb of ctrlplane and returns its output.
func (t *clientsTest) run(args ...string) string {
	t.Helper()
	return program.MustRun(t.T, t.dir, args...)
}

// fails runs a verb of ctrlplane that fails.
func (t *clientsTest) fails(code int, says string, args ...string) {
	t.Helper()
	program.RequireFailure(t.T, program.Command(t.T, append([]string{"--data-dir", t.dir}, args...)...), code, says)
}

// says checks that a text contains words, wherever its lines are broken.
func (t *clientsTest) says(text string, words ...string) {
	t.Helper()
	flat := strings.Join(strings.Fields(text), " ")
	for _, w := range words {
		if !strings.Contains(flat, strings.Join(strings.Fields(w), " ")) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

func (t *clientsTest) snapshot() observe.Snapshot {
	t.Helper()
	var s observe.Snapshot
	if err := json.Unmarshal([]byte(t.run("status", "-o", "json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (t *clientsTest) client(name string) observe.Client {
	t.Helper()
	for _, c := range t.snapshot().Clients {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no client %q", name)
	return observe.Client{}
}

// startOperator runs the operator until the test ends: it has an account of its own.
func (t *clientsTest) startOperator() {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(t.dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	t.run("kubectl", "create", "serviceaccount", "operator")
	t.run("kubectl", "create", "clusterrolebinding", "operator", "--clusterrole=cluster-admin", "--serviceaccount=default:operator")
	own := rest.AnonymousClientConfig(cfg)
	own.BearerToken, own.UserAgent = strings.TrimSpace(t.run("kubectl", "create", "token", "operator")), "shop-operator/v1 (linux/amd64)"
	if t.operator, err = dynamic.NewForConfig(own); err != nil {
		t.Fatal(err)
	}
	events, err := t.operator.Resource(siteResource).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	ctx := context.WithoutCancel(t.Context())
	go func() {
		defer close(ended)
		for e := range events.ResultChan() {
			if e.Type != watch.Added {
				continue
			}
			if err := t.reconcile(ctx, e.Object.(*unstructured.Unstructured)); err != nil {
				t.Error(err)
			}
		}
	}()
	t.Cleanup(func() { events.Stop(); <-ended })
}

// reconcile creates the ConfigMap of a Site, and tries again after a conflict.
func (t *clientsTest) reconcile(ctx context.Context, site *unstructured.Unstructured) error {
	for {
		_, err := t.operator.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(site.GetNamespace()).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": site.GetName(), "ownerReferences": []any{map[string]any{
				"apiVersion": "example.com/v1", "kind": "Site", "name": site.GetName(), "uid": string(site.GetUID()),
			}}},
		}}, metav1.CreateOptions{FieldManager: "shop"})
		if !apierrors.IsConflict(err) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// createSite creates a Site by kubectl.
func (t *clientsTest) createSite(name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".yaml")
	writeFile(t.T, file, "apiVersion: example.com/v1\nkind: Site\nmetadata: {name: "+name+"}\nspec: {host: "+name+", image: x, replicas: 1}\n")
	t.run("kubectl", "create", "-f", file)
}

func (t *clientsTest) awaitConfigMap(p *program.ControlPlane, name string) {
	t.Helper()
	p.Await(t.T, "reconciled", func() bool {
		_, err := p.Client(t.T).CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
		return err == nil
	})
}

// TestClients follows kubectl and an operator, and intervenes in both.
func TestClients(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := program.Up(t, dir, "--with", "shop-operator="+serveResponse(t, 200, testMetrics))
	c := &clientsTest{T: t, dir: dir}
	crd, err := filepath.Abs(siteCRD)
	if err != nil {
		t.Fatal(err)
	}
	c.run("kubectl", "apply", "-f", crd)
	c.run("kubectl", "wait", "--for=condition=Established", "crd/sites.example.com")
	c.startOperator()

	c.createSite("shop")
	c.awaitConfigMap(p, "shop")
	c.says(c.run("trace", "site/shop"), "kubectl (kubernetes-admin) created Site shop", shopOperator+" saw it added, created ConfigMap shop", "likely, not certain")
	c.says(c.run("why", "configmap/shop"), shopOperator+" created ConfigMap shop", shopOperator+" saw Site shop added", "kubectl (kubernetes-admin) created Site shop")
	if text := c.run("why", "configmap/shop"); strings.Contains(text, "not in the records") {
		t.Errorf("the chain is not complete:\n%s", text)
	}
	c.says(c.run("status"), "CLIENT", shopOperator, "create configmaps default/shop 201", "kubectl (kubernetes-admin)", "create sites.example.com default/shop 201")
	operator := c.client(shopOperator)
	if len(operator.Watches) != 1 || operator.Watches[0].Resource != "sites.example.com" || operator.Watches[0].Delivered != 1 ||
		operator.Last.FieldManager != "shop" || operator.Last.Cause == 0 || operator.User != "system:serviceaccount:default:operator" || len(operator.Groups) == 0 {
		t.Errorf("%+v, last %+v", operator, operator.Last)
	}

	t.Run("metrics", func(t *testing.T) { (&clientsTest{t, dir, c.operator}).testMetrics(p) })
	t.Run("pause", func(t *testing.T) { (&clientsTest{t, dir, c.operator}).testPause(p) })
	t.Run("faults", func(t *testing.T) { (&clientsTest{t, dir, c.operator}).testFaults(p) })
	t.Run("secrets", func(t *testing.T) { (&clientsTest{t, dir, c.operator}).testSecrets() })
}

// testMetrics looks for the queues of the operator, which serves some metrics. Their
// keys do not keep the control plane from being settled.
func (t *clientsTest) testMetrics(p *program.ControlPlane) {
	var s observe.Snapshot
	p.Await(t.T, "settled", func() bool { s = t.snapshot(); return s.Process.Settled })
	var found []string
	for _, q := range s.Queues {
		if q.Outside {
			found = append(found, fmt.Sprintf("%s %s %d %d %d %d", q.Controller, q.Name, q.Depth, q.Adds, q.Retries, q.InFlight))
		}
	}
	if want := []string{shopOperator + " gadget 0 7 -1 -1", shopOperator + " widget 3 12 -1 -1"}; !slices.Equal(found, want) {
		t.Errorf("queues of another process: %q", found)
	}
	t.says(t.run("status"), "shop-operator widget 3 ?")
}

// testPause holds the writes of clients. ctrlplane's own requests are not held.
func (t *clientsTest) testPause(p *program.ControlPlane) {
	t.fails(2, "client "+shopOperator+" is not paused: pause it first", "clients", "step", "shop-operator")
	t.says(t.run("clients", "pause", "shop-operator"), "paused: "+shopOperator)
	t.createSite("held")
	p.Await(t.T, "held", func() bool { return t.client(shopOperator).Held == 1 })
	t.says(t.run("clients", "held", "shop-operator"), "create  ConfigMap default/held")
	t.says(t.run("status"), "changed manually: "+shopOperator+" (paused)", "its writes are held")
	t.says(t.run("clients", "step", "shop-operator"), "create ConfigMap default/held: 201 Created", "+++ ConfigMap default/held", "+  name: held")
	t.awaitConfigMap(p, "held")

	t.run("clients", "pause", "--all") // kubectl and ctrlplane itself
	create := program.Command(t.T, "--data-dir", t.dir, "kubectl", "create", "configmap", "late")
	if err := create.Start(); err != nil {
		t.Fatal(err)
	}
	p.Await(t.T, "held", func() bool { return t.client("kubectl (kubernetes-admin)").Held == 1 })
	p.AwaitFailure(t.T, []string{"wait", "settled", "--timeout", "1s"},
		"kubectl (kubernetes-admin): 1 write held: the client is paused", "ctrlplane: not settled: kubectl (kubernetes-admin): timed out after 1s")
	t.says(t.run("clients", "resume", "--all"), "kubectl (kubernetes-admin)", shopOperator)
	if err := create.Wait(); err != nil {
		t.Error(err)
	}
	t.says(t.run("clients", "resume", "--all"), "resumed: none")
}

// testFaults makes requests of clients fail, and delays them.
func (t *clientsTest) testFaults(p *program.ControlPlane) {
	t.run("clients", "fail", "shop-operator", "--code", "409", "--resource", "configmaps")
	t.createSite("conflicts")
	p.Await(t.T, "in conflict", func() bool { return t.client(shopOperator).Conflicts >= 3 })
	t.says(t.run("clients", "-o", "wide"), "100% of its configmaps calls fail: 409")
	t.says(t.run("clients", "clear", "shop-operator"), "cleared: "+shopOperator)
	t.awaitConfigMap(p, "conflicts")
	t.run("clients", "delay", "shop-operator", "300ms")
	p.AwaitFailure(t.T, []string{"wait", "configmap/none", "--timeout", "1s"}, "to undo it: ", " clients clear '"+shopOperator+"'")
	t.createSite("slow")
	t.awaitConfigMap(p, "slow")
	p.Await(t.T, "recorded", func() bool { return t.client(shopOperator).Last.Object.Name == "slow" })
	if last := t.client(shopOperator).Last; last.Took.Milliseconds() < 300 {
		t.Errorf("%+v took only %v", last, last.Took)
	}
	t.run("clients", "clear", "--all")
	t.fails(2, `unknown client "shop-oprator": did you mean "shop-operator"?`, "clients", "pause", "shop-oprator")
	t.fails(2, "missing client name", "clients", "pause")
}

// testSecrets writes secrets, of which no record may have the values.
func (t *clientsTest) testSecrets() {
	const value = "hunter2hunter2"
	t.run("kubectl", "create", "secret", "generic", "token", "--from-literal=password="+value)
	t.run("clients", "pause", "kubectl")
	_, err := t.operator.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace("default").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "invalid"}, "stringData": map[string]any{value + " ": value}, "type": value,
	}}, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("an invalid Secret: %v", err)
	}
	t.run("clients", "resume", "kubectl")
	for _, text := range []string{t.run("trace", "secret/token", "-o", "json"), t.run("clients", "-o", "json"), t.run("status", "-o", "json")} {
		if strings.Contains(text, value) || strings.Contains(text, "aHVudGVy") {
			t.Errorf("a secret is in\n%s", text)
		}
	}
}
