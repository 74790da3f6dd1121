package main

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
)

// upRecord records a control plane to a file, if --record asks for it.
type upRecord struct {
	path, limit string
	flags       *pflag.FlagSet
	bytes       int64

	file     *os.File
	mu       sync.Mutex // of the stages of a start
	start    func(*ctrlplane.Server) *replay.Recorder
	recorder *replay.Recorder // nil until there is an observer
	hasCalls atomic.Bool      // the API server has been called
}

func (r *upRecord) addFlags(f *pflag.FlagSet) {
	r.flags = f
	f.StringVar(&r.path, "record", "", "record to a new file what the live view shows, for \"top --replay\" and --from of other verbs")
	f.StringVar(&r.limit, "record-limit", "64Mi", "size of that recording; when it is reached the older half is dropped")
}

func (r *upRecord) validate(records int) error {
	switch {
	case r.flags == nil || !r.flags.Changed("record") && !r.flags.Changed("record-limit"):
		return nil
	case r.path == "":
		return usage.Errorf("--record: missing file: name one, or leave out --record and --record-limit")
	case records < 0:
		return usage.Errorf("--record needs observation, which --observe-records %d turns off: use one of them", records)
	}
	limit, err := resource.ParseQuantity(r.limit)
	if err != nil || limit.Value() < replay.MinLimit || limit.Value() > replay.MaxSize {
		return usage.Errorf("--record-limit %q: not a size from %dMi to %dMi: use one such as 64Mi", r.limit, replay.MinLimit>>20, replay.MaxSize>>20)
	}
	r.bytes = limit.Value()
	return nil
}

// open creates the file, so that it fails before the start.
func (r *upRecord) open(warn func(string)) error {
	if r.path == "" {
		return nil
	}
	file, err := replay.Create(r.path)
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	r.file = file
	r.start = func(s *ctrlplane.Server) *replay.Recorder {
		return replay.Start(replay.Config{
			Source: s.Observer(), File: file, Limit: r.bytes, Resources: servedResources(s), OnRecord: r.noteCall,
			OnError: func(err error) { warn(fmt.Sprintf("--record: %s: %v: the recording ends here", r.path, err)) },
		})
	}
	return nil
}

// begin begins to record, once there is an observer.
func (r *upRecord) begin(s *ctrlplane.Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.start != nil && r.recorder == nil && s.Observer() != nil {
		r.recorder = r.start(s)
	}
}

func (r *upRecord) noteCall(rec observe.Record) {
	if _, ok := rec.Event.(*observe.Called); ok {
		r.hasCalls.Store(true)
	}
}

// close completes the file. What kept it from being written was shown as a warning. That of a
// start that failed before the API server was called, as when the port is in use, tells nothing
// and is removed: the next attempt finds the name free.
func (r *upRecord) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.recorder != nil:
		_ = r.recorder.Close()
	case r.file != nil:
		_ = r.file.Close()
	}
	if r.file != nil && !r.hasCalls.Load() {
		_ = os.Remove(r.path)
	}
}
