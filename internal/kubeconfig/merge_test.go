package kubeconfig

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestMergeAndUnmerge(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"config"}, map[string]string{"config": usersKubeconfig})
	path := filepath.Join(dir, "config")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	before := mustLoad(t, path)

	for range 2 { // again, as after a restart
		if got := mustMerge(t, "ctrlplane-default"); got != path || got != Path() {
			t.Errorf("merged into %s, want %s", got, path)
		}
		wantMode(t, path, 0o600)
		got := mustLoad(t, path)
		if got.CurrentContext != "ctrlplane-default" {
			t.Errorf("current context %q", got.CurrentContext)
		}
		if c := got.Contexts["ctrlplane-default"]; c.Cluster != "ctrlplane-default" || c.AuthInfo != "ctrlplane-default" {
			t.Errorf("context %+v", c)
		}
		if c := got.Clusters["ctrlplane-default"]; c.Server != "https://127.0.0.1:6443" || string(c.CertificateAuthorityData) != "ca of ctrlplane-default" {
			t.Errorf("cluster %+v", c)
		}
		if u := got.AuthInfos["ctrlplane-default"]; string(u.ClientCertificateData) != "cert of ctrlplane-default" || string(u.ClientKeyData) != "key of ctrlplane-default" {
			t.Errorf("user %+v", u)
		}
		delete(got.Contexts, "ctrlplane-default")
		delete(got.Clusters, "ctrlplane-default")
		delete(got.AuthInfos, "ctrlplane-default")
		got.CurrentContext = "work"
		if diff := cmp.Diff(before, got); diff != "" {
			t.Errorf("the rest (-before +after):\n%s", diff)
		}
	}
	for range 2 { // the second time there is nothing to remove
		mustUnmerge(t, "ctrlplane-default")
		if diff := cmp.Diff(before, mustLoad(t, path)); diff != "" {
			t.Errorf("unmerged (-before +after):\n%s", diff)
		}
	}
	if got := testutil.ReadFiles(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

func TestMergeNamesEntriesAfterContext(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"config"}, nil)
	if _, err := Merge("mine", sampleConfig("other")); err != nil {
		t.Fatal(err)
	}
	got := mustLoad(t, filepath.Join(dir, "config"))
	if got.CurrentContext != "mine" || got.Contexts["mine"].Cluster != "mine" || got.Clusters["mine"] == nil || got.AuthInfos["mine"] == nil || len(got.Clusters) != 1 {
		t.Errorf("got %+v", got)
	}
}

// A copy of the file, and one into which it was merged, name the data folder.
func TestDataDirIsKept(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"config"}, nil)
	own := sampleConfig("own")
	if got := DataDir(own.Clusters["own"]); got != "" {
		t.Errorf("none is noted, got %q", got)
	}
	NoteDataDir(own, "/data")
	if _, err := Merge("own", own); err != nil {
		t.Fatal(err)
	}
	if got := DataDir(mustLoad(t, filepath.Join(dir, "config")).Clusters["own"]); got != "/data" {
		t.Errorf("got %q", got)
	}
}

func TestMergeCreatesFile(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"home/.kube/config"}, nil)
	path := mustMerge(t, "a")
	wantMode(t, path, 0o600)
	wantMode(t, filepath.Dir(path), 0o700|os.ModeDir)
	mustMerge(t, "b")
	mustMerge(t, "a")
	mustUnmerge(t, "a")
	if got := mustLoad(t, path); got.CurrentContext != "b" || len(got.Contexts) != 1 {
		t.Errorf("got %+v", got)
	}
	mustUnmerge(t, "b")
	if got := testutil.ReadFiles(t, filepath.Join(dir, "home", ".kube")); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
	mustUnmerge(t, "b") // without a file

	// An existing file stays, even an empty one.
	dir = setKubeconfigFiles(t, []string{"config"}, map[string]string{"config": ""})
	mustMerge(t, "a")
	mustUnmerge(t, "a")
	if got := testutil.ReadFiles(t, dir); len(got) != 1 {
		t.Errorf("got %v, want the file to exist", got)
	}

	// So does a file that the user has added an entry to.
	dir = setKubeconfigFiles(t, []string{"config"}, nil)
	path = mustMerge(t, "a")
	cfg := mustLoad(t, path)
	cfg.Contexts["own"] = &clientcmdapi.Context{Cluster: "x", AuthInfo: "y"}
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		t.Fatal(err)
	}
	mustUnmerge(t, "a")
	if got := mustLoad(t, filepath.Join(dir, "config")); len(got.Contexts) != 1 || got.CurrentContext != "" {
		t.Errorf("got %+v", got)
	}
}

func TestMergeKeepsUserSettings(t *testing.T) {
	setKubeconfigFiles(t, []string{"config"}, map[string]string{"config": usersKubeconfig})
	path := mustMerge(t, "a")
	cfg := mustLoad(t, path)
	cfg.Contexts["a"].Namespace = "team"
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		t.Fatal(err)
	}
	mustMerge(t, "a")
	if got := mustLoad(t, path).Contexts["a"].Namespace; got != "team" {
		t.Errorf("namespace %q", got)
	}
}

