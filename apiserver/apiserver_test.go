package apiserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientgotesting "k8s.io/client-go/testing"
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// On an empty cluster the reconciliation creates all that upstream ships. The second
// time it changes nothing, and reads four lists and the priority classes only.
func TestBootstrapPolicyIsCreatedOnce(t *testing.T) {
	client := fake.NewClientset()
	if _, err := reconcileBootstrapPolicy(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	roles, err := client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(roles.Items), len(bootstrappolicy.ClusterRoles())+len(bootstrappolicy.ControllerRoles()); got != want {
		t.Errorf("cluster roles: got %d, want %d", got, want)
	}
	bindings, err := client.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(bindings.Items), len(bootstrappolicy.ClusterRoleBindings())+len(bootstrappolicy.ControllerRoleBindings()); got != want {
		t.Errorf("cluster role bindings: got %d, want %d", got, want)
	}
	if _, err := client.SchedulingV1().PriorityClasses().Get(t.Context(), "system-node-critical", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}

	client.ClearActions()
	if _, err := reconcileBootstrapPolicy(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	for _, a := range client.Actions() {
		if a.GetVerb() != "list" && a.GetResource().Resource != "priorityclasses" {
			t.Errorf("second reconciliation: %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
}

// Upstream leaves its hook out when --runtime-config turns the group off.
func TestBootstrapWithoutPriorityClasses(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("*", "priorityclasses", func(a clientgotesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewGenericServerResponse(http.StatusNotFound, a.GetVerb(), a.GetResource().GroupResource(), "", "", 0, true)
	})
	if _, err := reconcileBootstrapPolicy(t.Context(), client); err != nil {
		t.Error(err)
	}
}

// The reconciliation restores rules that a user removed, keeps rules that a user added,
// and leaves a role alone that opts out.
func TestBootstrapPolicyRestoresRulesAndKeepsAdditions(t *testing.T) {
	ctx := t.Context()
	client := fake.NewClientset()
	if _, err := reconcileBootstrapPolicy(ctx, client); err != nil {
		t.Fatal(err)
	}
	roles := client.RbacV1().ClusterRoles()
	own := rbacv1.PolicyRule{Verbs: []string{"own"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}}
	change := func(name, autoupdate string) {
		role, err := roles.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		role.Rules = []rbacv1.PolicyRule{own}
		role.Annotations[rbacv1.AutoUpdateAnnotationKey] = autoupdate
		if _, err := roles.Update(ctx, role, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	change("system:discovery", "true")
	change("system:basic-user", "false")
	if _, err := reconcileBootstrapPolicy(ctx, client); err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string]bool{"system:discovery": true, "system:basic-user": false} {
		role, err := roles.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(role.Rules) > 1; got != more || role.Rules[0].Verbs[0] != "own" {
			t.Errorf("%s: got %v", name, role.Rules)
		}
	}
}

// The authorizer reads roles from informers. Until they have received what was written
// it forbids what the policy allows.
func TestPolicyWaitsForInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		written := fake.NewClientset()
		revision := 100
		setRevision := func(action clientgotesting.Action) (bool, runtime.Object, error) {
			revision++
			accessor, err := meta.Accessor(action.(clientgotesting.CreateAction).GetObject())
			if err != nil {
				t.Error(err)
			}
			accessor.SetResourceVersion(strconv.Itoa(revision))
			return false, nil, nil // the tracker stores it
		}
		written.PrependReactor("create", "*", setRevision)
		revisions, err := reconcileBootstrapPolicy(ctx, written)
		if err != nil {
			t.Fatal(err)
		}

		lagging := fake.NewClientset()
		factory := informers.NewSharedInformerFactory(lagging, 0)
		rbac := factory.Rbac().V1()
		rbac.ClusterRoles().Informer()
		rbac.ClusterRoleBindings().Informer()
		rbac.Roles().Informer()
		rbac.RoleBindings().Informer()
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		defer factory.Shutdown()
		defer cancel()

		ended := make(chan error, 1)
		s := &Server{informers: factory}
		go func() { ended <- s.waitAuthorizer(ctx, revisions) }()
		time.Sleep(time.Second)
		select {
		case err := <-ended:
			t.Fatalf("the policy is said to be in force, but the informers are empty: %v", err)
		default:
		}
		latest := metav1.ObjectMeta{Name: "x", Namespace: "kube-system", ResourceVersion: strconv.Itoa(revision)}
		for _, obj := range []runtime.Object{
			&rbacv1.ClusterRole{ObjectMeta: latest}, &rbacv1.ClusterRoleBinding{ObjectMeta: latest},
			&rbacv1.Role{ObjectMeta: latest}, &rbacv1.RoleBinding{ObjectMeta: latest},
		} {
			if err := lagging.Tracker().Add(obj); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestListCacheAnswersOnce(t *testing.T) {
	l := newListCache[string]()
	l.items[policyKey("ns", "a")] = "listed"
	live := func(string, string) (string, error) { return "live", nil }
	for _, want := range []string{"listed", "live"} {
		if got, err := l.get("ns", "a", live); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := l.get("ns", "b", live); !apierrors.IsNotFound(err) {
		t.Errorf("not listed: got %v", err)
	}
	if got, _ := l.get("ns", "b", live); got != "live" {
		t.Errorf("not listed, second read: got %q", got)
	}
}

func TestAnonymousRequestsMayOnlyReadHealth(t *testing.T) {
	as := func(name string) authenticator.Request {
		return authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, true, nil
		})
	}
	for _, tc := range []struct {
		who, path string
		want      bool
	}{
		{user.Anonymous, "/healthz", true},
		{user.Anonymous, "/livez", true},
		{user.Anonymous, "/readyz/etcd", true},
		{user.Anonymous, "/readyzz", false},
		{user.Anonymous, "/version", false},
		{user.Anonymous, "/", false},
		{user.Anonymous, "/api/v1/namespaces/healthz", false},
		{"alice", "/version", true},
	} {
		req := httptest.NewRequestWithContext(context.Background(), http.MethodGet, tc.path, nil)
		if _, ok, err := restrictAnonymousToHealth(as(tc.who)).AuthenticateRequest(req); ok != tc.want || err != nil {
			t.Errorf("%s %s: got %v, %v", tc.who, tc.path, ok, err)
		}
	}
}

func TestPollHealth(t *testing.T) {
	for _, tc := range []struct {
		code       int
		body, want string
	}{
		{http.StatusOK, "ok", ""},
		{http.StatusInternalServerError, "[+]ping ok\n[-]etcd failed: reason withheld\n[-]poststarthook/x failed: y\n", "waiting for etcd, poststarthook/x"},
		{http.StatusTooManyRequests, "busy", "429 Too Many Requests"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tc.code)
			_, _ = w.Write([]byte(tc.body))
		}))
		client := &http.Client{Transport: redirectTransport{srv}}
		if got, err := pollHealth(t.Context(), client, "/readyz"); got != tc.want || err != nil {
			t.Errorf("%d: got %q, %v, want %q", tc.code, got, err, tc.want)
		}
		srv.Close()
	}
}

// The error names the checks that failed last, although the deadline ends a later poll that hangs.
func TestWaitHealthyNamesFailingChecks(t *testing.T) {
	for name, tc := range map[string]struct {
		answers []string // of the first polls; the next one hangs. "" aborts
		want    string
	}{
		"check":   {[]string{"[-]ping failed: x\n", "[+]ping ok\n[-]etcd failed: x\n"}, "waiting for etcd"},
		"none":    {nil, "no answer"},
		"aborted": {[]string{""}, "abort"},
		"both":    {[]string{"", "[-]etcd failed: x\n"}, "waiting for etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var polls atomic.Int32 // one that hangs goes on beside the next one
				handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					n := int(polls.Add(1))
					switch {
					case n > len(tc.answers):
						<-req.Context().Done()
					case tc.answers[n-1] == "":
						panic(http.ErrAbortHandler)
					default:
						w.WriteHeader(http.StatusInternalServerError)
						_, _ = w.Write([]byte(tc.answers[n-1]))
					}
				})
				s := &Server{aggregator: &aggregatorapiserver.APIAggregator{GenericAPIServer: &server.GenericAPIServer{Handler: &server.APIServerHandler{FullHandlerChain: handler}}}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := s.waitHealthy(ctx, "/readyz")
				if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "apiserver: /readyz: context deadline exceeded: ") || !strings.Contains(err.Error(), tc.want) || strings.Count(err.Error(), "deadline") != 1 {
					t.Errorf("got %v, want %q", err, tc.want)
				}
			})
		})
	}
}

