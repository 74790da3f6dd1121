package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/ui/learn"
)

// The command that shows a log names its namespace: the context of the kubeconfig may have any.
func TestCommandThatShowsALog(t *testing.T) {
	plane := &target{name: "demo"}
	for want, l := range map[string]health.ContainerLog{
		"--name demo kubectl logs web-1 -n default":        {Namespace: "default", Pod: "web-1"},
		"--name demo kubectl logs -p web-1 -c app -n shop": {Namespace: "shop", Pod: "web-1", Container: "app", Previous: true},
	} {
		if got := plane.describeLog(l); !strings.Contains(got, want+`" shows the container's log`) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// In the shell of a lesson, commands select its control plane and namespace.
func TestCommandsInALessonsShell(t *testing.T) {
	t.Setenv(learn.DataDirEnv, "/tmp/lesson")
	t.Setenv(learn.NamespaceEnv, "lesson-11")
	plane := &target{dataDir: "/tmp/lesson"}
	if got, want := plane.describeLog(health.ContainerLog{Namespace: "lesson-11", Pod: "seven", Container: "wait"}), `"kubectl logs seven -c wait" shows the container's log`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := plane.describeLog(health.ContainerLog{Namespace: "shop", Pod: "web"}), `"kubectl logs web -n shop" shows the container's log`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	o := newTraceFlags(plane)
	o.addFlags(&cobra.Command{})
	o.namespace = "lesson-11"
	if got, want := o.commandFor("why", []string{"pod/seven"}, "--changed"), "ctrlplane why pod/seven --changed"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := (&target{dataDir: "/tmp/other"}).quoteCommand("down"), `"ctrlplane --data-dir /tmp/other down"`; got != want {
		t.Errorf("of another control plane: got %s, want %s", got, want)
	}
}
