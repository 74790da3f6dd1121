//go:build unix

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// accountManifest has a ServiceAccount that may create ConfigMaps in its namespace.
const accountManifest = `apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: operator, namespace: shop}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: operator, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: operator}
subjects: [{kind: ServiceAccount, name: operator, namespace: shop}]
`

// requireAccount checks that a kubeconfig is that of a ServiceAccount and not of the
// administrator as well.
func requireAccount(t *testing.T, path, user string) *kubernetes.Clientset {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.CertData != nil || cfg.KeyData != nil {
		t.Error("the kubeconfig has the administrator's certificate")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: mode %v, %v, want 0600", path, info.Mode(), err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := review.Status.UserInfo.Username; got != user {
		t.Errorf("user %q, want %q", got, user)
	}
	return client
}

func TestRunAsServiceAccount(t *testing.T) {
	t.Parallel()
	manifest := filepath.Join(t.TempDir(), "account.yaml")
	testutil.WriteFile(t, manifest, accountManifest)
	r := startRun(t, minimal("--service-account=shop/operator", "-f", manifest, "--", "sh", "-c", `echo "$KUBECONFIG"; "$0" kubectl auth whoami -o jsonpath='{.status.userInfo.username}{"\n"}'; read -r end`, program.Path())...)
	path := r.readLine(t)
	client := requireAccount(t, path, "system:serviceaccount:shop:operator")
	if _, err := client.CoreV1().ConfigMaps("shop").Create(t.Context(), newConfigMap("mine"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
	if _, err := client.CoreV1().Secrets("shop").Create(t.Context(), secret, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a Secret: %v, want Forbidden", err)
	}
	cfg, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Contexts[cfg.CurrentContext].Namespace; got != "shop" {
		t.Errorf("namespace %q, want shop", got)
	}
	if got := r.readLine(t); got != "kubernetes-admin" {
		t.Errorf("ctrlplane kubectl is %q, want the administrator", got)
	}
	grant := func() error { // of what it may not do itself
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "peers"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"endpoints"}, Verbs: []string{"get"}}}}
		binding := &rbacv1.RoleBinding{ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "peers"}}
		_, roleErr := client.RbacV1().Roles("shop").Create(t.Context(), role, metav1.CreateOptions{})
		_, bindingErr := client.RbacV1().RoleBindings("shop").Create(t.Context(), binding, metav1.CreateOptions{})
		for _, err := range []error{roleErr, bindingErr} {
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
		}
		return nil
	}
	if err := grant(); !apierrors.IsForbidden(err) {
		t.Errorf("a Role: %v, want Forbidden", err)
	}
	requireRoles(t, filepath.Dir(path), func() error {
		if err := grant(); err != nil {
			return err
		}
		_, err := client.CoreV1().Secrets("shop").Create(t.Context(), secret, metav1.CreateOptions{})
		return err
	})
	r.stdin.Close()
	r.requireExit(t, 1) // of read
}

// requireRoles checks that the roles of the test's client allow what was refused to it.
func requireRoles(t *testing.T, dir string, refused func() error) {
	t.Helper()
	roles := program.MustRun(t, dir, "clients", "roles", "command.test")
	for _, text := range []string{"# Refused in 1 of 1 request: create secrets in namespace shop\n", "kind: RoleBinding\n", "  - configmaps\n  - secrets\n"} {
		if !strings.Contains(roles, text) {
			t.Errorf("the roles do not contain %q: %s", text, roles)
		}
	}
	apply := program.Command(t, "--data-dir", dir, "kubectl", "apply", "-f", "-")
	apply.Stdin = strings.NewReader(roles)
	if _, stderr, code := program.Run(t, apply); code != 0 {
		t.Fatalf("kubectl apply: %s", stderr)
	}
	testutil.Await(t, "the roles allow it", func() bool { return refused() == nil })
}

func TestServiceAccountFlag(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value string
		code  int
		text  string
	}{
		{"operator", 2, "use NAMESPACE/NAME"},
		{"shop/operator", 125, "--service-account shop/operator: that ServiceAccount does not exist: create it, or apply its manifest with -f"},
	} {
		t.Run(tt.value, func(t *testing.T) {
			t.Parallel()
			cmd := program.Command(t, append([]string{"run"}, minimal("--service-account", tt.value, "--", "true")...)...)
			program.RequireFailure(t, cmd, tt.code, tt.text)
			requireNothingLeft(t, cmd)
		})
	}
}

func TestKubeconfigOfServiceAccount(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.up(t, "demo", minimal("--name", "demo")...)
	u.mustRun(t, "--name", "demo", "kubectl", "create", "serviceaccount", "operator.v2", "-n", "kube-public")
	out, _ := u.mustRun(t, "--name", "demo", "kubeconfig", "--service-account", "system:serviceaccount:kube-public:operator.v2")
	path := strings.TrimSpace(out)
	requireAccount(t, path, "system:serviceaccount:kube-public:operator.v2")
	raw, _ := u.mustRun(t, "--name", "demo", "kubeconfig", "--raw", "--service-account", "kube-public/operator.v2")
	if strings.Contains(raw, "client-key") || !strings.Contains(raw, "token: ") {
		t.Errorf("--raw: %q", raw)
	}
	program.RequireFailure(t, u.command(t, "--name", "demo", "kubeconfig", "--service-account", "kube-public/other"), 1, "does not exist")

	// Its kubeconfig chooses the control plane, as the administrator's does.
	u.env = append(u.env, "KUBECONFIG="+path)
	u.mustRun(t, "controllers", "list")
	u.mustRun(t, "--name", "demo", "down")
	u.mustRun(t, "delete", "demo")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s remains: %v", path, err)
	}
}

// TestDevAsServiceAccount changes a manifest, so that the ServiceAccount is created again, for
// which the token of the one before is not valid.
func TestDevAsServiceAccount(t *testing.T) {
	t.Parallel()
	d := newDev(t, minimal("--service-account=shop/operator", "-f", "account.yaml", "--", "sh", "-c", `echo "using $KUBECONFIG"; exec sleep 1000`)...)
	d.writeFile(t, "account.yaml", accountManifest)
	d.start(t)
	for _, change := range []string{"# one\n", "# two\n"} {
		_, path, _ := strings.Cut(d.requireLine(t, "[operator] using "), "using ")
		requireAccount(t, path, "system:serviceaccount:shop:operator")
		d.writeFile(t, "account.yaml", accountManifest+change)
	}
	d.requireLine(t, "[operator] using ")
	d.writeFile(t, "account.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
	d.requireLine(t, "--service-account shop/operator: that ServiceAccount does not exist")
	program.Signal(t, d.cmd, syscall.SIGTERM)
	d.requireEnd(t, 143, 0)
}
