package main

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/health"
)

// The command that shows a log names its namespace: the context of the kubeconfig may have any.
func TestCommandThatShowsALog(t *testing.T) {
	plane := &target{name: "demo"}
	for want, l := range map[string]health.ContainerLog{
		"--name demo kubectl logs web-1 -n default":        {Namespace: "default", Pod: "web-1"},
		"--name demo kubectl logs -p web-1 -c app -n shop": {Namespace: "shop", Pod: "web-1", Container: "app", Previous: true},
	} {
		if got := plane.describeLog(l); !strings.Contains(got, want+`" shows its log`) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
