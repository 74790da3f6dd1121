//go:build unix

package action_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/snippets"
)

// release is the folder dist/ after "make snapshot-release".
type release struct {
	dir, version string
	releases     string // the URL under which it is served
}

func newRelease(t *testing.T) release {
	t.Helper()
	dir := os.Getenv("RELEASE")
	if dir == "" {
		t.Skip(`needs a release: "make snapshot-release" runs it`)
	}
	text := testutil.ReadFile(t, filepath.Join(dir, "metadata.json"))
	var metadata struct{ Version string }
	if err := json.Unmarshal([]byte(text), &metadata); err != nil || metadata.Version == "" {
		t.Fatalf("metadata.json: %s, %v", text, err)
	}
	r := release{dir: dir, version: "v" + metadata.Version}
	path := "/releases/download/" + r.version + "/"
	mux := http.NewServeMux()
	mux.Handle(path, http.StripPrefix(path, http.FileServer(http.Dir(dir))))
	mux.Handle("/releases/latest", http.RedirectHandler("/releases/tag/"+r.version, http.StatusFound))
	mux.HandleFunc("/releases/tag/", func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	r.releases = server.URL + "/releases"
	return r
}

// TestReleaseAction does what the steps of action.yml do, with the files of a release.
func TestReleaseAction(t *testing.T) {
	r := newRelease(t)
	work := t.TempDir()
	in := func(name string) string { return filepath.Join(work, name) }
	env := []string{"RELEASES=" + r.releases, "ARCHIVE_CACHE=" + in("cache"), "GITHUB_PATH=" + in("path")}
	want := "version=" + r.version + "\narchive=" + r.archive(runtime.GOOS, runtime.GOARCH, "tar.xz") + "\n"
	if out, code := runScript(t, "install.sh", env, "--resolve"); code != 0 || out != want {
		t.Fatalf("--resolve: exit code %d: %s, want %s", code, out, want)
	}
	for range 2 { // the second time from the cache
		if out, code := runScript(t, "install.sh", append(env, "VERSION="+r.version), in("bin")); code != 0 {
			t.Fatalf("install.sh: exit code %d: %s", code, out)
		}
	}
	for _, step := range []struct {
		command string
		code    int
		summary string
	}{
		{"ctrlplane kubectl get deployment web -o name", 0, "passed"},
		{"exit 7", 7, "exit code 7"},
	} {
		summary, report := in(fmt.Sprint("summary", step.code)), in(fmt.Sprint("report", step.code))
		out, code := runScript(t, "run.sh", []string{
			"PATH=" + in("bin") + ":" + os.Getenv("PATH"), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + summary, "COMMAND=" + step.command,
			"FLAGS=--manifests=" + filepath.Join(root, "examples", "smoke") + "\n--settle\n--healthy", "REPORT=" + report,
		})
		if code != step.code {
			t.Errorf("%s: exit code %d: %s", step.command, code, out)
		}
		for _, name := range []string{"report.html", "junit.xml", "output.log"} {
			if info, err := os.Stat(filepath.Join(report, name)); err != nil || info.Size() == 0 && name != "output.log" {
				t.Errorf("%s: %s: %v", step.command, name, err)
			}
		}
		if text, err := os.ReadFile(summary); err != nil || !strings.Contains(string(text), step.summary) {
			t.Errorf("%s: the job summary is %q, %v, want %q", step.command, text, err, step.summary)
		}
	}
}

func (r release) archive(goos, goarch, suffix string) string {
	return fmt.Sprintf("ctrlplane_%s_%s_%s.%s", strings.TrimPrefix(r.version, "v"), goos, goarch, suffix)
}

// TestReleaseDocumentation follows docs/install.md in a folder with nothing but the files
// of a release, with an empty home folder and without Go.
func TestReleaseDocumentation(t *testing.T) {
	r := newRelease(t)
	blocks, err := snippets.Read(filepath.Join(root, "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	script := "set -euo pipefail\n"
	for _, b := range blocks {
		if b.NotRun == "" {
			script += strings.Join(b.Commands, "\n") + "\n"
		}
	}
	script = strings.ReplaceAll(script, "amd64", runtime.GOARCH)
	work := t.TempDir()
	for _, name := range []string{"checksums.txt", r.archive("linux", runtime.GOARCH, "tar.xz")} {
		if err := os.Symlink(filepath.Join(r.dir, name), filepath.Join(work, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-xc", script)
	cmd.Dir = work
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Count(out, []byte("Running")) < 3 {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("from the archive to three green smoke tests: %v", time.Since(began).Round(time.Second))
}
