package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/controllers"
)

// Checks who may read what without being granted rights: an anonymous client reads
// health only, a service account is authenticated but not authorized, wrong
// credentials are worse than none, and the administrator reads everything.
func TestAuthorizationByPath(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	who := map[string]*rest.Config{
		"anonymous": anonymousConfig(),
		"account":   tokenConfig(createAccountToken(t, ns, "bot", authenticationv1.TokenRequestSpec{})),
		"garbage":   tokenConfig("garbage"),
		"admin":     controlPlane.config,
	}
	for path, want := range map[string]map[string]int{
		"/healthz":                       {"anonymous": 200, "account": 200, "garbage": 401, "admin": 200},
		"/livez":                         {"anonymous": 200, "account": 200, "garbage": 401, "admin": 200},
		"/readyz":                        {"anonymous": 200, "account": 200, "garbage": 401, "admin": 200},
		"/version":                       {"anonymous": 401, "account": 200, "garbage": 401, "admin": 200},
		"/api":                           {"anonymous": 401, "account": 200, "garbage": 401, "admin": 200},
		"/metrics":                       {"anonymous": 401, "account": 403, "garbage": 401, "admin": 200},
		"/configz":                       {"anonymous": 401, "account": 403, "garbage": 401, "admin": 200},
		"/debug/pprof/goroutine?debug=1": {"anonymous": 401, "account": 403, "garbage": 401, "admin": 200},
		"/debug/controllers/garbage-collector-controller/graph":   {"anonymous": 401, "account": 403, "garbage": 401, "admin": 200},
		"/debug/controllers/no-such-controller/graph":             {"anonymous": 401, "account": 403, "garbage": 401, "admin": 404},
		"/api/v1/namespaces/kube-system/secrets":                  {"anonymous": 401, "account": 403, "garbage": 401, "admin": 200},
		"/api/v1/namespaces/kube-system/configmaps/no-such-thing": {"anonymous": 401, "account": 403, "garbage": 401, "admin": 404},
		controlrest.ControllersPath:                               {"anonymous": 401, "account": 403, "garbage": 401, "admin": 200},
		controlrest.SnapshotPath:                                  {"anonymous": 401, "account": 403, "garbage": 401, "admin": 200},
		controlrest.RecordsPath + "?limit=1":                      {"anonymous": 401, "account": 403, "garbage": 401, "admin": 200},
		"/no/such/path":                                           {"anonymous": 401, "account": 403, "garbage": 401, "admin": 404},
	} {
		for name, cfg := range who {
			a := httpGet(t, cfg, path)
			if a.Code == http.StatusInternalServerError && slices.Contains([]string{"/healthz", "/livez", "/readyz"}, path) {
				// Upstream is not ready while a new informer starts, and not healthy while etcd is slow to answer.
				a = await(t, "health at "+path, getPath(cfg, path), func(a httpResponse) bool { return a.Code != http.StatusInternalServerError })
			}
			if a.Code != want[name] {
				t.Errorf("GET %s as %s: got %d, want %d: %.300s", path, name, a.Code, want[name], failedChecksFirst(a.Body))
			}
		}
	}
}

// failedChecksFirst moves the failing checks to the front.
func failedChecksFirst(body string) string {
	lines := strings.SplitAfter(body, "\n")
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Compare(fmt.Sprint(!strings.HasPrefix(a, "[-]")), fmt.Sprint(!strings.HasPrefix(b, "[-]")))
	})
	return strings.Join(lines, "")
}

// Each running controller has a readiness check.
func TestHealthChecks(t *testing.T) {
	t.Parallel()
	var running, known []string
	for _, u := range controlPlane.server.ControllerStatuses() {
		known = append(known, u.Name)
		if u.State == controllers.Running {
			running = append(running, u.Name)
		} else if u.State != controllers.Off || u.Reason == "" {
			t.Errorf("controller %s is %s: %q", u.Name, u.State, u.Reason)
		}
	}
	for name := range app.NewControllerDescriptors() {
		if !slices.Contains(known, name) {
			t.Errorf("no controller %s", name)
		}
	}
	// Upstream is not ready while a new informer starts.
	healthy := func(path string) httpResponse {
		return await(t, path, getPath(controlPlane.config, path), func(a httpResponse) bool { return a.Code == http.StatusOK })
	}
	for _, path := range []string{"/readyz", "/livez", "/healthz"} {
		a := healthy(path + "?verbose")
		if !strings.Contains(a.Body, "check passed") {
			t.Errorf("%s: %d %s", path, a.Code, a.Body)
		}
		checks := []string{"controllers", "ping", "etcd"}
		if path == "/readyz" {
			checks = append(running, "ping", "etcd")
		}
		for _, name := range checks {
			if !strings.Contains(a.Body, "[+]"+name+" ok\n") {
				t.Errorf("%s has no check %s", path, name)
			}
			healthy(path + "/" + name)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	awaitPods(t, ns, "app=web", 3)
	body := httpGet(t, controlPlane.config, "/metrics").Body
	queues := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^workqueue_depth\{name="([^"]+)"\} \d+$`).FindAllStringSubmatch(body, -1) {
		queues[m[1]] = true
	}
	for _, name := range []string{
		"cronjob", "daemonset", "deployment", "disruption", "endpoint_slice", "garbage_collector_attempt_to_delete", "horizontalpodautoscaler",
		"job", "namespace", "replicaset", "replicationmanager", "resourcequota_primary", "serviceaccount", "statefulset", "ttl_jobs_to_delete",
	} {
		if !queues[name] {
			t.Errorf("no depth of queue %s among %v", name, slices.Sorted(maps.Keys(queues)))
		}
	}
	for _, pattern := range []string{
		`(?m)^workqueue_adds_total\{name="deployment"\} [1-9]`,
		`(?m)^workqueue_work_duration_seconds_count\{name="deployment"\} [1-9]`,
		`(?m)^workqueue_queue_duration_seconds_count\{name="replicaset"\} [1-9]`,
		`(?m)^apiserver_request_total\{.*resource="deployments".*verb="(POST|CREATE)".*\} [1-9]`,
		`(?m)^etcd_request_duration_seconds_count`,
		`(?m)^process_resident_memory_bytes [1-9]`,
		`(?m)^running_managed_controllers\{.*name="nodeipam".*\} 1$`,
	} {
		if !regexp.MustCompile(pattern).MatchString(body) {
			t.Errorf("no metric %s", pattern)
		}
	}
}

