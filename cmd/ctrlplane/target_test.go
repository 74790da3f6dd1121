package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/kubeconfig"
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
	cfg := kubeconfig.New(datadir.ContextName(name), address, []byte(p.path), []byte("cert"), []byte("key"))
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
	list := func(files ...string) string { return strings.Join(files, string(filepath.ListSeparator)) }
	for name, tc := range map[string]struct {
		flags, env, kubeconfig string
		want                   testPlane
	}{
		"nothing":                              {want: main},
		"KUBECONFIG":                           {kubeconfig: grow.kubeconfig, want: grow},
		"KUBECONFIG of the default one":        {kubeconfig: main.kubeconfig, want: main},
		"KUBECONFIG of a folder elsewhere":     {kubeconfig: elsewhere.kubeconfig, want: elsewhere},
		"KUBECONFIG relative":                  {kubeconfig: filepath.Join("mine", "kubeconfig"), want: elsewhere},
		"KUBECONFIG of a test":                 {kubeconfig: tested.kubeconfig, want: tested},
		"KUBECONFIG copied":                    {kubeconfig: grow.copyKubeconfig(t, as), want: grow},
		"KUBECONFIG of several, the first":     {kubeconfig: list(grow.kubeconfig, foreign), want: grow},
		"KUBECONFIG of several, the second":    {kubeconfig: list(grow.copyKubeconfig(t, otherContext), elsewhere.kubeconfig), want: elsewhere},
		"KUBECONFIG of several, one missing":   {kubeconfig: list("", "missing", grow.kubeconfig), want: grow},
		"KUBECONFIG without a current context": {kubeconfig: grow.copyKubeconfig(t, otherContext), want: main},
		"KUBECONFIG of several, foreign first": {kubeconfig: list(foreign, grow.kubeconfig), want: main},
		"KUBECONFIG foreign":                   {kubeconfig: foreign, want: main},
		"KUBECONFIG missing":                   {kubeconfig: state("gone") + "/kubeconfig", want: main},
		"KUBECONFIG not a kubeconfig":          {kubeconfig: grow.path + "/state.json", want: main},
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
	require(grow.kubeconfig, false, start, true)
	require(grow.kubeconfig, true, start, true)
	makePlane(t, state("other"), "other", false)
	require(grow.kubeconfig, true, start+", --name other", true)

	main.stop(t)
	require(main.kubeconfig, false, `KUBECONFIG: control plane "default" is not running: start it with "ctrlplane up", or choose another one: --name other`, true)
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
	if _, name, err := newTestTarget(t).snapshots(); name != "grow" || err != nil {
		t.Errorf("snapshots to save: of %q, %v", name, err)
	}
	const want = `start it with "ctrlplane --name grow up", or choose another one: --name default, and to change the stopped one use --name grow`
	if _, name, err := newTestTarget(t).toChange().snapshots(); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("snapshots to restore: of %q, %v", name, err)
	}
	if _, name, err := newTestTarget(t, "--name=grow").toChange().snapshots(); name != "grow" || err != nil {
		t.Errorf("named: of %q, %v", name, err)
	}
}

// TestNameSelectsForUpAndDown has a KUBECONFIG of another control plane than the default one, which verbs that start and
// manage control planes by their name do not use; what they suggest names the default one.
func TestNameSelectsForUpAndDown(t *testing.T) {
	h := enterHome(t)
	state := func(name string) string { return filepath.Join(string(h), "state", "ctrlplane", name) }
	grow, main := makePlane(t, state("grow"), "grow", false), state("default")
	for kubeconfig, want := range map[string]string{grow.kubeconfig: "ctrlplane --name default kubectl", "": "ctrlplane kubectl"} {
		t.Setenv("KUBECONFIG", kubeconfig)
		u := &upCommand{target: newTestTarget(t)}
		if path, err := u.target.dataDirPath(); path != main || err != nil {
			t.Errorf("KUBECONFIG %q: got %s, %v, want %s", kubeconfig, path, err, main)
		}
		if got := u.servedTarget().commandLine("kubectl"); got != want {
			t.Errorf("KUBECONFIG %q: got %q, want %q", kubeconfig, got, want)
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
