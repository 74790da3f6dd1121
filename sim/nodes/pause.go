package nodes

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// onlyWaits reports whether a container runs the image pause as it is. That is the one
// image whose program is a part of Kubernetes (build/pause in its repository, the sandbox
// of every Pod): it does nothing until it is stopped.
func onlyWaits(c *corev1.Container) bool {
	if len(c.Command) > 0 || len(c.Args) > 0 {
		return false
	}
	name, _, _ := strings.Cut(c.Image, "@")
	name, _, _ = strings.Cut(path.Base(name), ":")
	return name == "pause"
}
