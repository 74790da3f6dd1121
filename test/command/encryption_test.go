package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestEncryptedStateNeedsItsKey checks that what is encrypted is neither restored nor started without
// its key, and that the error says so.
func TestEncryptedStateNeedsItsKey(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	withKey := k.encryptionFlag("secrets", "QUJDREVGR0hJSktMTU5PUA==")
	encrypted := k.startUp("--nodes=0", withKey)
	k.createSecret("encrypted")
	k.mustRun("snapshot", "save", "encrypted")

	other := k
	other.dir = filepath.Join(t.TempDir(), "data")
	plain := other.startUp("--nodes=0")
	other.createSecret("plain")
	other.mustRun("snapshot", "save", "plain")
	const cause = `1 stored value cannot be read: secrets default/encrypted is encrypted with key "k1" of provider "aesgcm"`
	const remedy = "start with --kube-apiserver-arg encryption-provider-config=FILE, where FILE has that key"
	program.RequireFailure(t, other.command("snapshot", "restore", "encrypted"), 2, "the snapshot is refused: "+cause, remedy)
	if !other.hasSecret("plain") {
		t.Error("the refused restore has changed the state")
	}

	k.mustRun("snapshot", "restore", "plain") // the configuration has the provider identity
	if !k.hasSecret("plain") || k.hasSecret("encrypted") {
		t.Error("a snapshot that is not encrypted was not restored")
	}
	k.mustRun("snapshot", "restore", "encrypted")
	if !k.hasSecret("encrypted") {
		t.Error("the snapshot was not restored where its key is")
	}
	plain.Stop(t, syscall.SIGTERM)
	encrypted.Stop(t, syscall.SIGTERM)

	program.RequireFailure(t, k.command("up", "--ui", "none", "--nodes=0"), 2, "the API server cannot become ready: "+cause, remedy)
	program.RequireFailure(t, k.command("up", "--ui", "none", "--nodes=0", k.encryptionFlag("secrets", "cXJzdHV2d3h5ejAxMjM0NQ==")), 2, cause)
	fresh := k
	fresh.dir = filepath.Join(t.TempDir(), "data")
	program.RequireFailure(t, fresh.command("up", "--ui", "none", "--from", "encrypted"), 2, "the snapshot is refused: "+cause, remedy)
	if _, err := os.Lstat(fresh.dir); !os.IsNotExist(err) {
		t.Errorf("the refused start has left its data folder: %v", err)
	}
	k.startUp("--nodes=0", withKey).Stop(t, syscall.SIGTERM)
}

// TestEncryptedRolesNeedTheirKey checks a start that fails for them before the API server waits for its informers.
func TestEncryptedRolesNeedTheirKey(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	k.startUp("--nodes=0", k.encryptionFlag("*.*", "QUJDREVGR0hJSktMTU5PUA==")).Stop(t, syscall.SIGTERM)
	program.RequireFailure(t, k.command("up", "--ui", "none", "--nodes=0"), 2, "the API server cannot become ready: ", " stored values cannot be read: the first, ", `key "k1" of provider "aesgcm"`)
}

// TestUnreadableValuesSurviveRestores checks a control plane without the key of values that its API server does not wait
// for: a reset, and a restore that leaves these values as they are, are not refused.
func TestUnreadableValuesSurviveRestores(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	k.startUp("--nodes=0", k.encryptionFlag("configmaps", "QUJDREVGR0hJSktMTU5PUA==")).Stop(t, syscall.SIGTERM)
	withoutKey := k.startUp("--nodes=0")
	k.mustRun("snapshot", "save", "own")
	for _, restore := range [][]string{{"reset"}, {"snapshot", "restore", "own"}} {
		k.createSecret("later")
		k.mustRun(restore...)
		if k.hasSecret("later") {
			t.Errorf("%v has not restored the state", restore)
		}
	}
	withoutKey.Stop(t, syscall.SIGTERM)
	requireText(t, withoutKey.Stderr.String(), "some kinds cannot be listed, and the controllers that need them wait: ", ` stored values cannot be read: the first, configmaps `, `key "k1" of provider "aesgcm"`)
}

// TestBareStartWithUnreadableJobs checks that a start does not wait for Jobs that no controller needs: they are only counted.
func TestBareStartWithUnreadableJobs(t *testing.T) {
	t.Parallel()
	k := newSnapshotFixture(t)
	withKey := k.startUp("--bare", k.encryptionFlag("jobs.batch", "QUJDREVGR0hJSktMTU5PUA=="))
	k.mustRun("kubectl", "create", "job", "x", "--image=y")
	withKey.Stop(t, syscall.SIGTERM)
	withoutKey := k.startUp("--bare")
	program.WaitSettled(t, k.dir)
	withoutKey.Stop(t, syscall.SIGTERM)
	if stderr := program.WithoutSlowStart(withoutKey.Stderr.String()); strings.Contains(stderr, "warning") {
		t.Errorf("stderr: %s", stderr)
	}
}

// encryptionFlag configures encryption with the key k1, which has 16 bytes in base64.
func (k snapshotFixture) encryptionFlag(resources, secret string) string {
	k.t.Helper()
	path := testutil.WriteFile(k.t, filepath.Join(k.t.TempDir(), "encryption.yaml"), fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources: [{resources: [%q], providers: [{aesgcm: {keys: [{name: k1, secret: %s}]}}, {identity: {}}]}]
`, resources, secret))
	return "--kube-apiserver-arg=encryption-provider-config=" + path
}

func (k snapshotFixture) createSecret(name string) {
	k.t.Helper()
	_, err := k.newClient().CoreV1().Secrets("default").Create(k.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k snapshotFixture) hasSecret(name string) bool {
	k.t.Helper()
	_, err := k.newClient().CoreV1().Secrets("default").Get(k.t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		k.t.Fatal(err)
	}
	return err == nil
}
