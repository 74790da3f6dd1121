//go:build unix

// Package growing_test runs the commands of docs/growing.md, with the programs of
// upstream that UPSTREAM names a folder of: see "make growing".
package growing_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/snippets"
)

const page = "../../docs/growing.md"

const app = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: c}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: c}]}
  volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {password: hunter2}
`

func freeURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestGrowing(t *testing.T) {
	upstream, program := os.Getenv("UPSTREAM"), os.Getenv("CTRLPLANE")
	if upstream == "" || program == "" {
		t.Skip("needs upstream's programs: run \"make growing\"")
	}
	blocks, err := snippets.Read(page)
	if err != nil {
		t.Fatal(err)
	}
	script := "set -euxo pipefail\n"
	for _, b := range blocks {
		if b.NotRun != "" {
			t.Errorf("%s is not run: %s", b, b.NotRun)
		}
		script += strings.Join(b.Commands, "\n") + "\n"
	}
	home := t.TempDir()
	testutil.WriteFile(t, filepath.Join(home, "app.yaml"), app)
	log, err := os.Create(filepath.Join(home, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home+"/state", "TMPDIR="+home,
		"PATH="+filepath.Dir(program)+":"+upstream+":"+os.Getenv("PATH"), "ETCD="+freeURL(t), "ETCD_PEER="+freeURL(t))
	err = cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // fails if nothing is left
	stop := exec.Command(program, "down", "--all")
	stop.Env = cmd.Env
	if out, stopErr := stop.CombinedOutput(); stopErr != nil {
		t.Errorf("down: %v: %s", stopErr, out)
	}
	if err == nil {
		return
	}
	text, readErr := os.ReadFile(log.Name())
	lines := strings.Split(string(text), "\n")
	t.Fatalf("%v, %v:\n%s", err, readErr, strings.Join(lines[max(len(lines)-60, 0):], "\n"))
}
