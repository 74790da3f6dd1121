//go:build unix

// Package docs_test runs the commands of README.md and docs/, as they stand there. A
// block that cannot be run has a comment in front of it with the reason.
package docs_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/internal/testutil/snippets"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

const root = "../.."

// elsewhere are pages whose commands other tests run.
var elsewhere = map[string]string{
	"growing.md": "tools/growing, by make growing: it needs upstream's programs",
	"install.md": "test/action, by make snapshot-release: it needs the archives of a release",
}

const createWeb = `kubectl create deployment web --image=nginx --replicas=3 >/dev/null && kubectl rollout status deployment web --timeout=5m >/dev/null
`

// writeGolden writes the golden file of docs/snapshots.md: the same commands as those of the page, which have to work twice.
const writeGolden = `mkdir testdata
ctrlplane run -- sh -ec 'ctrlplane wait -q settled --timeout 5m; ctrlplane snapshot save "$CTRLPLANE_DATA_DIR/empty.snapshot"
  kubectl apply -f manifests/; ctrlplane wait -q -f manifests/ --timeout 5m; ctrlplane wait -q settled --timeout 5m
  ctrlplane snapshot diff "$CTRLPLANE_DATA_DIR/empty.snapshot" --golden testdata/manifests.golden.yaml --update'
`

// setup is what a page takes for granted. Every page starts with a control plane in the
// state after its start.
var setup = map[string]string{
	"ci.md":            "kubectl create namespace demo >/dev/null && kubectl apply -f manifests/ >/dev/null && kubectl -n demo create deployment web --image=nginx >/dev/null\n",
	"http.md":          createWeb,
	"interventions.md": createWeb,
	"pods.md":          "kubectl run web --image=nginx >/dev/null\n",
	"snapshots.md":     writeGolden,
	"tracing.md":       createWeb + "kubectl create deployment shop --image=nginx >/dev/null\n" + `kubectl run big --image=nginx --overrides '{"spec":{"nodeSelector":{"disk":"ssd"}}}' >/dev/null` + "\n",
	"operators.md":     "kubectl create deployment shop --image=nginx >/dev/null\n",
}

// before and after are what happens around a command, by page and command.
var before, after = map[[2]string]string{
	{"interventions.md", "ctrlplane controllers held replicaset"}: "kubectl scale deployment web --replicas=9 >/dev/null\n",
}, map[[2]string]string{
	{"snapshots.md", "ctrlplane up -d --name other --from base"}: "ctrlplane --name other down\n",
}

// settle is the time that a reader takes.
const settle = "ctrlplane wait -q settled --timeout 5m\n"

// podName matches the name of a Pod in an example, which is another one in each run.
var podName = regexp.MustCompile(`pod/web-[a-z0-9]+-[a-z0-9]{5}\b`)

// pages returns the blocks by page.
func pages(t *testing.T) map[string][]snippets.Block {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]snippets.Block{}
	for _, file := range append(files, filepath.Join(root, "README.md")) {
		blocks, err := snippets.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = blocks
	}
	return all
}

