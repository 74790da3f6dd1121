package ctrlplane

import (
	"runtime/debug"
	"sync"
)

// KubernetesVersion is the Kubernetes release that this module contains.
const KubernetesVersion = "v1.37.1"

// dataVersion is the format of the data folder that this version writes, and the
// highest that it reads.
const dataVersion = 1

const modulePath = "github.com/ctrlplane/ctrlplane"

// release is set by the linker in released binaries.
var release = ""

// Version returns the version of ctrlplane.
func Version() string {
	if release != "" {
		return release
	}
	return buildInfoVersion()
}

// buildInfoVersion returns the version of this module that the build recorded.
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
