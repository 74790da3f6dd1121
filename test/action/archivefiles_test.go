//go:build unix

package action_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

type fileInfo struct{ MTime string }

// releaseConfig is what the tests read of goreleaser.yaml.
type releaseConfig struct {
	Archives []struct {
		Files []struct {
			Src  string
			Info fileInfo
		}
	}
	Nfpms []struct {
		MTime    string
		RPM      struct{ BuildHost string }
		Contents []struct {
			Src  string
			Info fileInfo `json:"file_info"`
		}
	}
	SBOMs []struct{ Args []string }
}

func readConfig(t *testing.T) (config releaseConfig) {
	t.Helper()
	text := testutil.ReadFile(t, filepath.Join(root, "goreleaser.yaml"))
	if err := yaml.Unmarshal([]byte(text), &config); err != nil || len(config.Archives) != 1 || len(config.Nfpms) != 1 || len(config.SBOMs) != 1 {
		t.Fatalf("%+v, %v", config, err)
	}
	return config
}

// TestReleaseTimes checks that a repeated release has the same checksums: its files have the
// time of the commit, or none.
func TestReleaseTimes(t *testing.T) {
	config := readConfig(t)
	times := map[string]string{"packages": config.Nfpms[0].MTime}
	for _, f := range config.Archives[0].Files {
		times[f.Src+" of archives"] = f.Info.MTime
	}
	for _, f := range config.Nfpms[0].Contents {
		times[f.Src+" of packages"] = f.Info.MTime
	}
	for of, got := range times {
		if got != "{{ .CommitDate }}" {
			t.Errorf("%s: the time is %q", of, got)
		}
	}
	if config.Nfpms[0].RPM.BuildHost == "" {
		t.Error("RPM packages name the machine that has built them")
	}
	for _, flag := range []string{"-noserial", "-notimestamp"} {
		if !slices.Contains(config.SBOMs[0].Args, flag) {
			t.Errorf("bills of materials are written without %s", flag)
		}
	}
}

// archiveFiles expands the patterns of goreleaser.yaml, without what is built for a release.
func archiveFiles(t *testing.T) (files []string) {
	t.Helper()
	for _, f := range readConfig(t).Archives[0].Files {
		paths, err := filepath.Glob(filepath.Join(root, f.Src))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, filepath.ToSlash(name))
		}
	}
	return files
}

var relativeLink = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^):]*)?\)`)

// TestArchiveFiles checks that what an archive contains can be used there: the links of its
// README lead to a file, and no Go module needs others of the repository.
func TestArchiveFiles(t *testing.T) {
	files := archiveFiles(t)
	readme := testutil.ReadFile(t, filepath.Join(root, "README.md"))
	links := relativeLink.FindAllStringSubmatch(readme, -1)
	if len(links) < 20 {
		t.Errorf("README.md has %d links: are they found?", len(links))
	}
	for _, link := range links {
		if !slices.Contains(files, link[1]) {
			t.Errorf("README.md links to %s, which archives do not contain", link[1])
		}
	}
	for _, name := range files {
		if filepath.Base(name) == "go.mod" || filepath.Ext(name) == ".go" {
			t.Errorf("archives contain %s, which cannot be built there", name)
		}
	}
}
