package main

import (
	"strings"
	"testing"
)

func TestRunKubernetesVersionErrors(t *testing.T) {
	for args, want := range map[string]string{
		"--kubernetes=1.33":                                    `"1.33": Kubernetes 1.37.1 can emulate 1.34, 1.35, 1.36, 1.37`,
		"--kubernetes=1.34,1.38":                               `"1.38"`,
		"--kubernetes=1.34,v1.34":                              "1.34 is named twice",
		"--kubernetes=":                                        "empty value",
		"--kubernetes=1.34,1.35 --name=x":                      "--name",
		"--kubernetes=1.34,1.35 --port=7777":                   "--port",
		"--kubernetes=1.34,1.35 --jobs=-1":                     "--jobs",
		"--kubernetes=1.34,1.35 --settle --observe-records=-1": "--settle needs observation",
	} {
		t.Run(args, func(t *testing.T) {
			h := enterHome(t)
			h.requireFailure(t, append(append([]string{"run"}, strings.Fields(args)...), "--", "true"), 2, want)
			h.requireEmpty(t)
		})
	}
}
