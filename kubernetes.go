package ctrlplane

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// emulatedMinors is how many minor versions before its own Kubernetes can emulate: see
// kubeEffectiveVersionFloors in k8s.io/apiserver/pkg/util/compatibility.
const emulatedMinors = 3

// KubernetesVersions returns the minor versions that Server.Kubernetes may name, as
// 1.35, the oldest first. The last one is that of KubernetesVersion.
func KubernetesVersions() []string {
	own := version.MustParse(KubernetesVersion)
	var list []string
	for minor := own.Minor() - emulatedMinors; minor <= own.Minor(); minor++ {
		list = append(list, fmt.Sprintf("%d.%d", own.Major(), minor))
	}
	return list
}

// ParseKubernetesVersion returns one of KubernetesVersions for text like 1.35 or v1.35,
// and a usage error for all else.
func ParseKubernetesVersion(text string) (string, error) {
	minor, versions := strings.TrimPrefix(text, "v"), KubernetesVersions()
	if !slices.Contains(versions, minor) {
		return "", usage.Errorf("--kubernetes %q: Kubernetes %s can emulate %s: name one of them",
			text, strings.TrimPrefix(KubernetesVersion, "v"), strings.Join(versions, ", "))
	}
	return minor, nil
}

// DescribeKubernetes returns what a control plane with Server.Kubernetes set to minor
// is, for people: v1.37.1, or "1.35 (emulated by 1.37.1)".
func DescribeKubernetes(minor string) string {
	if minor = emulatedVersion(minor); minor == "" {
		return KubernetesVersion
	}
	return fmt.Sprintf("%s (emulated by %s)", minor, strings.TrimPrefix(KubernetesVersion, "v"))
}

// minorVersion returns the version, such as 1.35, that a valid Server.Kubernetes means.
func minorVersion(text string) string {
	if text != "" {
		return strings.TrimPrefix(text, "v")
	}
	versions := KubernetesVersions()
	return versions[len(versions)-1]
}

// emulatedVersion returns the version to emulate for a valid Server.Kubernetes; empty =
// none, because it is that of KubernetesVersion.
func emulatedVersion(text string) string {
	if minor := minorVersion(text); minor != minorVersion("") {
		return minor
	}
	return ""
}
