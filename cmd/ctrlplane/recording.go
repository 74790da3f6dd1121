package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/restmapper"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/inspect"
	"github.com/ctrlplane/ctrlplane/observe/replay"
	"github.com/ctrlplane/ctrlplane/ui"
)

// recordingFlags select a moment of a recording instead of a running control plane.
type recordingFlags struct {
	name     string // of the flag for the path
	path, at string
	problems bool // the verb shows the problems of objects
	flags    *pflag.FlagSet
}

func (r *recordingFlags) add(f *pflag.FlagSet) {
	r.addFlags(f, "from", "recording to read instead of a running control plane: a folder of \"run --report\", or a file",
		"time in the recording: RFC 3339, 15:04:05, or since its beginning, such as 1m30s (default: before it ended)")
}

// addReplay adds the flags of a verb that plays the recording.
func (r *recordingFlags) addReplay(f *pflag.FlagSet) {
	r.addFlags(f, "replay", "recording to play: a folder of \"run --report\", or a file",
		"time in the recording to begin at, as for \"status --from\" (default: its beginning)")
}

func (r *recordingFlags) addFlags(f *pflag.FlagSet, name, path, at string) {
	r.name, r.flags = name, f
	f.StringVar(&r.path, name, "", path)
	f.StringVar(&r.at, "at", "", at)
}

// given reports whether a recording is to be read.
func (r *recordingFlags) given() bool { return r.flags.Changed(r.name) || r.flags.Changed("at") }

// openOr opens the recording or, without one, what connect returns.
func (r *recordingFlags) openOr(connect func() (observe.Source, error)) (observe.Source, error) {
	if r.given() {
		return r.open()
	}
	return connect()
}

// check returns an error if the path is missing.
func (r *recordingFlags) check() error {
	if r.path == "" {
		return usage.Errorf("--at needs --%s: name a recording, or leave it out", r.name)
	}
	return nil
}

func (r *recordingFlags) open() (*recordedSource, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.flags.Changed("name") || r.flags.Changed("data-dir") {
		return nil, usage.Errorf("--from excludes --name and --data-dir: a recording needs no control plane")
	}
	recording, err := openRecording(r.path)
	if err != nil {
		return nil, err
	}
	at, err := positionIn(recording, r.at)
	if err != nil {
		return nil, err
	}
	if r.problems && !recording.HasProblems {
		printWarning(fmt.Sprintf("recording %s may lack the problems of Pods, Jobs, Nodes and writes: an earlier version of ctrlplane or --ui json has made it", r.path))
	}
	return &recordedSource{recording.At(at), recording}, nil
}

// openRecording opens a recording, and says if it is cut.
func openRecording(path string) (*replay.Recording, error) {
	r, err := replay.Open(path)
	if err == nil && r.Cut != "" {
		printWarning(fmt.Sprintf("recording %s: %s: what is before it is shown", path, r.Cut))
	}
	return r, err
}

// positionIn returns the position for a value of --at: without one, the last moment before
// the control plane stopped.
func positionIn(r *replay.Recording, at string) (replay.Position, error) {
	if at == "" {
		return r.Last(), nil
	}
	p, err := r.Find(at, time.Local)
	if err != nil {
		return p, usage.Errorf("--at: %w", err)
	}
	return p, nil
}

// recordedSource is a moment of a recording, for "trace" and "why".
type recordedSource struct {
	*replay.Moment
	recording *replay.Recording
}

func (s *recordedSource) now() time.Time { return s.Time() }

// resolve finds a kind among the resources that were served.
func (s *recordedSource) resolve(ctx context.Context, kind, namespace, name string) (observe.Object, error) {
	return resolveObject(ctx, s.mapper(), kind, namespace, name)
}

// mapper returns a mapper that knows the resources that were served.
func (s *recordedSource) mapper() kinds.Mapper {
	versions := map[string]*restmapper.APIGroupResources{}
	var groups []*restmapper.APIGroupResources
	for _, r := range s.recording.Resources {
		g := versions[r.Group]
		if g == nil {
			g = &restmapper.APIGroupResources{Group: metav1.APIGroup{Name: r.Group}, VersionedResources: map[string][]metav1.APIResource{}}
			versions[r.Group], groups = g, append(groups, g)
		}
		if g.VersionedResources[r.Version] == nil {
			version := metav1.GroupVersionForDiscovery{GroupVersion: strings.TrimPrefix(r.Group+"/"+r.Version, "/"), Version: r.Version}
			g.Group.Versions = append(g.Group.Versions, version)
			if len(g.Group.Versions) == 1 {
				g.Group.PreferredVersion = version
			}
		}
		g.VersionedResources[r.Version] = append(g.VersionedResources[r.Version], metav1.APIResource{
			Name: r.Resource, SingularName: r.Singular, Kind: r.Kind, Namespaced: r.Namespaced, ShortNames: r.ShortNames,
		})
	}
	return kinds.NewStaticMapper(groups)
}

// describeNow knows nothing but the records: a recording has no objects.
func (s *recordedSource) describeNow(context.Context, observe.Object) ui.ObjectState {
	return ui.ObjectState{Recorded: true}
}

func (s *recordedSource) nameFields(context.Context, []assert.HotLoop) {}

func (s *recordedSource) unknownKind(ctx context.Context, kind string) error {
	hint := "check how it is written: of kinds that were defined later it has full names only, such as certificates"
	if len(s.recording.Resources) == 0 {
		hint = "the recording has no short names: write it as deployment or deployments"
	}
	return usage.Errorf("unknown kind %q: it is not in the recording: %s", kind, s.mapper().Hint(ctx, kind, hint))
}

func (s *recordedSource) explainMissing(_ context.Context, about observe.Object, err error) error {
	return fmt.Errorf("%w up to %s: check its name and namespace, and --at", err, s.Time().Local().Format(time.RFC3339))
}

// servedResources returns a function that returns what a control plane serves, once it is
// ready.
func servedResources(s *ctrlplane.Server) func(context.Context) ([]replay.Resource, error) {
	return func(ctx context.Context) ([]replay.Resource, error) { return inspect.Resources(ctx, s.RESTConfig()) }
}