// runSteps runs steps such as "+a" (merge), "-a" (unmerge), "a" (the user makes it the
// current context) and "a>b" (the user renames it).
func runSteps(t *testing.T, path string, steps ...string) {
	t.Helper()
	for _, step := range steps {
		switch {
		case step[0] == '+':
			mustMerge(t, step[1:])
			continue
		case step[0] == '-':
			mustUnmerge(t, step[1:])
			continue
		}
		cfg := mustLoad(t, path)
		cfg.CurrentContext = step
		if len(step) == 3 && step[1] == '>' {
			from, to := step[:1], step[2:]
			cfg.Contexts[to] = cfg.Contexts[from]
			delete(cfg.Contexts, from)
			cfg.CurrentContext = to
		}
		if err := clientcmd.WriteToFile(*cfg, path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnmergeRestoresCurrentContext(t *testing.T) {
	tests := map[string]struct {
		steps []string
		want  string
	}{
		"restart":                              {[]string{"+a", "+a", "-a"}, "work"},
		"the user chose another":               {[]string{"+a", "play", "-a"}, "play"},
		"the user chose another, then restart": {[]string{"+a", "play", "+a", "-a"}, "play"},
		"the user renamed ours":                {[]string{"+a", "a>z", "-a"}, "work"},
		"the user renamed ours, then restart":  {[]string{"+a", "a>z", "+a", "-a"}, "work"},
		"two, the last first":                  {[]string{"+a", "+b", "-b", "-a"}, "work"},
		"two, the first first":                 {[]string{"+a", "+b", "-a", "-b"}, "work"},
		"two, the first gone":                  {[]string{"+a", "+b", "-a"}, "b"},
		"two, the last gone":                   {[]string{"+a", "+b", "-b"}, "a"},
		"two, back and forth":                  {[]string{"+a", "+b", "+a", "-a", "-b"}, "work"},
		"two, back and forth, the other way":   {[]string{"+a", "+b", "+a", "-b", "-a"}, "work"},
		"two, switched manually":               {[]string{"+a", "+b", "a", "+a", "+b", "-b", "-a"}, "work"},
		"three":                                {[]string{"+a", "+b", "+c", "-b", "-c"}, "a"},
		"three, back and forth":                {[]string{"+a", "+b", "+c", "+a", "+b", "-a", "-c", "-b"}, "work"},
		"another control plane is not ours":    {[]string{"+a", "-b"}, "a"},
		"nothing to do":                        {[]string{"-a"}, "work"},
		"dangling":                             {[]string{"gone", "+a", "-a"}, "gone"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := setKubeconfigFiles(t, []string{"config"}, map[string]string{"config": usersKubeconfig})
			path := filepath.Join(dir, "config")
			runSteps(t, path, test.steps...)
			got := mustLoad(t, path)
			if got.CurrentContext != test.want {
				t.Errorf("current context %q, want %q", got.CurrentContext, test.want)
			}
			if test.want != "a" && test.want != "b" && (len(got.Contexts) != 2 || len(got.Clusters) != 1 || len(got.AuthInfos) != 2) {
				t.Errorf("entries of ctrlplane are left: %+v", got)
			}
		})
	}
}

func TestMergeWithSeveralFiles(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"missing", "first", "second"}, map[string]string{"first": "", "second": usersKubeconfig})
	before := testutil.ReadFiles(t, dir)
	if got := mustMerge(t, "a"); got != filepath.Join(dir, "first") {
		t.Errorf("merged into %s", got)
	}
	after := testutil.ReadFiles(t, dir)
	if after["second"] != usersKubeconfig || len(after) != 2 {
		t.Errorf("got %v", after)
	}
	effective, err := clientcmd.NewDefaultPathOptions().GetStartingConfig()
	if err != nil || effective.CurrentContext != "a" || len(effective.Contexts) != 3 {
		t.Errorf("kubectl sees %+v, %v", effective, err)
	}
	// An earlier Merge may have used another list.
	t.Setenv("KUBECONFIG", filepath.Join(dir, "second"))
	mustMerge(t, "a")
	t.Setenv("KUBECONFIG", filepath.Join(dir, "first")+string(filepath.ListSeparator)+filepath.Join(dir, "second"))
	mustUnmerge(t, "a")
	effective, err = clientcmd.NewDefaultPathOptions().GetStartingConfig()
	if err != nil || effective.CurrentContext != "work" || len(effective.Contexts) != 2 {
		t.Errorf("kubectl sees %+v, %v", effective, err)
	}
	if got := testutil.ReadFiles(t, dir); len(got) != len(before) {
		t.Errorf("left behind: %v", got)
	}
}

func TestMergeIntoOwnFile(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"kubeconfig"}, nil)
	path := filepath.Join(dir, "kubeconfig")
	if err := Write(path, sampleConfig("a")); err != nil {
		t.Fatal(err)
	}
	mustMerge(t, "a") // with KUBECONFIG set to the data folder's file
	if got := mustLoad(t, path); got.CurrentContext != "a" || len(got.Contexts) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestMergeThroughLink(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"config"}, map[string]string{"dotfiles/config": usersKubeconfig})
	path := filepath.Join(dir, "config")
	if err := os.Symlink(filepath.Join("dotfiles", "config"), path); err != nil {
		t.Skip(err)
	}
	mustMerge(t, "a")
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v; want that it is still a link", info.Mode(), err)
	}
	if got := mustLoad(t, filepath.Join(dir, "dotfiles", "config")); got.CurrentContext != "a" {
		t.Errorf("got %+v", got)
	}
}

// TestUnmergeKeepsOtherControlPlane checks that the context of another control plane with the
// same name stays, also if it had the same port.
func TestUnmergeKeepsOtherControlPlane(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"config"}, nil)
	path := mustMerge(t, "ctrlplane-demo")
	before := mustLoad(t, path)
	own := sampleConfig("ctrlplane-demo")
	other := New("ctrlplane-demo", "https://127.0.0.1:6443", []byte("another ca"), []byte("cert"), []byte("key"))
	if err := Unmerge("ctrlplane-demo", other); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, mustLoad(t, path)); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	own.Clusters["ctrlplane-demo"].Server = "https://127.0.0.1:7777" // another port since
	if err := Unmerge("ctrlplane-demo", own); err != nil {
		t.Fatal(err)
	}
	if got := testutil.ReadFiles(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}
