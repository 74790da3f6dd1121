//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

// A client of a control plane that was started again must not use connections to the one that was killed.
func TestClientsShareNoConnections(t *testing.T) {
	dir := t.TempDir()
	const kubeconfig = `{"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1","insecure-skip-tls-verify":true}}],"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`
	if err := os.WriteFile(filepath.Join(dir, "kubeconfig"), []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
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
