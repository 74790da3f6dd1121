//go:build linux

package main

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// A client of a control plane that was started again must not use connections to the one that was killed.
func TestClientsShareNoConnections(t *testing.T) {
	dir := t.TempDir()
	const kubeconfig = `{"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1","insecure-skip-tls-verify":true}}],"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`
	testutil.WriteFile(t, filepath.Join(dir, "kubeconfig"), kubeconfig)
	seen := map[any]bool{}
	for range 2 {
		config, err := clientConfig(dir)
		if err != nil {
			t.Fatal(err)
		}
		transport, err := rest.TransportFor(config)
		if err != nil {
			t.Fatal(err)
		}
		seen[transport] = true
	}
	if len(seen) != 2 {
		t.Error("two clients have the same transport")
	}
}
