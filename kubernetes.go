package ctrlplane

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/upstreamversion"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// KubernetesVersions returns the minor versions that Server.Kubernetes may name, as
// 1.35, the oldest first. The last one is that of KubernetesVersion.
func KubernetesVersions() []string { return upstreamversion.Minors() }

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

// DescribeKubernetes returns which Kubernetes the control plane is, for people: v1.37.1, or
// "1.35 (emulated by 1.37.1)"; empty until the start has opened the data folder.
func (s *Server) DescribeKubernetes() string {
	if p := s.currentInstance(); p != nil && p.dataDirPath() != "" {
		return p.describeKubernetes()
	}
	return ""
}

func (p *controlPlane) describeKubernetes() string {
	state := datadir.State{KubernetesVersion: KubernetesVersion, EmulatedVersion: p.emulatedVersion()}
	return state.DescribeKubernetes()
}

// checkRelease fails if a newer minor release of Kubernetes has used a data folder: this one may not
// read what that has stored.
func checkRelease(dir string, last datadir.State) error {
	theirs, err := version.ParseGeneric(last.KubernetesVersion)
	if err != nil { // not recorded
		return nil
	}
	own := version.MustParse(KubernetesVersion)
	if !version.MajorMinor(own.Major(), own.Minor()).LessThan(version.MajorMinor(theirs.Major(), theirs.Minor())) {
		return nil
	}
	return fmt.Errorf("data folder %s was last used by a ctrlplane with Kubernetes %s, this one has %s and may not read what that has stored: upgrade ctrlplane, or choose another --name or --data-dir",
		dir, last.KubernetesVersion, KubernetesVersion)
}

// recordRelease records the release of this program before the API server or a restore in the stopped folder writes
// to the store, also if that does not end: see checkRelease. What a start has written until then is a snapshot of a
// release that is not newer, or the seed of a new store.
func recordRelease(dir *datadir.Dir) error {
	state, err := dir.State()
	if err != nil {
		return err
	}
	return recordVersions(dir, state, state.EmulatedVersion)
}

// recordRelease is recordRelease for a start, which writes as the version does that it emulates: the next start has to
// emulate that, too, unless another version is chosen.
func (p *controlPlane) recordRelease() error {
	state, err := p.dir.State()
	if err != nil {
		return err
	}
	return recordVersions(p.dir, state, p.emulatedVersion())
}

func recordVersions(dir *datadir.Dir, state datadir.State, emulated string) error {
	if state.KubernetesVersion == KubernetesVersion && state.EmulatedVersion == emulated {
		return nil
	}
	state.KubernetesVersion, state.EmulatedVersion = KubernetesVersion, emulated
	return dir.SaveState(state)
}

// warnOfOldRelease warns if the state was stored by a release that is more than one minor version older
// than the one that is started.
func (p *controlPlane) warnOfOldRelease(last datadir.State, minor string) {
	theirs, err := version.ParseGeneric(last.KubernetesVersion)
	if err != nil || !theirs.AddMinor(1).LessThan(version.MustParseGeneric(minor)) {
		return
	}
	p.warn(fmt.Sprintf("data folder %s was last used with Kubernetes %s, and Kubernetes is upgraded by one minor version at a time: what later versions do not read may be lost: start it with the versions in between first (--kubernetes, or older releases of ctrlplane)",
		p.dir.Path(), last.KubernetesVersion))
}

// chooseKubernetes decides on the version: the configured one, or that of the last start.
func (p *controlPlane) chooseKubernetes(last datadir.State) error {
	if err := checkRelease(p.dir.Path(), last); err != nil {
		return err
	}
	minor := minorVersion(p.config.Kubernetes)
	if p.config.Kubernetes == "" && last.EmulatedVersion != "" {
		minor = last.EmulatedVersion
	}
	if versions := KubernetesVersions(); !slices.Contains(versions, minor) {
		return fmt.Errorf("data folder %s was last started with Kubernetes %s, which this version of ctrlplane cannot emulate: choose %s with --kubernetes",
			p.dir.Path(), minor, words.Or(versions))
	}
	p.warnOfOldRelease(last, minor)
	p.kubernetes.Store(&minor)
	return nil
}

// kubernetesVersion returns the minor version, such as 1.35, that all components have.
func (p *controlPlane) kubernetesVersion() string {
	if minor := p.kubernetes.Load(); minor != nil {
		return *minor
	}
	return minorVersion(p.config.Kubernetes)
}

// emulatedVersion is kubernetesVersion if it has to be emulated; otherwise empty.
func (p *controlPlane) emulatedVersion() string {
	if minor := p.kubernetesVersion(); minor != minorVersion("") {
		return minor
	}
	return ""
}

// minorVersion returns the version, such as 1.35, that a valid Server.Kubernetes means.
func minorVersion(text string) string {
	if text != "" {
		return strings.TrimPrefix(text, "v")
	}
	versions := KubernetesVersions()
	return versions[len(versions)-1]
}
