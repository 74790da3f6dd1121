//go:build unix

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

const goldenManifest = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: c}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: c, volumeMounts: [{name: d, mountPath: /data}]}]}
  volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`

// goldenScript compares what the manifests lead to with a golden file, and then again
// after a change.
const goldenScript = `set -e
"$0" wait -q settled --timeout 5m
"$0" snapshot save base >/dev/null
if test -n "$2"; then "$0" snapshot diff base --exit-code; fi
"$0" kubectl apply -f all.yaml >/dev/null
"$0" wait -q settled --timeout 5m
"$0" snapshot diff base --golden "$1" $2
if test -n "$2"; then
  if "$0" snapshot diff base --exit-code >/dev/null; then exit 31; fi
else
  cp "$1" before.yaml
  if (ulimit -f 1; "$0" snapshot diff base --golden "$1" --update) 2>/dev/null; then exit 33; fi
  cmp "$1" before.yaml
  "$0" kubectl -n shop annotate deployment web changed=yes >/dev/null
  if "$0" snapshot diff base --golden "$1" >changed.diff; then exit 32; fi
fi
`

// TestSnapshotDiffGolden does the same in two control planes, and then something else.
func TestSnapshotDiffGolden(t *testing.T) {
	t.Parallel()
	golden := filepath.Join(t.TempDir(), "golden.yaml")
	for _, update := range []string{"--update", ""} {
		cmd := newRunCommand(t, "--nodes=2", "--", "sh", "-c", goldenScript, program.Path(), golden, update)
		testutil.WriteFile(t, filepath.Join(cmd.Dir, "all.yaml"), goldenManifest)
		stdout, stderr, code := program.Run(t, cmd)
		if code != 0 || stdout != "" {
			t.Errorf("exit code %d, stdout %s: %s", code, stdout, stderr)
		}
		if update != "" {
			continue
		}
		diff, err := os.ReadFile(filepath.Join(cmd.Dir, "changed.diff"))
		if err != nil || !strings.Contains(string(diff), "+        changed: \"yes\"\n") || !strings.HasPrefix(string(diff), "--- "+golden+"\n+++ now\n") {
			t.Errorf("after a change: %s, %v", diff, err)
		}
	}
	text := testutil.ReadFile(t, golden)
	for _, want := range []string{"name: web-", "kind: StatefulSet", "clusterIP: '*'", "nodePort: '*'"} {
		if !strings.Contains(text, want) {
			t.Errorf("the golden file does not contain %q:\n%s", want, text)
		}
	}
}

// TestManifestSources gives one run objects in all ways.
func TestManifestSources(t *testing.T) {
	t.Parallel()
	config := func(name string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}}\n"
	}
	cmd := newRunCommand(t, "--nodes=0", "--no-scheduler", "--controllers=root-ca-certificate-publisher-controller", "-R", "-f", "tree", "-f", "-", "-k", "kust", "--", "sh", "-c",
		`"$0" wait -q -f tree/a/b/below.yaml && "$0" wait -q -k kust && "$0" wait -q -R -f tree &&
		 echo 'kind: ConfigMap
apiVersion: v1
metadata: {name: from-stdin}' | "$0" wait -q -f - && cat &&
		 "$0" kubectl wait --for=create configmap/kube-root-ca.crt --timeout=5m >/dev/null && "$0" kubectl get configmaps -o name`, program.Path())
	testutil.WriteFiles(t, cmd.Dir, map[string]string{
		"tree/a/b/below.yaml": config("below"), "tree/top.yaml": config("top"), "tree/a/note.txt": "no YAML: {",
		"kust/kustomization.yaml": "namePrefix: pre-\nresources: [c.yaml]\n", "kust/c.yaml": config("kustomized"),
	})
	cmd.Stdin = strings.NewReader(config("from-stdin"))
	stdout, stderr, code := program.Run(t, cmd)
	want := "configmap/below\nconfigmap/from-stdin\nconfigmap/kube-root-ca.crt\nconfigmap/pre-kustomized\nconfigmap/top\n"
	if code != 0 || stdout != want {
		t.Errorf("exit code %d, stdout %q, want %q: %s", code, stdout, want, stderr)
	}
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-f", "https://example.com/x.yaml", "--", "true"}, 2, "URLs are not fetched"},
		{[]string{"-k", "missing", "--", "true"}, 2, "has no kustomization.yaml"},
	} {
		program.RequireFailure(t, newRunCommand(t, tc.args...), tc.code, tc.says)
	}
}
