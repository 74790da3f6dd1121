//go:build unix

package kubeconfig

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// TestStreams names a pipe without a writer and a device without an end: neither may be read.
func TestStreams(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	regular := testutil.WriteFile(t, filepath.Join(dir, "config"), usersKubeconfig)
	for _, stream := range []string{pipe, "/dev/zero", "/dev/null"} {
		refused := []string{stream, regular + ":" + stream}
		if stream == "/dev/null" {
			refused = refused[:1] // kubectl reads it as an empty file
		}
		for _, list := range refused {
			t.Setenv("KUBECONFIG", list)
			_, err := Merge("a", sampleConfig("a"))
			wantError(t, err, "kubeconfig "+stream+" is a pipe or a device, not a regular file: name another file in KUBECONFIG")
		}
		t.Setenv("KUBECONFIG", stream+":"+regular)
		if err := Unmerge("a", sampleConfig("a")); err != nil {
			t.Errorf("unmerge: %v", err)
		}
	}
	t.Setenv("KUBECONFIG", regular+":/dev/null")
	if path, err := Merge("a", sampleConfig("a")); err != nil || path != regular {
		t.Errorf("with /dev/null in the list: %s, %v", path, err)
	}
}
