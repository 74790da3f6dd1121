package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/kubeconfig"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// TestRenamedDataFolder names a control plane by its folder, as other verbs do, not by the name that it has started with.
func TestRenamedDataFolder(t *testing.T) {
	enterHome(t)
	path, err := datadir.Path("default", "")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := datadir.Open(t.Context(), path, datadir.FormatVersion)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close() // its error is that it was renamed
	if err := dir.SaveState(datadir.State{Name: "default", Server: "https://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+"-x"); err != nil {
		t.Skip("the system does not rename a folder that is in use: ", err)
	}
	found, err := peekEach(dataDirs, func(candidate) bool { return true })
	if err != nil || len(found) != 1 || found[0].state.Name != "default-x" {
		t.Errorf("got %+v, %v", found, err)
	}
}

// testPlane is a data folder with the kubeconfig of a control plane.
type testPlane struct {
	path       string
	kubeconfig string
	dir        *datadir.Dir
}

// makePlane creates a data folder. Its control plane runs until stop.
func makePlane(t *testing.T, path, name string, private bool) testPlane {
	t.Helper()
	dir, err := datadir.Open(t.Context(), path, datadir.FormatVersion)
	if err != nil {
		t.Fatal(err)
	}
	p := testPlane{dir.Path(), filepath.Join(dir.Path(), ctrlplane.KubeconfigFile), dir}
	t.Cleanup(func() { _ = p.dir.Close() }) // it may be closed already
	address := "https://127.0.0.1:1"        // of each: only their certificates differ
	if err := dir.SaveState(datadir.State{Name: name, Server: address, Private: private, CtrlplaneVersion: ctrlplane.Version()}); err != nil {
		t.Fatal(err)
	}
	testutil.WriteFiles(t, filepath.Join(p.path, pkiDir), map[string]string{"ca.crt": p.path, "admin.crt": "cert", "admin.key": "key"})
	cfg := kubeconfig.New(datadir.ContextName(name), address, []byte(p.path), []byte("cert"), []byte("key"))
	kubeconfig.NoteDataDir(cfg, p.path)
	if err := kubeconfig.Write(p.kubeconfig, cfg); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p testPlane) stop(t *testing.T) {
	t.Helper()
	if err := p.dir.Close(); err != nil {
		t.Fatal(err)
	}
}

// copyKubeconfig writes what the kubeconfig contains into another file, and returns that.
func (p testPlane) copyKubeconfig(t *testing.T, change func(*clientcmdapi.Config)) string {
	t.Helper()
	cfg, err := clientcmd.LoadFromFile(p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	change(cfg)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := kubeconfig.Write(path, cfg); err != nil {
		t.Fatal(err)
	}
	return path
}

// newTestTarget returns the target of a command line with these flags.
func newTestTarget(t *testing.T, flags ...string) *target {
	t.Helper()
	chosen, cmd := &target{}, &cobra.Command{}
	chosen.addFlags(cmd)
	if err := cmd.ParseFlags(flags); err != nil {
		t.Fatal(err)
	}
	return chosen
}

// TestSelectedControlPlane has what can select a control plane, in the order in which it does: flags, CTRLPLANE_DATA_DIR,
// KUBECONFIG, the name default, and for a verb that reads the only one running.
func TestSelectedControlPlane(t *testing.T) {
	h := enterHome(t)
	state := func(name string) string { return filepath.Join(string(h), "state", "ctrlplane", name) }
	main, grow := makePlane(t, state("default"), "default", false), makePlane(t, state("grow"), "grow", false)
	elsewhere, tested := makePlane(t, filepath.Join(string(h), "mine"), "mine", false), makePlane(t, filepath.Join(string(h), "run"), "run", true)
	foreign := filepath.Join(t.TempDir(), "config")
	if err := kubeconfig.Write(foreign, kubeconfig.New("kind", "https://127.0.0.1:1", []byte("ca"), nil, nil)); err != nil {
		t.Fatal(err)
	}
	as := func(*clientcmdapi.Config) {}
	otherContext := func(c *clientcmdapi.Config) { c.CurrentContext = "" }
	address := func(a string) func(*clientcmdapi.Config) {
		return func(c *clientcmdapi.Config) { c.Clusters[c.CurrentContext].Server = a }
	}
	caFile := func(p testPlane) func(*clientcmdapi.Config) {
		return func(c *clientcmdapi.Config) {
			cluster := c.Clusters[c.CurrentContext]
			cluster.CertificateAuthorityData, cluster.CertificateAuthority = nil, filepath.Join(p.path, pkiDir, "ca.crt")
		}
	}
	linked := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(grow.path, linked); err != nil {
		linked = grow.path // Windows does not permit every user to create links
	}
	dataDir := func(dir string) func(*clientcmdapi.Config) {
		return func(c *clientcmdapi.Config) { kubeconfig.NoteDataDir(c, dir) }
	}
	list := func(files ...string) string { return strings.Join(files, string(filepath.ListSeparator)) }
	for name, tc := range map[string]struct {
		flags, env, kubeconfig string
		want                   testPlane
	}{
		"nothing":                              {want: main},
		"KUBECONFIG":                           {kubeconfig: grow.kubeconfig, want: grow},
		"KUBECONFIG of the default one":        {kubeconfig: main.kubeconfig, want: main},
		"KUBECONFIG of a folder elsewhere":     {kubeconfig: elsewhere.kubeconfig, want: elsewhere},
		"KUBECONFIG of it, copied":             {kubeconfig: elsewhere.copyKubeconfig(t, as), want: elsewhere},
		"KUBECONFIG relative":                  {kubeconfig: filepath.Join("mine", "kubeconfig"), want: elsewhere},
		"KUBECONFIG of a test":                 {kubeconfig: tested.kubeconfig, want: tested},
		"KUBECONFIG copied":                    {kubeconfig: grow.copyKubeconfig(t, as), want: grow},
		"KUBECONFIG of several, the first":     {kubeconfig: list(grow.kubeconfig, foreign), want: grow},
		"KUBECONFIG of several, the second":    {kubeconfig: list(grow.copyKubeconfig(t, otherContext), elsewhere.kubeconfig), want: elsewhere},
		"KUBECONFIG of several, one missing":   {kubeconfig: list("", "missing", grow.kubeconfig), want: grow},
		"KUBECONFIG without a current context": {kubeconfig: grow.copyKubeconfig(t, otherContext), want: main},
		"KUBECONFIG of several, foreign first": {kubeconfig: list(foreign, grow.kubeconfig), want: main},
		"KUBECONFIG foreign":                   {kubeconfig: foreign, want: main},
		"KUBECONFIG with another address":      {kubeconfig: grow.copyKubeconfig(t, address("https://localhost:2")), want: grow},
		"KUBECONFIG with a link":               {kubeconfig: grow.copyKubeconfig(t, dataDir(linked)), want: grow},
		"KUBECONFIG with the CA in a file":     {kubeconfig: grow.copyKubeconfig(t, caFile(grow)), want: grow},
		"KUBECONFIG missing, of another tool":  {kubeconfig: filepath.Join(string(h), ".kube", "config"), want: main},
		"KUBECONFIG missing, in a job":         {kubeconfig: filepath.Join(string(h), "kubeconfig"), want: main},
		"KUBECONFIG not valid, of another one": {kubeconfig: grow.path + "/pki/ca.crt", want: main},
		"KUBECONFIG is a folder":               {kubeconfig: string(h), want: main},
		"KUBECONFIG empty":                     {kubeconfig: os.DevNull, want: main},
		"environment before KUBECONFIG":        {env: tested.path, kubeconfig: grow.kubeconfig, want: tested},
		"--name before KUBECONFIG":             {flags: "--name=default", kubeconfig: grow.kubeconfig, want: main},
		"--name before the environment":        {flags: "--name=grow", env: tested.path, kubeconfig: main.kubeconfig, want: grow},
		"--data-dir before the environment":    {flags: "--data-dir=mine", env: tested.path, kubeconfig: main.kubeconfig, want: elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(dataDirEnv, tc.env)
			t.Setenv("KUBECONFIG", tc.kubeconfig)
			for _, changes := range []bool{false, true} {
				chosen := newTestTarget(t, strings.Fields(tc.flags)...)
				chosen.changes = changes
				readBack := replaceStreams(t)
				dir, err := chosen.runningDataDir()
				if _, note := readBack(); dir != tc.want.path || err != nil || note != "" {
					t.Errorf("changes %t: got %s, %v, note %q, want %s", changes, dir, err, note, tc.want.path)
				}
				t.Setenv("KUBECONFIG", os.DevNull) // as kubectl, of which later hints know nothing
				if again, err := chosen.runningDataDir(); again != dir || err != nil {
					t.Errorf("changes %t: then %s, %v", changes, again, err)
				}
				t.Setenv("KUBECONFIG", tc.kubeconfig)
			}
		})
	}
}

// TestStoppedControlPlaneOfKubeconfig has a KUBECONFIG of a control plane that is not running: no verb takes another one in
// its place.
func TestStoppedControlPlaneOfKubeconfig(t *testing.T) {
	h := enterHome(t)
	state := func(name string) string { return filepath.Join(string(h), "state", "ctrlplane", name) }
	main, grow := makePlane(t, state("default"), "default", false), makePlane(t, state("grow"), "grow", false)
	grow.stop(t)
	const start = `KUBECONFIG: control plane "grow" is not running: start it with "ctrlplane --name grow up", or choose another one: --name default`
	require := func(kubeconfig string, changes bool, want string, ambiguous bool) {
		t.Helper()
		t.Setenv("KUBECONFIG", kubeconfig)
		chosen := newTestTarget(t)
		chosen.changes = changes
		dir, err := chosen.runningDataDir()
		if err == nil || err.Error() != want {
			t.Errorf("changes %t: got %s, %v\nwant %s", changes, dir, err, want)
		}
		if errors.As(err, new(ambiguousError)) != ambiguous || errors.As(err, new(notRunningError)) == ambiguous {
			t.Errorf("changes %t: got %T", changes, err)
		}
	}
	require(grow.kubeconfig, false, start, false)
	require(grow.kubeconfig, true, start, true)
	makePlane(t, state("other"), "other", false)
	require(grow.kubeconfig, true, start+", --name other", true)

	main.stop(t)
	require(main.kubeconfig, false, `KUBECONFIG: control plane "default" is not running: start it with "ctrlplane up", or choose another one: --name other`, false)
}

// TestEndedEphemeralControlPlane names one that has ended: "up" would start one without what its own verb does.
func TestEndedEphemeralControlPlane(t *testing.T) {
	h := enterHome(t)
	require := func(name, command string) {
		t.Helper()
		want := fmt.Sprintf("control plane %q is not running: start it with %q", name, command)
		if _, err := newTestTarget(t, "--name="+name).runningDataDir(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	require("dev", "ctrlplane dev -- COMMAND")
	require("run", "ctrlplane run -- COMMAND")
	require("ephemeral", "ctrlplane up --ephemeral")
	require("shop", "ctrlplane --name shop up")
	dev := makePlane(t, filepath.Join(string(h), "state", "ctrlplane", "dev"), "dev", false)
	dev.stop(t)
	require("dev", "ctrlplane --name dev up") // one that is persistent
}

// TestDescribedControlPlane says that a name such as "default" is that of a control plane.
func TestDescribedControlPlane(t *testing.T) {
	enterHome(t)
	path, err := datadir.Path("default", "")
	if err != nil {
		t.Fatal(err)
	}
	for want, p := range map[string]plane{
		`control plane "default"`:       {Name: "default", DataDir: path},
		`control plane "default" in /x`: {Name: "default", DataDir: "/x"},
		"control plane in /x":           {DataDir: "/x"},
	} {
		if got := p.describe(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestNothingRunsBesideKubeconfig has a KUBECONFIG of a control plane that is not running, as none is: a verb that only reads
// may read its folder, one that changes something needs the name.
func TestNothingRunsBesideKubeconfig(t *testing.T) {
	h := enterHome(t)
	path := filepath.Join(string(h), "state", "ctrlplane", "grow")
	grow := makePlane(t, path, "grow", false)
	grow.stop(t)
	t.Setenv("KUBECONFIG", grow.kubeconfig)
	if _, err := newTestTarget(t).runningDataDir(); !errors.As(err, new(notRunningError)) {
		t.Errorf("to read: got %T %v", err, err)
	}
	if err := os.MkdirAll(filepath.Join(path, "etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, name, err := newTestTarget(t).snapshots(); name != `control plane "grow"` || err != nil {
		t.Errorf("snapshots to save: of %q, %v", name, err)
	}
	const want = `start it with "ctrlplane --name grow up", and to change the stopped one use --name grow`
	if _, name, err := newTestTarget(t).toChange().snapshots(); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("snapshots to restore: of %q, %v", name, err)
	}
	if _, name, err := newTestTarget(t, "--name=grow").toChange().snapshots(); name != `control plane "grow"` || err != nil {
		t.Errorf("named: of %q, %v", name, err)
	}
}

// TestNameSelectsForUpAndDown has a KUBECONFIG of another control plane than the default one, which verbs that start and
// manage control planes by their name do not use; what they suggest names the default one.
func TestNameSelectsForUpAndDown(t *testing.T) {
	h := enterHome(t)
	state := func(name string) string { return filepath.Join(string(h), "state", "ctrlplane", name) }
	grow, main := makePlane(t, state("grow"), "grow", false), state("default")
	for kubeconfig, want := range map[string]string{
		grow.kubeconfig: "ctrlplane --name default kubectl", state("gone") + "/kubeconfig": "ctrlplane --name default kubectl", "": "ctrlplane kubectl",
	} {
		t.Setenv("KUBECONFIG", kubeconfig)
		u := &upCommand{target: newTestTarget(t)}
		if path, err := u.target.dataDirPath(); path != main || err != nil {
			t.Errorf("KUBECONFIG %q: got %s, %v, want %s", kubeconfig, path, err, main)
		}
		if got := u.servedTarget().commandLine("kubectl"); got != want {
			t.Errorf("KUBECONFIG %q: got %q, want %q", kubeconfig, got, want)
		}
		if got := u.stopTarget().commandLine("down"); got != "ctrlplane down" {
			t.Errorf("KUBECONFIG %q: to stop it: %q", kubeconfig, got)
		}
	}
	t.Setenv("KUBECONFIG", grow.kubeconfig)
	h.requireFailure(t, []string{"down"}, 1, `control plane "default" is not running: to stop another one use --name grow`)
	chosen := newTestTarget(t)
	if _, err := chosen.runningDataDir(); err != nil {
		t.Fatal(err)
	}
	for verb, want := range map[string]string{"status": "ctrlplane status", "down": "ctrlplane --name grow down"} {
		selecting := chosen
		if verb == "down" {
			selecting = chosen.byName()
		}
		if got := selecting.commandLine(verb); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestLogsOfKubeconfig prints the log of the control plane of KUBECONFIG, running or not.
func TestLogsOfKubeconfig(t *testing.T) {
	h := enterHome(t)
	for _, name := range []string{"default", "grow"} {
		p := makePlane(t, filepath.Join(string(h), "state", "ctrlplane", name), name, false)
		if err := os.WriteFile(filepath.Join(p.path, ctrlplane.LogFile), []byte("log of "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("KUBECONFIG", p.kubeconfig)
		if got := h.mustRun(t, "logs"); got != "log of "+name+"\n" {
			t.Errorf("running: %q", got)
		}
		p.stop(t)
		if got := h.mustRun(t, "logs"); got != "log of "+name+"\n" {
			t.Errorf("stopped: %q", got)
		}
	}
}

// addForeignCluster makes another cluster the current one in the kubeconfig of the data folder, as kind does if KUBECONFIG
// names that file.
func (p testPlane) addForeignCluster(t *testing.T) {
	t.Helper()
	cfg, err := clientcmd.LoadFromFile(p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	prod := kubeconfig.New("prod", "https://prod.invalid", []byte("ca of prod"), []byte("cert"), []byte("key"))
	cfg.Clusters["prod"], cfg.AuthInfos["prod"], cfg.Contexts["prod"], cfg.CurrentContext = prod.Clusters["prod"], prod.AuthInfos["prod"], prod.Contexts["prod"], "prod"
	if err := kubeconfig.Write(p.kubeconfig, cfg); err != nil {
		t.Fatal(err)
	}
}

// TestForeignClusterInKubeconfig has a data folder whose kubeconfig has another cluster as the current one: no request goes
// there, and a copy of the former kubeconfig still selects the control plane.
func TestForeignClusterInKubeconfig(t *testing.T) {
	h := enterHome(t)
	t.Cleanup(cmdutil.DefaultBehaviorOnFatal)
	t.Cleanup(klog.ClearLogger)
	state := func(name string) string { return filepath.Join(string(h), "state", "ctrlplane", name) }
	makePlane(t, state("default"), "default", false)
	grow := makePlane(t, state("grow"), "grow", false)
	before := grow.copyKubeconfig(t, func(*clientcmdapi.Config) {})
	grow.addForeignCluster(t)

	t.Setenv("KUBECONFIG", before)
	chosen := newTestTarget(t).toChange()
	c, err := chosen.running()
	if err != nil || c.path != grow.path {
		t.Fatalf("got %s, %v, want %s", c.path, err, grow.path)
	}
	chosen = newTestTarget(t, "--name=grow")
	if cfg, err := chosen.restConfig(); err != nil || serverOf(cfg) != c.server() {
		t.Errorf("a verb uses %+v, %v", cfg, err)
	}
	flags := genericclioptions.NewConfigFlags(true)
	if _, err := chosen.useKubeconfig(flags); err != nil {
		t.Fatal(err)
	}
	if cfg, err := flags.ToRESTConfig(); err != nil || serverOf(cfg) != c.server() {
		t.Errorf("kubectl uses %+v, %v", cfg, err)
	}
	const want = `its current context is not of this control plane: select it with "ctrlplane --name grow kubectl config use-context ctrlplane-grow"`
	if err := chosen.checkCurrentContext(c); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("a plugin: got %v", err)
	}

	flags = genericclioptions.NewConfigFlags(true)
	prod := "prod"
	if _, err := chosen.useKubeconfig(flags); err != nil {
		t.Fatal(err)
	}
	flags.Context = &prod
	cfg, err := flags.ToRESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(&rest.Config{Host: cfg.Host, WrapTransport: cfg.WrapTransport})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(cfg.Host); err == nil || !strings.Contains(err.Error(), "these flags select another cluster") {
		t.Errorf("kubectl --context prod: got %v", err)
	}

	if err := kubeconfig.Write(grow.kubeconfig, clientcmdapi.NewConfig()); err != nil {
		t.Fatal(err)
	}
	if _, err := chosen.useKubeconfig(genericclioptions.NewConfigFlags(true)); err == nil || !strings.Contains(err.Error(), "has no context of this control plane: stop it with") {
		t.Errorf("an empty kubeconfig: got %v", err)
	}
}

// TestUnknownKubeconfig has a KUBECONFIG that seems to be of a control plane, but not of which one: verbs that change something
// refuse it, others use the default control plane and print a warning.
func TestUnknownKubeconfig(t *testing.T) {
	h := enterHome(t)
	state := func(name string) string { return filepath.Join(string(h), "state", "ctrlplane", name) }
	main, grow := makePlane(t, state("default"), "default", false), makePlane(t, state("grow"), "grow", false)
	elsewhere := makePlane(t, filepath.Join(string(h), "mine"), "mine", false).copyKubeconfig(t, func(c *clientcmdapi.Config) {
		kubeconfig.NoteDataDir(c, grow.path) // which has another CA
	})
	grow.addForeignCluster(t)
	const unknown = "is not of a control plane that is known here"
	for kubeconfig, want := range map[string]string{
		state("gone") + "/kubeconfig":         "gone/kubeconfig does not exist",
		state("gone") + "/kubeconfig.shop.op": "gone/kubeconfig.shop.op does not exist",
		grow.path + "/state.json":             unknown,
		grow.kubeconfig:                       `"prod" ` + unknown,
		elsewhere:                             `"ctrlplane-mine" ` + unknown,
		"/dev/zero":                           "/dev/zero is a pipe or a device",
	} {
		if runtime.GOOS == "windows" && kubeconfig == "/dev/zero" {
			continue
		}
		t.Setenv("KUBECONFIG", kubeconfig)
		if dir, err := newTestTarget(t).toChange().runningDataDir(); err == nil || !strings.HasPrefix(err.Error(), "KUBECONFIG: ") ||
			!strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "choose a control plane with --name or --data-dir, or unset KUBECONFIG") {
			t.Errorf("%s: to change: got %s, %v, want %q", kubeconfig, dir, err, want)
		}
		readBack := replaceStreams(t)
		dir, err := newTestTarget(t).runningDataDir()
		if _, note := readBack(); dir != main.path || err != nil || !strings.Contains(note, "KUBECONFIG selects no control plane: ") || !strings.Contains(note, want) {
			t.Errorf("%s: to read: got %s, %v, note %q", kubeconfig, dir, err, note)
		}
		if dir, err := newTestTarget(t, "--name=grow").toChange().runningDataDir(); dir != grow.path || err != nil {
			t.Errorf("%s: named: got %s, %v", kubeconfig, dir, err)
		}
	}
}

// TestCopiedDataFolder has copies of a data folder, which have its CA: a copy of the kubeconfig selects the one that runs at its
// address, and the kubeconfig of a folder that folder.
func TestCopiedDataFolder(t *testing.T) {
	h := enterHome(t)
	state := func(name string) string { return filepath.Join(string(h), "state", "ctrlplane", name) }
	grow := makePlane(t, state("grow"), "grow", false)
	for _, name := range []string{"backup", "later"} { // before and after it by name
		if err := os.CopyFS(state(name), os.DirFS(grow.path)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBECONFIG", grow.copyKubeconfig(t, func(*clientcmdapi.Config) {}))
	if dir, err := newTestTarget(t).toChange().runningDataDir(); dir != grow.path || err != nil {
		t.Errorf("got %s, %v, want %s", dir, err, grow.path)
	}
	t.Setenv("KUBECONFIG", filepath.Join(state("backup"), "kubeconfig"))
	if s := newTestTarget(t).selected(); s.path != state("backup") {
		t.Errorf("got %s, %v", s.path, s.err)
	}
	t.Setenv("KUBECONFIG", grow.copyKubeconfig(t, func(c *clientcmdapi.Config) { c.Clusters[c.CurrentContext].Server = "https://localhost:2" }))
	if dir, err := newTestTarget(t).toChange().runningDataDir(); err == nil || !strings.Contains(err.Error(), `several control planes have the CA of its context "ctrlplane-grow"`) {
		t.Errorf("another address: got %s, %v", dir, err)
	}
}