func TestConfigz(t *testing.T) {
	t.Parallel()
	var all map[string]struct {
		Kind                    string
		NodeLifecycleController struct{ NodeMonitorGracePeriod string }
		Generic                 struct{ LeaderElection struct{ LeaderElect bool } }
	}
	decodeBody(t, httpGet(t, controlPlane.config, "/configz"), &all)
	c := all["kubecontrollermanager.config.k8s.io"]
	if c.Kind != "KubeControllerManagerConfiguration" || c.NodeLifecycleController.NodeMonitorGracePeriod != nodeGracePeriod.String() || c.Generic.LeaderElection.LeaderElect {
		t.Errorf("configuration of the controllers: %s", toYAML(c))
	}
}

func TestDebugEndpoints(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	m := createOwnedMap(t, ns, "owner")
	dependent := createOwnedMap(t, ns, "dependent", ownerReference(m))
	graph := "/debug/controllers/garbage-collector-controller/graph"
	await(t, "edge of the garbage collector's graph", getPath(controlPlane.config, graph+"?uid="+string(dependent.UID)), func(a httpResponse) bool {
		return strings.HasPrefix(a.Body, "strict digraph full {") && strings.Contains(a.Body, "ConfigMap.v1/dependent") &&
			strings.Contains(a.Body, `"`+string(dependent.UID)+`" -> "`+string(m.UID)+`"`)
	})
	if a := httpGet(t, controlPlane.config, "/debug/pprof/goroutine?debug=1"); !strings.Contains(a.Body, "pkg/controller/deployment.") {
		t.Errorf("profile of goroutines: %d %.200s", a.Code, a.Body)
	}
	if a := httpGet(t, controlPlane.config, "/debug/pprof/heap"); a.Code != http.StatusOK || len(a.Body) == 0 {
		t.Errorf("profile of the heap: %d %.200s", a.Code, a.Body)
	}
}

// The kubeconfig has the administrator's credentials.
func TestKubeconfig(t *testing.T) {
	t.Parallel()
	cfg, err := clientcmd.RESTConfigFromKubeConfig(controlPlane.server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	who, err := whoAmI(t.Context(), clientFor(t, cfg))
	if err != nil || !slices.Contains(who.Groups, "system:masters") && !slices.Contains(who.Groups, "kubeadm:cluster-admins") {
		t.Errorf("the kubeconfig is of %+v, %v", who, err)
	}
	if !strings.HasPrefix(cfg.Host, "https://127.0.0.1:") || cfg.Insecure {
		t.Errorf("server %s, insecure %t", cfg.Host, cfg.Insecure)
	}
}

// Requests are classified and limited by upstream's API priority and fairness.
func TestPriorityAndFairness(t *testing.T) {
	t.Parallel()
	levels := map[string]bool{}
	for _, l := range listObjects(t, controlPlane.client.FlowcontrolV1().PriorityLevelConfigurations(), "").Items {
		levels[l.Name] = true
	}
	for _, l := range append(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations...) {
		if !levels[l.Name] {
			t.Errorf("no priority level %s", l.Name)
		}
	}
	schemas := controlPlane.client.FlowcontrolV1().FlowSchemas()
	for _, want := range append(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas...) {
		await(t, "flow schema "+want.Name+" with its level", getByName(schemas, want.Name), func(s *flowcontrolv1.FlowSchema) bool {
			dangling := slices.ContainsFunc(s.Status.Conditions, func(c flowcontrolv1.FlowSchemaCondition) bool {
				return c.Type == flowcontrolv1.FlowSchemaConditionDangling && c.Status != flowcontrolv1.ConditionFalse
			})
			return len(s.Status.Conditions) > 0 && !dangling && s.Spec.PriorityLevelConfiguration.Name == want.Spec.PriorityLevelConfiguration.Name
		})
	}
	a := httpGet(t, impersonatingConfig("jane", "system:authenticated"), "/version")
	schema := getObject(t, schemas, "global-default")
	if got := a.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID); got != string(schema.UID) {
		t.Errorf("a user's request was of flow schema %q, want global-default, %s", got, schema.UID)
	}
}
