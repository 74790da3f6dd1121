package main

import (
	"archive/tar"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// fakeFiles writes a licence and a program for each platform, and returns the arguments that
// name them.
func fakeFiles(t *testing.T) []string {
	t.Helper()
	licence := testutil.WriteFile(t, filepath.Join(t.TempDir(), "LICENSE"), "license")
	args := []string{"-license", licence}
	for _, arch := range []string{"amd64", "arm64"} {
		path := filepath.Join(t.TempDir(), "ctrlplane")
		if err := os.WriteFile(path, []byte("program for "+arch), 0o755); err != nil {
			t.Fatal(err)
		}
		args = append(args, "linux/"+arch+"="+path)
	}
	return args
}

func TestLayout(t *testing.T) {
	folder := t.TempDir()
	if err := run(t.Context(), append([]string{"-o", folder, "-version", "1.2.3"}, fakeFiles(t)...), nil, nil); err != nil {
		t.Fatal(err)
	}
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("manifest %+v: %v", manifest, err)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	checkIndex(t, index)
}

func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/ctrlplane:1.2.3"
	if err := run(t.Context(), append([]string{"-push", reference, "-version", "1.2.3"}, fakeFiles(t)...), nil, nil); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	checkIndex(t, index)
}

// checkIndex checks the images of fakeFiles with version 1.2.3.
func checkIndex(t *testing.T, index v1.ImageIndex) {
	t.Helper()
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Fatalf("manifest %+v: %v", manifest, err)
	}
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil || config.Architecture != m.Platform.Architecture || config.Config.User != "65532:65532" ||
			config.Config.Labels["org.opencontainers.image.version"] != "1.2.3" {
			t.Errorf("config %+v: %v", config, err)
		}
		files := filesOf(t, image)
		if files["ctrlplane"] != "program for "+m.Platform.Architecture || files["licenses/LICENSE"] != "license" || len(files) != 4 {
			t.Errorf("files of %s: %q", m.Platform, files)
		}
	}
}

func filesOf(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers: %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	files := map[string]string{}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(text)
	}
}

func TestUsage(t *testing.T) {
	for args, want := range map[string]string{
		"":                             "one of -o and -push",
		"-o x":                         "at least one program",
		"-o x windows/amd64=ctrlplane": "want linux/ARCH=PATH",
		"-o x linux=ctrlplane":         "want linux/ARCH=PATH",
		"-o x linux/amd64=/not/there":  "at least one -license",
		"-o x -license image_test.go linux/amd64=/not/there": "/not/there",
		"-o x -license /not/there linux/amd64=image_test.go": "/not/there",
	} {
		if err := run(t.Context(), strings.Fields(args), nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
