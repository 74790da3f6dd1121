//go:build unix

// Package action_test runs the scripts of action.yml against the files of a release that
// a test serves.
package action_test

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

const (
	root    = "../.."
	version = "v9.8.7"
	archive = "ctrlplane_9.8.7_linux_amd64.tar.xz"
)

// fakeProgram prints its arguments, one per line.
const fakeProgram = "#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit ${FAKE_EXIT:-0}\n"

// releases serves the files of one release as GitHub does.
type releases struct {
	*httptest.Server
	dir string

	mu       sync.Mutex
	requests []string
}

func newReleases(t *testing.T) *releases {
	t.Helper()
	r := &releases{dir: t.TempDir()}
	mux := http.NewServeMux()
	mux.Handle("/releases/latest", http.RedirectHandler("/releases/tag/"+version, http.StatusFound))
	mux.HandleFunc("/releases/tag/", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("/releases/download/"+version+"/", http.StripPrefix("/releases/download/"+version+"/", http.FileServer(http.Dir(r.dir))))
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.requests = append(r.requests, filepath.Base(req.URL.Path))
		r.mu.Unlock()
		mux.ServeHTTP(w, req)
	}))
	t.Cleanup(r.Close)
	folder := filepath.Join(t.TempDir(), strings.TrimSuffix(archive, ".tar.xz"))
	writeFile(t, filepath.Join(folder, "ctrlplane"), fakeProgram)
	if out, err := exec.Command("tar", "-cJf", filepath.Join(r.dir, archive), "-C", filepath.Dir(folder), filepath.Base(folder)).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	r.writeChecksums(t, archive)
	return r
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// writeChecksums writes checksums.txt with the checksum of the archive under a name.
func (r *releases) writeChecksums(t *testing.T, name string) {
	t.Helper()
	data := testutil.ReadFile(t, filepath.Join(r.dir, archive))
	writeFile(t, filepath.Join(r.dir, "checksums.txt"), fmt.Sprintf("%064d  other-%s\n%x  %s\n", 0, archive, sha256.Sum256([]byte(data)), name))
}

func (r *releases) downloads() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.requests, " ")
}

// runScript runs a script with variables and returns its output.
func runScript(t *testing.T, script string, env []string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{filepath.Join(root, "examples", "ci", script)}, args...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}, env...)
	data, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(data), cmd.ProcessState.ExitCode()
}

func (r *releases) env(more ...string) []string {
	return append([]string{"RELEASES=" + r.URL + "/releases", "RUNNER_OS=Linux", "RUNNER_ARCH=X64"}, more...)
}

