package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/observe/replay"
)

// Report is the report of one run. Call Open before the run, Follow as soon as there
// is a source, SetState at the end while the API server is still running, and
// Write after the run.
type Report struct {
	folder   *folder
	logStart logPosition

	mu       sync.Mutex
	source   replay.Source    // nil before Follow
	recorder *replay.Recorder // nil before Follow
	digest   *digest
	final    *State
	output   *outputLog
	once     sync.Once
	err      error // of the files
	ciErr    error // of the summary

	eventsErr, outputErr error // of recording
}

// Open creates the folder, if it does not exist, and checks that it is writable.
func Open(path string) (*Report, error) {
	f, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	output, err := newOutputLog(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write a report to %s: %w", path, err), f.close())
	}
	return &Report{folder: f, digest: newDigest(), final: &State{}, output: output}, nil
}

// Path returns the path of a file of the report.
func (r *Report) Path(name string) string { return filepath.Join(r.folder.path, name) }

// FallbackLogPath returns a path for the log of a control plane without a log file
// of its own.
func (r *Report) FallbackLogPath() string { return filepath.Join(r.folder.staging, "spare-"+LogFile) }

// SetLog sets the path of the control plane's log. The report contains only what is
// logged after this call.
func (r *Report) SetLog(path string) { r.logStart = currentLogPosition(path) }

// Follow starts recording src. resources returns what the API server serves, and may be
// nil. Only the first call has an effect.
func (r *Report) Follow(src replay.Source, resources func(context.Context) ([]replay.Resource, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder != nil {
		return nil
	}
	file, err := r.folder.createStaged(EventsFile)
	if err != nil {
		return fmt.Errorf("%s: %w", EventsFile, fileerror.WithoutPath(err))
	}
	r.source = src
	r.recorder = replay.Start(replay.Config{Source: src, File: file, OnRecord: r.digest.add, Resources: resources})
	return nil
}

// RecordEnd records the state that the control plane has now, as the last one before it is
// stopped: it may have settled since it was recorded last.
func (r *Report) RecordEnd(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder != nil {
		r.recorder.Capture(ctx)
	}
}

// SetState sets the state at the end. Until then the observer still has the records.
func (r *Report) SetState(ctx context.Context, s *State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder != nil {
		var err error
		if s.snapshot, err = r.source.Snapshot(ctx); err != nil {
			s.incomplete = errors.Join(s.incomplete, err)
		}
		s.traceUnhealthy(ctx, r.source)
	}
	r.final = s
}

// Write stops following and writes the files. If getenv (os.Getenv) shows that it
// runs in a supported CI service, it also publishes a summary there; log is the
// job's log, and ciErr says why that failed. Only the first call has an effect; concurrent
// calls wait for it.
func (r *Report) Write(o Outcome, log io.Writer, getenv func(string) string) (ciErr, err error) {
	r.once.Do(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ensureSnapshot()
		r.endRecording()
		summary := r.summarizeRun(&o)
		var publishing sync.WaitGroup // at once: a canceled job may be killed before all files are written
		publishing.Go(func() { r.ciErr = summary.publishToCI(log, getenv) })
		r.err = errors.Join(r.writeFiles(&o), r.folder.close())
		publishing.Wait()
	})
	return r.ciErr, r.err
}

// ensureSnapshot takes a snapshot, unless SetState has taken one.
func (r *Report) ensureSnapshot() {
	if r.recorder == nil || !r.final.snapshot.Time.IsZero() {
		return
	}
	var err error
	if r.final.snapshot, err = r.source.Snapshot(context.Background()); err != nil {
		r.final.incomplete = errors.Join(r.final.incomplete, err)
	}
}

// endRecording stops following, and recording what the command prints.
func (r *Report) endRecording() {
	if r.recorder != nil {
		if err := r.recorder.Close(); err != nil {
			r.eventsErr = fmt.Errorf("%s: %w", EventsFile, err)
		}
	}
	r.digest.markRetried()
	r.outputErr = r.output.close()
}

// writeFiles writes the files, those first that say how the run ended: the process may be killed meanwhile.
func (r *Report) writeFiles(o *Outcome) error {
	err := cmp.Or(r.eventsErr, r.outputErr) // the first error is enough
	writes := func(name string, content func(io.Writer) error) func() error {
		return func() error { return r.folder.writeFile(name, content) }
	}
	for _, write := range []func() error{
		writes(JUnitFile, func(w io.Writer) error { return writeJUnit(w, o, r.output.ending(), r.final.cases) }),
		writes(PageFile, func(w io.Writer) error { return writePage(w, newPage(o, r)) }),
		r.publishOutput,
		r.publishEvents,
		writes(ObjectsFile, func(w io.Writer) error { return writeObjects(w, r.final.objects, r.final.incomplete) }),
		writes(LogFile, r.logStart.copySince),
	} {
		if writeErr := write(); err == nil {
			err = writeErr
		}
	}
	if err != nil {
		return fmt.Errorf("the report in %s is incomplete: %w", r.folder.path, err)
	}
	return nil
}

// publishEvents publishes the file of events.
func (r *Report) publishEvents() error {
	if r.recorder == nil {
		return r.folder.writeFile(EventsFile, func(w io.Writer) error {
			return json.NewEncoder(w).Encode(replay.NewHeader(time.Now()))
		})
	}
	if r.eventsErr != nil { // it is not complete
		return r.eventsErr
	}
	return r.folder.publishFile(EventsFile)
}

// publishOutput publishes the file of what the command has printed.
func (r *Report) publishOutput() error {
	if r.outputErr != nil {
		return r.outputErr
	}
	return r.folder.publishFile(OutputFile)
}

func (r *Report) missedRecords() uint64 {
	if r.recorder == nil {
		return 0
	}
	return r.recorder.Missed()
}
