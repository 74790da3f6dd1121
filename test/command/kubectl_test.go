//go:build unix

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

const usersKubeconfig = `apiVersion: v1
kind: Config
current-context: prod
clusters:
- name: prod
  cluster: {server: "https://prod.invalid"}
contexts:
- name: prod
  context: {cluster: prod, user: prod, namespace: payments}
users:
- name: prod
  user: {token: secret}
`

// newKubectlUser returns a user with a kubeconfig and a kubectl plugin named where.
func newKubectlUser(t *testing.T) (u user, kubeconfig string) {
	t.Helper()
	u = newUser(t)
	plugin := filepath.Join(u.home, "kubectl-where")
	if err := os.WriteFile(plugin, []byte("#!/bin/sh\necho \"plugin uses $KUBECONFIG\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	kubeconfig = filepath.Join(u.home, "user.kubeconfig")
	testutil.WriteFile(t, kubeconfig, usersKubeconfig)
	u.env = append(u.env, "PATH="+u.home+string(os.PathListSeparator)+os.Getenv("PATH"))
	return u, kubeconfig
}

func requireUnchanged(t *testing.T, kubeconfig string) {
	t.Helper()
	if data, err := os.ReadFile(kubeconfig); err != nil || string(data) != usersKubeconfig {
		t.Errorf("the user's kubeconfig is now %q, %v", data, err)
	}
}

// testKubectlUsesOnlyTheControlPlane checks that neither plugins nor "kubectl config" nor
// flags lead to the cluster of the user's own kubeconfig. It changes the namespace of the control plane's.
func (u user) testKubectlUsesOnlyTheControlPlane(t *testing.T, kubeconfig string) {
	kubectl := func(args ...string) string {
		t.Helper()
		stdout, _ := u.mustRun(t, append([]string{"--name", "demo", "kubectl"}, args...)...)
		return stdout
	}
	path := strings.TrimSpace(func() string { out, _ := u.mustRun(t, "--name", "demo", "kubeconfig"); return out }())
	requireText(t, kubectl("where"), "plugin uses "+path+"\n")
	kubectl("config", "set-context", "--current", "--namespace", "kube-system")
	requireText(t, kubectl("config", "view", "--minify"), "namespace: kube-system", "name: ctrlplane-demo")
	requireText(t, kubectl("get", "configmaps", "-o", "name"), "extension-apiserver-authentication")
	kubectl("--kubeconfig", path, "get", "pods") // its own
	for _, args := range []string{"--kubeconfig " + kubeconfig + " get pods", "config view --kubeconfig " + kubeconfig, "get pods -s https://127.0.0.1:1"} {
		program.RequireFailure(t, u.command(t, append([]string{"--name", "demo", "kubectl"}, strings.Fields(args)...)...), 2, "only talks to the control plane")
	}
	requireUnchanged(t, kubeconfig)

	// As kind does if KUBECONFIG names the file.
	kubectl("config", "set-cluster", "prod", "--server", "https://prod.invalid")
	kubectl("config", "set-context", "prod", "--cluster", "prod", "--user", "ctrlplane-demo")
	kubectl("config", "use-context", "prod")
	requireText(t, kubectl("get", "configmaps", "-n", "kube-system", "-o", "name"), "extension-apiserver-authentication")
	u.mustRun(t, "--name", "demo", "status")
	for args, want := range map[string]string{
		"kubectl --context prod get pods": "these flags select another cluster",
		"kubectl --cluster prod get pods": "these flags select another cluster",
		"kubectl where":                   "its current context is not of this control plane: select it with ",
		"kubeconfig":                      "its current context is not of this control plane: select it with ",
		"reconcile configmaps -- true":    "its current context is not of this control plane: select it with ",
	} {
		program.RequireFailure(t, u.command(t, append([]string{"--name", "demo"}, strings.Fields(args)...)...), 1, want)
	}
	kubectl("config", "use-context", "ctrlplane-demo")
	requireText(t, kubectl("where"), "plugin uses "+path+"\n")
}

// TestKubectlWithFlagsOfCtrlplane checks that kubectl's error about them says where they belong.
func TestKubectlWithFlagsOfCtrlplane(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--name green get nodes":          " --name green kubectl get nodes",
		"get nodes --name=green -o wide":  " --name green kubectl get nodes -o wide",
		"get --data-dir /tmp/green nodes": " --data-dir /tmp/green kubectl get nodes",
		"get nodes --name":                " --name NAME kubectl get nodes",
		"get nodes --nmae green":          "",
		"expose pod web --name":           "", // a flag of kubectl's own
	} {
		_, stderr, code := program.Run(t, program.Command(t, append([]string{"kubectl"}, strings.Fields(args)...)...))
		_, advice, found := strings.Cut(stderr, "put --")
		if code != 1 || !strings.HasPrefix(stderr, "error: ") || found != (want != "") || !strings.HasSuffix(advice, want+"\n") && found {
			t.Errorf("%s: exit code %d, %q", args, code, stderr)
		}
	}
}

// TestCalledAsKubectl checks that test tools find a kubectl in a link to ctrlplane.
func TestCalledAsKubectl(t *testing.T) {
	t.Parallel()
	u, kubeconfig := newKubectlUser(t)
	link := filepath.Join(u.home, "kubectl")
	if err := os.Symlink(program.Path(), link); err != nil {
		t.Fatal(err)
	}
	stdout, _ := u.mustRun(t, append(append([]string{"run"}, minimal()...), "--", "kubectl", "get", "namespaces", "-o", "name")...)
	requireText(t, stdout, "namespace/kube-system")
	outside := u.command(t, "get", "pods")
	outside.Path, outside.Args[0] = link, link
	program.RequireFailure(t, outside, 1, `control plane "default" is not running: start it with "`+program.Path()+` up"`)
	requireUnchanged(t, kubeconfig)
}

// TestKubectlWithoutControlPlane checks that verbs which need a server fail with one line,
// and others work, without the user's own kubeconfig.
func TestKubectlWithoutControlPlane(t *testing.T) {
	t.Parallel()
	u, kubeconfig := newKubectlUser(t)
	for _, args := range []string{"get pods", "api-resources", "explain pods", "config view", "config set-context --current --namespace x", "where"} {
		program.RequireFailure(t, u.command(t, append([]string{"kubectl"}, strings.Fields(args)...)...), 1, `control plane "default" is not running: start it with "`)
	}
	stdout, _ := u.mustRun(t, "kubectl", "create", "deployment", "web", "--image=x", "--dry-run=client", "-o", "yaml")
	requireText(t, stdout, "kind: Deployment")
	if strings.Contains(stdout, "payments") {
		t.Errorf("the namespace of the user's own context:\n%s", stdout)
	}
	u.mustRun(t, "kubectl", "version", "--client")
	requireUnchanged(t, kubeconfig)
}
