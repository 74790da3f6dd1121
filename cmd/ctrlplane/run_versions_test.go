package main

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/upstreamversion"
)

func TestRunKubernetesVersionErrors(t *testing.T) {
	minors := upstreamversion.Minors()
	oldest := minors[0]
	two := "--kubernetes=" + oldest + "," + minors[1]
	for args, want := range map[string]string{
		"--kubernetes=1.20":                      `"1.20": Kubernetes ` + strings.TrimPrefix(upstreamversion.Kubernetes, "v") + " can emulate " + strings.Join(minors, ", "),
		"--kubernetes=" + oldest + ",1.99":       `"1.99"`,
		"--kubernetes=" + oldest + ",v" + oldest: oldest + " is named twice",
		"--kubernetes=":                          "empty value",
		two + " --name=x":                        "--name",
		two + " --port=7777":                     "--port",
		two + " --jobs=-1":                       "--jobs",
		two + " --settle --observe-records=-1":   "--settle needs observation",
	} {
		t.Run(args, func(t *testing.T) {
			h := enterHome(t)
			h.requireFailure(t, append(append([]string{"run"}, strings.Fields(args)...), "--", "true"), 2, want)
			h.requireEmpty(t)
		})
	}
}
