package ctrlplane

import (
	"runtime/debug"
	"sync"

	"github.com/ctrlplane/ctrlplane/internal/upstreamversion"
)

// KubernetesVersion is the Kubernetes release that this module contains.
const KubernetesVersion = upstreamversion.Kubernetes

const modulePath = "github.com/ctrlplane/ctrlplane"

// Version returns the version of ctrlplane, which the build has recorded.
func Version() string { return buildInfoVersion() }

var buildInfoVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == modulePath && m.Version != "" {
			return m.Version
		}
	}
	return "(devel)"
})
