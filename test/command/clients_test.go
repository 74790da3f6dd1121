package command_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	shopOperator = "shop-operator (system:serviceaccount:default:operator)"
	siteCRD      = "../../examples/operator/config/crd.yaml"
)

var (
	siteResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "sites"}
	crdResource  = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// clientsTest is what the tests of clients share: a control plane, and an operator that
// creates a ConfigMap for each Site that it sees.
type clientsTest struct {
	*testing.T
	plane    *program.ControlPlane
	operator dynamic.Interface
}

// run runs a verb of ctrlplane and returns its output.
func (t *clientsTest) run(args ...string) string {
	t.Helper()
	return program.MustRun(t.T, t.plane.Dir, args...)
}

// fails runs a verb of ctrlplane that fails.
func (t *clientsTest) fails(code int, says string, args ...string) {
	t.Helper()
	program.RequireFailure(t.T, program.Command(t.T, append([]string{"--data-dir", t.plane.Dir}, args...)...), code, says)
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
	s, err := t.plane.Control(t.T).Snapshot(t.Context())
	if err != nil {
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
	own := rest.AnonymousClientConfig(loadKubeconfig(t.T, t.plane.Dir))
	own.BearerToken, own.UserAgent = t.createAccount(), "shop-operator/v1 (linux/amd64)"
	var err error
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

// createAccount creates the account of the operator, and returns a token of it.
func (t *clientsTest) createAccount() (token string) {
	t.Helper()
	client, operator := t.plane.Client(t.T), metav1.ObjectMeta{Name: "operator"}
	accounts := client.CoreV1().ServiceAccounts("default")
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: operator}, metav1.CreateOptions{})
	_, bindErr := client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: operator,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: operator.Name, Namespace: "default"}},
	}, metav1.CreateOptions{})
	request, tokenErr := accounts.CreateToken(t.Context(), operator.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err := errors.Join(err, bindErr, tokenErr); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// createCRD creates the CustomResourceDefinition in a file, and waits until it is established.
func (t *clientsTest) createCRD(file string) {
	t.Helper()
	data := testutil.ReadFile(t, file)
	var crd unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(data), &crd.Object); err != nil {
		t.Fatal(err)
	}
	crds := dynamic.NewForConfigOrDie(loadKubeconfig(t.T, t.plane.Dir)).Resource(crdResource)
	if _, err := crds.Create(t.Context(), &crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.plane.Await(t.T, "serving "+crd.GetName(), func() bool {
		got, err := crds.Get(t.Context(), crd.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		conditions, _, err := unstructured.NestedSlice(got.Object, "status", "conditions")
		return err == nil && slices.ContainsFunc(conditions, func(c any) bool {
			return c.(map[string]any)["type"] == "Established" && c.(map[string]any)["status"] == "True"
		})
	})
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

// createSite creates a Site as kubectl does.
func (t *clientsTest) createSite(name string) {
	t.Helper()
	cfg := loadKubeconfig(t.T, t.plane.Dir)
	cfg.UserAgent, cfg.Dial = "kubectl/v1 (linux/amd64)", new(net.Dialer).DialContext // with a connection of its own
	_, err := dynamic.NewForConfigOrDie(cfg).Resource(siteResource).Namespace("default").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Site", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"host": name, "image": "x", "replicas": int64(1)},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (t *clientsTest) awaitConfigMap(name string) {
	t.Helper()
	t.plane.Await(t.T, "reconciled", func() bool {
		_, err := t.plane.Client(t.T).CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
		return err == nil
	})
}

// TestClients follows kubectl and an operator, and intervenes in both.
func TestClients(t *testing.T) {
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"), minimal("--with", "shop-operator="+serveResponse(t, 200, testMetrics), "--with", "private="+serveResponse(t, 401, ""))...)
	c := &clientsTest{T: t, plane: p}
	c.createCRD(siteCRD)
	c.startOperator()

	site := filepath.Join(t.TempDir(), "shop.yaml")
	testutil.WriteFile(t, site, "apiVersion: example.com/v1\nkind: Site\nmetadata: {name: shop}\nspec: {host: shop, image: x, replicas: 1}\n")
	c.run("kubectl", "create", "-f", site)
	c.awaitConfigMap("shop")
	c.awaitStory("trace site/shop", "kubectl (kubernetes-admin) created Site shop", shopOperator+" saw it added, created ConfigMap shop", "likely, not certain")
	if text := c.awaitStory("why configmap/shop", shopOperator+" created ConfigMap shop", shopOperator+" saw Site shop added", "kubectl (kubernetes-admin) created Site shop"); strings.Contains(text, "not in the records") {
		t.Errorf("the chain is not complete:\n%s", text)
	}
	c.says(c.run("status"), "CLIENT", shopOperator, "create configmaps default/shop 201", "kubectl (kubernetes-admin)", "create sites.example.com default/shop 201")
	var operator observe.Client
	p.Await(t, "telling what caused the write of the operator", func() bool {
		operator = c.client(shopOperator)
		return operator.Last.Cause > 0
	})
	if len(operator.Watches) != 1 || operator.Watches[0].Resource != "sites.example.com" || operator.Watches[0].Delivered != 1 ||
		operator.Last.FieldManager != "shop" || operator.User != "system:serviceaccount:default:operator" || len(operator.Groups) == 0 {
		t.Errorf("%+v, last %+v", operator, operator.Last)
	}

	t.Run("metrics", func(t *testing.T) { (&clientsTest{t, p, c.operator}).testMetrics() })
	t.Run("pause", func(t *testing.T) { (&clientsTest{t, p, c.operator}).testPause() })
	t.Run("faults", func(t *testing.T) { (&clientsTest{t, p, c.operator}).testFaults() })
	t.Run("secrets", func(t *testing.T) { (&clientsTest{t, p, c.operator}).testSecrets() })
	t.Run("one process", func(t *testing.T) { (&clientsTest{t, p, c.operator}).testClientsOfOneProcess() })
}

// testMetrics looks for the queues of the operator, which serves some metrics. Their
// keys do not keep the control plane from being settled.
func (t *clientsTest) testMetrics() {
	want := []string{shopOperator + " gadget 0 7 -1 -1", shopOperator + " widget 3 12 -1 -1"}
	t.plane.Await(t.T, fmt.Sprintf("settled with the queues %q", want), func() bool {
		s := t.snapshot()
		var found []string
		for _, q := range s.Queues {
			if q.Outside {
				found = append(found, fmt.Sprintf("%s %s %d %d %d %d", q.Controller, q.Name, q.Depth, q.Adds, q.Retries, q.InFlight))
			}
		}
		return s.Process.Settled && slices.Equal(found, want)
	})
	t.says(t.run("status"), "shop-operator widget 3 ?", "--with private has not been read for", "the server requires authentication (401 Unauthorized): --with sends no credentials")
}

// testPause holds the writes of clients. ctrlplane's own requests are not held.
func (t *clientsTest) testPause() {
	t.fails(2, "client "+shopOperator+" is not paused: pause it first", "clients", "step", "shop-operator")
	t.says(t.run("clients", "pause", "shop-operator"), "paused: "+shopOperator)
	t.createSite("held")
	t.plane.Await(t.T, "held", func() bool { return t.client(shopOperator).Held == 1 })
	t.says(t.run("clients", "held", "shop-operator"), "create  ConfigMap default/held")
	t.says(t.run("status"), "changed manually: "+shopOperator+" (paused)", "1 write is held")
	t.says(t.run("clients", "step", "shop-operator"), "create ConfigMap default/held: 201 Created", "+++ ConfigMap default/held", "+  name: held")
	t.awaitConfigMap("held")

	t.run("clients", "pause", "--all") // kubectl and ctrlplane itself
	create := program.Command(t.T, "--data-dir", t.plane.Dir, "kubectl", "create", "configmap", "late")
	if err := create.Start(); err != nil {
		t.Fatal(err)
	}
	t.plane.Await(t.T, "held", func() bool { return t.client("kubectl (kubernetes-admin)").Held == 1 })
	t.plane.AwaitFailure(t.T, time.Second, []string{"wait", "settled"},
		"kubectl (kubernetes-admin): 1 write held: the client is paused", "ctrlplane: not settled: kubectl (kubernetes-admin) (paused): timed out after ")
	t.says(t.run("clients", "resume", "--all"), "kubectl (kubernetes-admin)", shopOperator)
	if err := create.Wait(); err != nil {
		t.Error(err)
	}
	t.says(t.run("clients", "resume", "--all"), "resumed: none")
}

// testFaults makes requests of clients fail, and delays them.
func (t *clientsTest) testFaults() {
	t.run("clients", "fail", "shop-operator", "--code", "409", "--resource", "configmaps")
	t.createSite("conflicts")
	t.plane.Await(t.T, "in conflict", func() bool { return t.client(shopOperator).Conflicts >= 3 })
	t.says(t.run("clients", "-o", "wide"), "100% of its configmaps calls fail: 409")
	t.says(t.run("clients", "clear", "shop-operator"), "cleared: "+shopOperator)
	t.awaitConfigMap("conflicts")
	t.run("clients", "delay", "shop-operator", "300ms")
	t.plane.AwaitFailure(t.T, time.Second, []string{"wait", "configmap/none"}, "to undo it: ", " clients clear '"+shopOperator+"'")
	t.createSite("slow")
	t.awaitConfigMap("slow")
	t.plane.Await(t.T, "recorded", func() bool { return t.client(shopOperator).Last.Object.Name == "slow" })
	if last := t.client(shopOperator).Last; last.Took.Milliseconds() < 300 {
		t.Errorf("%+v took only %v", last, last.Took)
	}
	t.run("clients", "fail", "shop-operator", "--resource", "deployments/scale")
	t.says(t.run("clients", "-o", "wide"), "100% of its deployments/scale calls fail: 500")
	t.run("clients", "clear", "--all")
	t.testExpiredWatch()
	t.fails(2, `subresource "scal": not one of deployments.apps: choose scale, status`, "clients", "fail", "shop-operator", "--resource", "deployments/scal")
	t.fails(2, `subresource "status": configmaps has none: name the resource alone`, "clients", "fail", "shop-operator", "--resource", "configmaps/status")
	t.fails(2, `unknown client "shop-oprator": did you mean "shop-operator"?`, "clients", "pause", "shop-oprator")
	t.fails(2, "missing client name", "clients", "pause")
}

// testExpiredWatch ends an open watch of the operator as the API server does when its version has expired.
func (t *clientsTest) testExpiredWatch() {
	configMaps := t.operator.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
	events, err := configMaps.Watch(t.Context(), metav1.ListOptions{LabelSelector: "no=object"})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	t.run("clients", "fail", "shop-operator", "--code", "410", "--verb", "watch", "--resource", "configmaps")
	if e := <-events.ResultChan(); !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
		t.Errorf("the watch got %+v", e)
	}
	if _, err := configMaps.Watch(t.Context(), metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("another watch: %v", err)
	}
	t.run("clients", "clear", "--all")
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
