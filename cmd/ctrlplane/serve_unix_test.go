//go:build unix

package main

import (
	"os"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// TestMergeNeedsAUsualFile has a kubeconfig that the merge would fail for after the start, or never end.
func TestMergeNeedsAUsualFile(t *testing.T) {
	h := enterHome(t)
	if err := syscall.Mkfifo("fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", "fifo")
	h.requireFailure(t, []string{"up", "--ephemeral", "--merge-kubeconfig"}, 1, "kubeconfig fifo is a pipe or a device")
	t.Setenv("KUBECONFIG", "")
	defer func(was string) { clientcmd.RecommendedHomeFile = was }(clientcmd.RecommendedHomeFile)
	clientcmd.RecommendedHomeFile = ".kube/config" // as client-go sets it without HOME
	h.requireFailure(t, []string{"up", "--ephemeral", "--merge-kubeconfig"}, 1, "HOME is not set: set it, or KUBECONFIG to a file")
	if _, err := os.Stat(".kube"); err == nil {
		t.Error("there is a folder .kube")
	}
}
