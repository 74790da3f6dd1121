package kubeconfig

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// usersKubeconfig is a kubeconfig that a user may have.
const usersKubeconfig = `apiVersion: v1
kind: Config
current-context: work
preferences: {colors: true}
clusters:
- name: work
  cluster:
    server: https://work.example.com
    certificate-authority: certs/work.crt
    extensions:
    - name: cluster_info
      extension: {provider: minikube.sigs.k8s.io, version: v1.37.0}
contexts:
- name: work
  context: {cluster: work, user: me, namespace: team}
- name: play
  context: {cluster: work, user: you}
users:
- name: me
  user: {client-certificate: me.crt, client-key: me.key}
- name: you
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: login, args: [--now], interactiveMode: Never}
extensions:
- name: other.example.com
  extension: {a: [1, 2]}
`

func sampleConfig(name string) *clientcmdapi.Config {
	return New(name, "https://127.0.0.1:6443", []byte("ca of "+name), []byte("cert of "+name), []byte("key of "+name))
}

// setKubeconfigFiles creates the files in a new folder and sets KUBECONFIG to the list of
// names.
func setKubeconfigFiles(t *testing.T, list []string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	testutil.WriteFiles(t, dir, files)
	var paths []string
	for _, name := range list {
		paths = append(paths, filepath.Join(dir, name))
	}
	t.Setenv("KUBECONFIG", strings.Join(paths, string(filepath.ListSeparator)))
	return dir
}

func mustLoad(t *testing.T, path string) *clientcmdapi.Config {
	t.Helper()
	cfg, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func mustMerge(t *testing.T, name string) string {
	t.Helper()
	path, err := Merge(name, sampleConfig(name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func mustUnmerge(t *testing.T, name string) {
	t.Helper()
	if err := Unmerge(name, sampleConfig(name)); err != nil {
		t.Fatal(err)
	}
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode() != want && runtime.GOOS != "windows" {
		t.Errorf("%s: mode %v, %v; want %v", path, info.Mode(), err, want)
	}
}

// wantError compares the message; "…" in want stands for text of a library.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %s", want)
		return
	}
	got := err.Error()
	if strings.ContainsAny(got, "\r\n") {
		t.Errorf("more than one line: %q", got)
	}
	start, end, open := strings.Cut(want, "…")
	if open && strings.HasPrefix(got, start) && strings.HasSuffix(got, end) {
		return
	}
	if got != want && runtime.GOOS != "windows" {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestNew(t *testing.T) {
	cfg := sampleConfig("ctrlplane-default")
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Y2Egb2YgY3RybHBsYW5lLWRlZmF1bHQ=
    extensions:
    - extension: {}
      name: ctrlplane
    server: https://127.0.0.1:6443
  name: ctrlplane-default
contexts:
- context:
    cluster: ctrlplane-default
    extensions:
    - extension: {}
      name: ctrlplane
    user: ctrlplane-default
  name: ctrlplane-default
current-context: ctrlplane-default
kind: Config
users:
- name: ctrlplane-default
  user:
    client-certificate-data: Y2VydCBvZiBjdHJscGxhbmUtZGVmYXVsdA==
    client-key-data: a2V5IG9mIGN0cmxwbGFuZS1kZWZhdWx0
    extensions:
    - extension: {}
      name: ctrlplane
`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rest, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	if rest.Host != "https://127.0.0.1:6443" || string(rest.CAData) != "ca of ctrlplane-default" ||
		string(rest.CertData) != "cert of ctrlplane-default" || string(rest.KeyData) != "key of ctrlplane-default" {
		t.Errorf("got %v", rest)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := testutil.WriteFile(t, filepath.Join(dir, "kubeconfig"), usersKubeconfig)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, sampleConfig("a")); err != nil {
		t.Fatal(err)
	}
	wantMode(t, path, 0o600)
	if got := mustLoad(t, path); got.CurrentContext != "a" || len(got.Contexts) != 1 {
		t.Errorf("got %+v", got)
	}
	if got := testutil.ReadFiles(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}

	gone := filepath.Join(dir, "gone", "kubeconfig")
	err := Write(gone, sampleConfig("a"))
	if err == nil || !strings.HasPrefix(err.Error(), "kubeconfig "+gone+": ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

func TestPath(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"a", "b", "c"}, map[string]string{"b": usersKubeconfig})
	if got := Path(); got != filepath.Join(dir, "b") {
		t.Errorf("got %s, want the first that exists", got)
	}
	if err := os.Remove(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if got := Path(); got != filepath.Join(dir, "c") {
		t.Errorf("got %s, want the last if none exists", got)
	}
	t.Setenv("KUBECONFIG", string(filepath.ListSeparator))
	if got := Path(); got != "" {
		t.Errorf("got %s, want none", got)
	}
}