func TestInstall(t *testing.T) {
	r := newReleases(t)
	if out, code := runScript(t, "install.sh", r.env(), "--resolve"); code != 0 || out != "version="+version+"\narchive="+archive+"\n" {
		t.Errorf("--resolve: exit code %d: %s", code, out)
	}
	cache, paths := t.TempDir(), filepath.Join(t.TempDir(), "path")
	for _, wantArchive := range []bool{true, false} {
		before := r.downloads()
		target := filepath.Join(t.TempDir(), "a b", "bin")
		out, code := runScript(t, "install.sh", r.env("VERSION="+version, "ARCHIVE_CACHE="+cache, "GITHUB_PATH="+paths), target)
		if code != 0 || out != fmt.Sprintf("ctrlplane %s is in %s\n", version, target) {
			t.Fatalf("exit code %d: %s", code, out)
		}
		if data, err := os.ReadFile(filepath.Join(target, "ctrlplane")); err != nil || string(data) != fakeProgram {
			t.Errorf("installed %q, %v", data, err)
		}
		if data, err := os.ReadFile(paths); err != nil || !strings.HasSuffix(string(data), target+"\n") {
			t.Errorf("GITHUB_PATH has %q, %v", data, err)
		}
		if got := strings.Contains(strings.TrimPrefix(r.downloads(), before), archive); got != wantArchive {
			t.Errorf("the archive was downloaded: %v, want %v: %s", got, wantArchive, r.downloads())
		}
	}
	// What is cached is verified, too, and replaced: a job that was aborted may have left it.
	for _, cached := range []string{"not what was released", ""} {
		writeFile(t, filepath.Join(cache, archive), cached)
		before, target := r.downloads(), filepath.Join(t.TempDir(), "bin")
		out, code := runScript(t, "install.sh", r.env("VERSION="+version, "ARCHIVE_CACHE="+cache), target)
		if code != 0 || !strings.Contains(out, "the cached archive is downloaded again: "+archive+" has the checksum") {
			t.Errorf("exit code %d: %s", code, out)
		}
		if got := strings.TrimPrefix(r.downloads(), before); !strings.Contains(got, archive) {
			t.Errorf("the archive was not downloaded: %s", got)
		}
		if data, err := os.ReadFile(filepath.Join(target, "ctrlplane")); err != nil || string(data) != fakeProgram {
			t.Errorf("installed %q, %v", data, err)
		}
		before = r.downloads()
		if out, code := runScript(t, "install.sh", r.env("VERSION="+version, "ARCHIVE_CACHE="+cache), target); code != 0 {
			t.Errorf("exit code %d: %s", code, out)
		}
		if got := strings.TrimPrefix(r.downloads(), before); strings.Contains(got, archive) {
			t.Errorf("the archive was downloaded once more: %s", got)
		}
	}
	if left, err := os.ReadDir(cache); err != nil || len(left) != 1 {
		t.Errorf("the cache has %v, %v", left, err)
	}
}

// requireRefused checks that nothing is installed, and why.
func requireRefused(t *testing.T, r *releases, says string, env ...string) {
	t.Helper()
	target := filepath.Join(t.TempDir(), "bin")
	out, code := runScript(t, "install.sh", r.env(env...), target)
	if code != 1 || !strings.Contains(out, says) || !strings.Contains(out, "install.sh: ") {
		t.Errorf("exit code %d, want 1 and %q: %s", code, says, out)
	}
	if _, err := os.Stat(target); err == nil {
		t.Errorf("something was installed although %s", says)
	}
}

func TestInstallIsRefused(t *testing.T) {
	r := newReleases(t)
	requireRefused(t, r, "is not a version", "VERSION=main")
	requireRefused(t, r, "cannot download", "VERSION=v0.0.1")
	requireRefused(t, r, "no release for SunOS", "VERSION="+version, "RUNNER_OS=SunOS")
	requireRefused(t, r, "cannot download", "VERSION="+version, "RUNNER_ARCH=ARM64") // not in this release
	writeFile(t, filepath.Join(r.dir, archive), "something else")
	requireRefused(t, r, "checksums.txt says", "VERSION="+version)
	r.writeChecksums(t, "another.tar.xz")
	requireRefused(t, r, "is not in checksums.txt", "VERSION="+version)
	r.writeChecksums(t, archive)
	requireRefused(t, r, "cannot unpack", "VERSION="+version)
}

func TestRunScript(t *testing.T) {
	bin := t.TempDir()
	writeFile(t, filepath.Join(bin, "ctrlplane"), fakeProgram)
	env := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "COMMAND=echo 'a b'\nmake test", "FLAGS=--settle\n\n--manifests=a b/\r\n", "REPORT=out dir"}
	out, code := runScript(t, "run.sh", append(env, "FAKE_EXIT=123"))
	want := "run\n--settle\n--manifests=a b/\n--report=out dir\n--\nbash\n-euo\npipefail\n-c\necho 'a b'\nmake test\n"
	if code != 123 || out != want {
		t.Errorf("exit code %d:\n%s\nwant:\n%s", code, out, want)
	}
	if out, code := runScript(t, "run.sh", []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "COMMAND=true"}); code != 0 || !strings.HasPrefix(out, "run\n--\n") {
		t.Errorf("without flags: exit code %d: %s", code, out)
	}
	if out, code := runScript(t, "run.sh", nil); code != 2 || !strings.Contains(out, "COMMAND is empty") {
		t.Errorf("without a command: exit code %d: %s", code, out)
	}
}

