// Package containers_test checks the snippets of docs/install.md that are for container
// engines, with the engines' own libraries. It is a module of its own, so that these weigh
// on nothing else. No container is started.
package containers_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	// The snippet imports them; here they are for go.mod.
	_ "github.com/testcontainers/testcontainers-go"
	_ "k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/testutil/snippets"
)

const image = "ghcr.io/ctrlplane/ctrlplane"

// block returns the only block of docs/install.md in a language.
func block(t *testing.T, language string) string {
	t.Helper()
	blocks, err := snippets.Read(filepath.Join("..", "..", "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks = slices.DeleteFunc(blocks, func(b snippets.Block) bool { return b.Language != language })
	if len(blocks) != 1 {
		t.Fatalf("docs/install.md has %d blocks in %s, want one", len(blocks), language)
	}
	return blocks[0].Text
}

// TestCompose loads the compose file as docker compose does, which knows every field.
func TestCompose(t *testing.T) {
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  t.TempDir(),
		ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: []byte(block(t, "yaml"))}},
	}, func(o *loader.Options) { o.SetProjectName("test", true) })
	if err != nil {
		t.Fatal(err)
	}
	s := project.Services["ctrlplane"]
	if s.Image != image || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || s.HealthCheck == nil {
		t.Errorf("the service is %+v", s)
	}
	if len(s.Ports) != 1 || s.Ports[0].HostIP != "127.0.0.1" || s.Ports[0].Target != 6443 {
		t.Errorf("the ports are %+v", s.Ports)
	}
	if len(s.Volumes) != 1 || s.Volumes[0].Type != types.VolumeTypeVolume || s.Volumes[0].Target != "/data" {
		t.Errorf("the volumes are %+v", s.Volumes)
	}
}

const testcontainersProgram = `package snippet

import (
	"context"
	"io"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/exec"
	"github.com/testcontainers/testcontainers-go/wait"
	"k8s.io/client-go/tools/clientcmd"
)

func snippet(ctx context.Context) error {
SNIPPET	return err
}
`

// TestTestcontainers compiles the snippet in Go.
func TestTestcontainers(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snippet.go")
	if err := os.WriteFile(file, []byte(strings.Replace(testcontainersProgram, "SNIPPET", block(t, "go"), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(here, "snippet", "snippet.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlayFile, "./snippet").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
