package main

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestVersionLDFlags(t *testing.T) {
	got := versionLDFlags("v1.37.1")
	for _, want := range []string{
		"-s -w ",
		"-X k8s.io/component-base/version.gitVersion=v1.37.1",
		"-X k8s.io/component-base/version.gitMajor=1",
		"-X k8s.io/client-go/pkg/version.gitMinor=37",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

func TestIsBuiltFrom(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "none")
	for _, tt := range []struct {
		path, version string
		want          bool
	}{
		{self, info.Main.Version, true},
		{self, "v0.0.1-other", false},
		{none, "v1", false},
	} {
		got, err := isBuiltFrom(tt.path, tt.version)
		if got != tt.want || err != nil {
			t.Errorf("%s, %s: got %v, %v, want %v", tt.path, tt.version, got, err, tt.want)
		}
	}
	testutil.WriteFile(t, none, "no binary")
	if _, err := isBuiltFrom(none, "v1"); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("of a text file: got %v, want advice to remove it", err)
	}
}

func TestRunGoError(t *testing.T) {
	_, err := runGo(t.Context(), nil, "build", "./no/such/package")
	if err == nil || !strings.Contains(err.Error(), "no/such/package") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

// The bench must build fast and measure the server as a client.
func TestBenchDoesNotLinkServer(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		for _, server := range []string{"k8s.io/kubernetes/", "k8s.io/apiserver/", "go.etcd.io/etcd/server/"} {
			if strings.HasPrefix(dep, server) {
				t.Errorf("links %s", dep)
			}
		}
	}
}