// action is what action.yml has.
type action struct {
	Inputs map[string]struct{ Description string }
	Runs   struct {
		Steps []struct{ Run, Shell, Uses string }
	}
}

func readAction(t *testing.T) (text string, a action) {
	t.Helper()
	text = testutil.ReadFile(t, filepath.Join(root, "action.yml"))
	if err := yaml.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	return text, a
}

// TestCanceledJob ends the step that runs the command as a runner of GitHub does: only the shell of the step receives the
// signal. ctrlplane must hear of it, to write its report.
func TestCanceledJob(t *testing.T) {
	_, action := readAction(t)
	i := slices.IndexFunc(action.Runs.Steps, func(s struct{ Run, Shell, Uses string }) bool { return strings.Contains(s.Run, "/run.sh") })
	if i < 0 {
		t.Fatal("no step runs run.sh")
	}
	bin, step := t.TempDir(), filepath.Join(t.TempDir(), "step.sh")
	writeFile(t, filepath.Join(bin, "ctrlplane"), "#!/bin/sh\ntrap 'exit 130' TERM\necho started\nwhile :; do sleep 0.05; done\n")
	writeFile(t, step, action.Runs.Steps[i].Run)
	path, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", step)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "GITHUB_ACTION_PATH="+path, "COMMAND=true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "started\n" {
		t.Fatalf("%q: %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("%v: the signal has not reached ctrlplane", err)
	}
}

// TestActionUsesItsInputs reads action.yml: every input is used, every file exists, and
// inputs never become part of a script.
func TestActionUsesItsInputs(t *testing.T) {
	text, action := readAction(t)
	if len(action.Inputs) < 5 || len(action.Runs.Steps) < 5 {
		t.Fatalf("%d inputs and %d steps: is the file read?", len(action.Inputs), len(action.Runs.Steps))
	}
	for name, input := range action.Inputs {
		if !strings.Contains(text, "inputs."+name) || input.Description == "" {
			t.Errorf("input %s is not used or not described", name)
		}
	}
	for _, step := range action.Runs.Steps {
		if strings.Contains(step.Run, "${{") || step.Run != "" && step.Shell != "bash" {
			t.Errorf("step %q: pass values as variables, and name the shell", step.Run)
		}
		for _, m := range regexp.MustCompile(`\$GITHUB_ACTION_PATH/([\w./-]+)`).FindAllStringSubmatch(step.Run, -1) {
			if info, err := os.Stat(filepath.Join(root, m[1])); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s is not an executable file: %v", m[1], err)
			}
		}
	}
}

// TestTemplates reads the templates for other services, and runs the Makefile's.
func TestTemplates(t *testing.T) {
	for _, name := range []string{"github.yml", "gitlab.yml"} {
		text := testutil.ReadFile(t, filepath.Join(root, "examples", "ci", name))
		var document map[string]any
		if err := yaml.Unmarshal([]byte(text), &document); err != nil || len(document) < 3 {
			t.Errorf("%s: %v: %v", name, document, err)
		}
	}
	bin := filepath.Join(t.TempDir(), "ctrlplane")
	writeFile(t, bin, fakeProgram)
	cmd := exec.CommandContext(t.Context(), "make", "-s", "-f", filepath.Join(root, "examples", "ci", "Makefile"), "smoke", "CTRLPLANE="+bin, "SMOKE_COMMAND=true")
	cmd.Env = append(os.Environ(), "MAKEFLAGS=") // those of the make that runs the tests
	out, err := cmd.CombinedOutput()
	if want := "run\n--report=ctrlplane-report\n--manifests=config/\n--settle\n--healthy\n--no-hot-loop\n--\ntrue\n"; err != nil || string(out) != want {
		t.Errorf("make smoke: %v: %s", err, out)
	}
}
