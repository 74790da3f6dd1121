//go:build unix

package action_test

import (
	"archive/zip"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// maxArchive is what docs/install.md says of the size of archives and packages, in bytes.
var maxArchive = map[string]int64{"tar.xz": 45e6, "deb": 45e6, "rpm": 45e6, "zip": 50e6, "apk": 55e6}

// TestReleaseFiles looks at every file of a release: for each platform an archive and a
// bill of materials, packages for Linux, and what Homebrew and Scoop read.
func TestReleaseFiles(t *testing.T) {
	r := newRelease(t)
	sums := r.checksums(t)
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, goarch := range []string{"amd64", "arm64"} {
			suffix, program := "tar.xz", "ctrlplane"
			if goos == "windows" {
				suffix, program = "zip", "ctrlplane.exe"
			}
			archive := r.archive(goos, goarch, suffix)
			requireContents(t, archive, listArchive(t, filepath.Join(r.dir, archive)), program)
			files := []string{archive, r.archive(goos, goarch, "cdx.json")}
			if goos == "linux" {
				files = append(files, r.archive(goos, goarch, "deb"), r.archive(goos, goarch, "rpm"), r.archive(goos, goarch, "apk"))
			}
			for _, name := range files {
				r.requireFile(t, name, sums[name])
			}
			r.requireModules(t, files[1])
			r.requireFormula(t, goos, archive, sums[archive])
		}
	}
	if deb := r.archive("linux", "amd64", "deb"); program("dpkg-deb") {
		out, err := exec.Command("dpkg-deb", "--fsys-tarfile", filepath.Join(r.dir, deb)).Output()
		if err != nil {
			t.Fatal(err)
		}
		list := exec.Command("tar", "-t")
		list.Stdin = strings.NewReader(string(out))
		names, err := list.Output()
		for _, want := range []string{"usr/bin/ctrlplane\n", "doc/ctrlplane/LICENSE\n", "doc/ctrlplane/THIRD_PARTY_NOTICES\n", "man1/ctrlplane-up.1\n", "completions/ctrlplane\n", "site-functions/_ctrlplane\n", "vendor_completions.d/ctrlplane.fish\n"} {
			if err != nil || !strings.Contains(string(names), want) {
				t.Errorf("%s does not contain %s: %v", deb, want, err)
			}
		}
	}
}

func program(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// checksums returns checksums.txt by file name.
func (r release) checksums(t *testing.T) map[string]string {
	t.Helper()
	text := testutil.ReadFile(t, filepath.Join(r.dir, "checksums.txt"))
	sums := map[string]string{}
	for line := range strings.Lines(text) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			sums[name] = sum
		}
	}
	return sums
}

// requireFile checks the size and the checksum of a file.
func (r release) requireFile(t *testing.T, name, want string) {
	t.Helper()
	file, err := os.Open(filepath.Join(r.dir, name))
	if err != nil {
		t.Error(err)
		return
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, bufio.NewReaderSize(file, 1<<20))
	if got := hex.EncodeToString(sum.Sum(nil)); err != nil || got != want {
		t.Errorf("%s: checksum %s, checksums.txt says %q, %v", name, got, want, err)
	}
	t.Logf("%s: %.1f MB", name, float64(size)/1e6)
	for suffix, limit := range maxArchive {
		if strings.HasSuffix(name, suffix) && size > limit {
			t.Errorf("%s has %d bytes, want at most %d", name, size, limit)
		}
	}
}

// listArchive returns the names in an archive, without its folder.
func listArchive(t *testing.T, path string) (names []string) {
	t.Helper()
	if strings.HasSuffix(path, ".zip") {
		archive, err := zip.OpenReader(path)
		if err != nil {
			t.Error(err)
			return nil
		}
		defer archive.Close()
		for _, f := range archive.File {
			names = append(names, f.Name)
		}
	} else {
		out, err := exec.Command("tar", "-tf", path).Output()
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		names = strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	for i, name := range names {
		_, names[i], _ = strings.Cut(name, "/")
	}
	return names
}

func requireContents(t *testing.T, archive string, names []string, program string) {
	t.Helper()
	for _, want := range []string{
		program, "LICENSE", "THIRD_PARTY_NOTICES", "README.md", "CONTRIBUTING.md", "docs/install.md", "examples/smoke/web.yaml", "examples/ci/github.yml",
		"man/ctrlplane.1", "man/ctrlplane-up.1", "completion/ctrlplane.bash", "completion/ctrlplane.ps1",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s does not contain %s", archive, want)
		}
	}
}

// requireModules checks that a bill of materials is that of the program.
func (r release) requireModules(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		t.Error(err)
		return
	}
	var bill struct {
		Metadata struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(text, &bill); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	versions := map[string]string{}
	for _, c := range bill.Components {
		versions[c.Name] = c.Version
	}
	of := bill.Metadata.Component
	if of.Name != "github.com/ctrlplane/ctrlplane" || of.Version == "" || versions["k8s.io/kubernetes"] == "" || versions["go.etcd.io/etcd/server/v3"] == "" || len(versions) < 100 {
		t.Errorf("%s is about %+v and has %d modules", name, of, len(versions))
	}
}

// requireFormula checks that Homebrew's cask or Scoop's manifest names an archive with its
// checksum.
func (r release) requireFormula(t *testing.T, goos, archive, sum string) {
	t.Helper()
	path := map[string]string{"darwin": "homebrew/Casks/ctrlplane.rb", "linux": "homebrew/Casks/ctrlplane.rb", "windows": "scoop/ctrlplane.json"}[goos]
	text, err := os.ReadFile(filepath.Join(r.dir, path))
	if err != nil || sum == "" || !strings.Contains(string(text), sum) {
		t.Errorf("%s does not have the checksum %q of %s: %v", path, sum, archive, err)
	}
}