// redirectTransport sends every request to one server, regardless of its address.
type redirectTransport struct{ srv *httptest.Server }

func (s redirectTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Host = s.srv.Listener.Addr().String()
	return http.DefaultTransport.RoundTrip(req)
}

// A bootstrap that fails is reported to the start that waits for it.
func TestFailedBootstrapIsReported(t *testing.T) {
	s := &Server{bootstrapped: make(chan struct{}), bootstrapErr: errors.New("refused"), done: make(chan struct{})}
	close(s.bootstrapped)
	if err := s.WaitPolicy(t.Context()); !errors.Is(err, s.bootstrapErr) {
		t.Errorf("got %v", err)
	}
	if err := s.checkBootstrapped(nil); !errors.Is(err, s.bootstrapErr) {
		t.Errorf("the health check: got %v", err)
	}
}

func TestFlagsWithoutEffectAreRefused(t *testing.T) {
	embedded := func() (*clientv3.Client, error) { return nil, errors.New("not connected") }
	for arg, want := range map[string]string{
		"etcd-servers-overrides=/configmaps#http://127.0.0.1:1": "--etcd-endpoints",
		"v=5":                         "-v",
		"shutdown-delay-duration=30s": "stop",
	} {
		err := Config{Etcd: Etcd{Connect: embedded}, Args: []string{arg}}.CheckFlags()
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, new(usage.Error)) {
			t.Errorf("%s: got %v, want a usage error that contains %q", arg, err, want)
		}
	}
}
