// Package upstreamversion tells Kubernetes' packages which release they are, when it is
// imported: before those packages ask that use the version in their own initialization.
// Upstream's release builds do it by flags of the linker, without which a server calls
// itself v0.0.0-master, which clients cannot parse; here it works for every build, so
// also for "go install" and for tests.
package upstreamversion

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	_ "unsafe" // for go:linkname

	clientversion "k8s.io/client-go/pkg/version"
	baseversion "k8s.io/component-base/version"

	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// The variables that upstream's release builds set: see hack/lib/version.sh there. The
// linker does not report one that has gone, which then has no effect: Check does.
var (
	//go:linkname baseGitVersion k8s.io/component-base/version.gitVersion
	baseGitVersion string
	//go:linkname baseGitMajor k8s.io/component-base/version.gitMajor
	baseGitMajor string
	//go:linkname baseGitMinor k8s.io/component-base/version.gitMinor
	baseGitMinor string
	//go:linkname baseGitCommit k8s.io/component-base/version.gitCommit
	baseGitCommit string
	//go:linkname baseGitTreeState k8s.io/component-base/version.gitTreeState
	baseGitTreeState string
	//go:linkname baseBuildDate k8s.io/component-base/version.buildDate
	baseBuildDate string

	//go:linkname clientGitVersion k8s.io/client-go/pkg/version.gitVersion
	clientGitVersion string
	//go:linkname clientGitMajor k8s.io/client-go/pkg/version.gitMajor
	clientGitMajor string
	//go:linkname clientGitMinor k8s.io/client-go/pkg/version.gitMinor
	clientGitMinor string
	//go:linkname clientGitCommit k8s.io/client-go/pkg/version.gitCommit
	clientGitCommit string
	//go:linkname clientGitTreeState k8s.io/client-go/pkg/version.gitTreeState
	clientGitTreeState string
	//go:linkname clientBuildDate k8s.io/client-go/pkg/version.buildDate
	clientBuildDate string
)

// placeholder is in the version of a build that has not set it.
const placeholder = "$Format:"

// Kubernetes is the release of Kubernetes that this module contains.
const Kubernetes = "v1.37.1"

// emulatedMinors is how many minor versions before its own Kubernetes can emulate: see
// kubeEffectiveVersionFloors in k8s.io/apiserver/pkg/util/compatibility.
const emulatedMinors = 3

// Minors returns the minor versions that Kubernetes can be, as 1.35, the oldest first. The
// last one is its own.
func Minors() []string {
	own := utilversion.MustParseSemantic(Kubernetes)
	var list []string
	for minor := own.Minor() - emulatedMinors; minor <= own.Minor(); minor++ {
		list = append(list, fmt.Sprintf("%d.%d", own.Major(), minor))
	}
	return list
}

var initErr error

func init() { initErr = set(Kubernetes) }

// Check returns why Kubernetes' packages have another version.
func Check() error { return initErr }

// set makes version the release of Kubernetes' packages, unless the linker has set one.
func set(version string) error {
	if !strings.Contains(baseGitVersion, placeholder) && baseGitVersion != "" {
		return nil
	}
	v, err := utilversion.ParseSemantic(version)
	if err != nil {
		return fmt.Errorf("the release of Kubernetes: %w", err)
	}
	commit, date, state := buildSource()
	for _, p := range []struct{ version, major, minor, commit, state, date *string }{
		{&baseGitVersion, &baseGitMajor, &baseGitMinor, &baseGitCommit, &baseGitTreeState, &baseBuildDate},
		{&clientGitVersion, &clientGitMajor, &clientGitMinor, &clientGitCommit, &clientGitTreeState, &clientBuildDate},
	} {
		*p.major, *p.minor = strconv.FormatUint(uint64(v.Major()), 10), strconv.FormatUint(uint64(v.Minor()), 10)
		*p.commit, *p.date, *p.state = commit, date, state
		// SetDynamicVersion does nothing for the version that the variable has.
		*p.version = version + "-0"
	}
	if err := baseversion.SetDynamicVersion(version); err != nil {
		return fmt.Errorf("the release of Kubernetes: %w", err)
	}
	baseGitVersion, clientGitVersion = version, version
	if base, client := baseversion.Get(), clientversion.Get(); base.GitVersion != version || base.GitCommit != commit || client.GitVersion != version || client.GitCommit != commit {
		return fmt.Errorf("the release of Kubernetes: upstream has other variables than expected, it calls itself %s and %s: see docs/upstream-hooks.md", base, client)
	}
	return nil
}

// buildSource returns the commit, its time (RFC 3339) and the state of the tree that
// this program was built from, as far as the build has recorded them.
func buildSource() (commit, date, state string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", "", ""
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			date = s.Value
		case "vcs.modified":
			state = map[string]string{"true": "dirty", "false": "clean"}[s.Value]
		}
	}
	return commit, date, state
}
