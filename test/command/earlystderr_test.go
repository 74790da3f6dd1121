package command_test

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestEarlyStderrIsInitializedFirst checks the initialization order that
// cmd/ctrlplane/earlystderr relies on: before the package that prints to stderr.
func TestEarlyStderrIsInitializedFirst(t *testing.T) {
	cmd := program.Command(t, "version")
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	_, trace, _ := program.Run(t, cmd)
	guard := strings.Index(trace, "init github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr ")
	guarded := strings.Index(trace, "init k8s.io/apiserver/pkg/storage/storagebackend/factory ")
	if guard < 0 || guarded < 0 || guard > guarded {
		t.Errorf("earlystderr is initialized at %d of the trace, the etcd client's factory at %d", guard, guarded)
	}
}