// newWorkspace returns the folder in which the commands run.
func newWorkspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"bin/kubectl": "#!/bin/sh\nexec \"" + program.Path() + "\" kubectl \"$@\"\n",
		// The tests of the reader: what is run here is that they find the control plane.
		"bin/go": "#!/bin/sh\ntest \"$1\" = test && kubectl get namespace default -o name\n",
		// The charts of the reader: what is run here is what surrounds them.
		"bin/helm":                       "#!/bin/sh\nif test \"$1\" = template; then cat manifests/web.yaml; else kubectl get namespace default -o name; fi\n",
		"overlays/ci/kustomization.yaml": "configMapGenerator: [{name: app, literals: [mode=ci]}]\n",
		"manifests/web.yaml":             "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\nspec:\n  selector: {matchLabels: {app: app}}\n  template:\n    metadata: {labels: {app: app}}\n    spec: {containers: [{name: c, image: c}]}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"bin/ctrlplane": program.Path(), "examples": filepath.Join(root, "examples")} {
		abs, err := filepath.Abs(to)
		if err == nil {
			err = os.Symlink(abs, filepath.Join(dir, link))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// script is the shell script of a page.
func script(page string, blocks []snippets.Block) (text string, commands int) {
	text = "exec 2>&1\nset -euo pipefail\n" + setup[page] // one stream: each message stays with its command
	for _, b := range blocks {
		if b.NotRun != "" {
			continue
		}
		text += applyObject(b)
		for _, c := range b.Commands {
			at := [2]string{page, c}
			text += settleBefore(c) + before[at] + podName.ReplaceAllString(c, `"$(kubectl get pods -l app=web -o name | head -n 1)"`) + "\n" + after[at]
			commands++
		}
	}
	return text, commands
}

// applyObject applies what a block in YAML shows: an object, or metadata for the Pod web.
func applyObject(b snippets.Block) string {
	command := ""
	switch {
	case b.Language == "yaml" && strings.HasPrefix(b.Text, "apiVersion: "):
		command = "kubectl apply -f -"
	case b.Language == "yaml" && strings.HasPrefix(b.Text, "metadata:\n"):
		command = "kubectl patch pod web --patch-file /dev/stdin"
	default:
		return ""
	}
	return command + " <<'END' >/dev/null\n" + b.Text + "END\n"
}

// settleBefore returns what to wait for before a command that shows what controllers did
// after the one before it.
func settleBefore(command string) string {
	if strings.Contains(command, "controllers ") || strings.Contains(command, "clients ") {
		return "" // a paused controller does not settle
	}
	return settle
}

// planes is how many control planes run pages at the same time. They mostly wait.
const planes = 4

func TestCommandsOfThePages(t *testing.T) {
	t.Parallel()
	all := pages(t)
	free := make(chan string, planes) // their data folders
	for range planes {
		data := filepath.Join(t.TempDir(), "data")
		program.Up(t, data)
		program.WaitSettled(t, data)
		free <- data
	}
	for _, page := range slices.Sorted(maps.Keys(all)) {
		if elsewhere[page] != "" {
			continue
		}
		text, commands := script(page, all[page])
		if commands == 0 {
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			data, dir := <-free, newWorkspace(t)
			defer func() { free <- data }()
			cmd := program.Command(t)
			cmd.Path, cmd.Args, cmd.Dir = "/bin/bash", []string{"bash", "-xc", text}, dir
			cmd.Env = append(cmd.Env, "CTRLPLANE_DATA_DIR="+data, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
			if bash, err := exec.LookPath("bash"); err == nil {
				cmd.Path = bash
			}
			if out, _, code := program.Run(t, cmd); code != 0 {
				t.Errorf("exit code %d:\n%s", code, out)
			}
			program.MustRun(t, data, "reset")
		})
	}
}

// TestReasons checks that what is not run has a reason that a reader understands.
func TestReasons(t *testing.T) {
	t.Parallel()
	run, skipped := 0, 0
	used := map[[2]string]bool{}
	for page, blocks := range pages(t) {
		for _, b := range blocks {
			for _, c := range b.Commands {
				used[[2]string{page, c}] = true
			}
			if b.NotRun == "" {
				run += len(b.Commands)
				continue
			}
			skipped += max(len(b.Commands), 1)
			if len(b.NotRun) < 15 {
				t.Errorf("%s: the reason %q is too short", b, b.NotRun)
			}
		}
		if page == "growing.md" && slices.ContainsFunc(blocks, func(b snippets.Block) bool { return b.NotRun != "" }) {
			t.Errorf("%s: a block is not run", page)
		}
	}
	for _, around := range []map[[2]string]string{before, after} {
		for at := range around {
			if !used[at] {
				t.Errorf("%s does not contain the command %q any more", at[0], at[1])
			}
		}
	}
	t.Logf("%d commands are run, %d are not", run, skipped)
	if skipped*2 > run {
		t.Errorf("%d of %d commands are not run", skipped, run+skipped)
	}
}
