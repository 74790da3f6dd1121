package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/manifests"
)

// Report is that of one run: Open it before, Follow as soon as there is
// something to follow, Read at the end while the API server still answers, and
// Write when all has ended.
type Report struct {
	folder   *folder
	applied  []manifests.Object
	logStart logPosition

	mu       sync.Mutex
	recorder *recorder // nil before Follow
	digest   *digest
	final    *finalState
	once     sync.Once
	err      error
}

// Open makes the folder, if there is none, and checks that it can be written.
// applied are the objects that the control plane begins with.
func Open(path string, applied []manifests.Object) (*Report, error) {
	f, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	return &Report{folder: f, applied: applied, digest: newDigest(), final: &finalState{}}, nil
}

// Path is that of a file of the report, by its name.
func (r *Report) Path(name string) string { return filepath.Join(r.folder.path, name) }

// FallbackLogPath is a place for the log of a control plane that keeps none itself.
func (r *Report) FallbackLogPath() string { return filepath.Join(r.folder.staging, "spare-"+LogFile) }

// SetLog says where the control plane is going to log. What is there already is
// not the report's.
func (r *Report) SetLog(path string) { r.logStart = currentLogPosition(path) }

// Follow begins to write down what src observes. Only its first call counts.
func (r *Report) Follow(src Source) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder != nil {
		return nil
	}
	file, err := r.folder.createStaged(EventsFile)
	if err != nil {
		return fmt.Errorf("%s: %w", EventsFile, withoutPath(err))
	}
	r.recorder = startRecorder(src, file, r.digest)
	return nil
}

// ReadState takes down what is there now: objects, and what is known of the
// controllers. What it cannot read, the report says.
func (r *Report) ReadState(ctx context.Context, cfg *rest.Config) {
	s, err := readFinalState(ctx, cfg, r.applied)
	if err != nil {
		s.incomplete = fmt.Errorf("not all that was there at the end could be read: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder != nil {
		if s.snapshot, err = r.recorder.src.Snapshot(ctx); err != nil {
			s.incomplete = errors.Join(s.incomplete, err)
		}
	}
	r.final = s
}

// Write ends the following and writes the files. Then it tells the CI service
// that getenv (os.Getenv) says it runs in; what that has in its log goes to log.
// Only its first call counts: others wait for it.
func (r *Report) Write(o Outcome, log io.Writer, getenv func(string) string) error {
	r.once.Do(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ensureSnapshot()
		r.err = errors.Join(r.writeFiles(&o), r.folder.close(), r.summarizeRun(&o).publishToCI(log, getenv))
	})
	return r.err
}

// ensureSnapshot asks what is known of the controllers, if nobody has while they ran.
func (r *Report) ensureSnapshot() {
	if r.recorder == nil || !r.final.snapshot.Time.IsZero() {
		return
	}
	var err error
	if r.final.snapshot, err = r.recorder.src.Snapshot(context.Background()); err != nil {
		r.final.incomplete = errors.Join(r.final.incomplete, err)
	}
}

func (r *Report) writeFiles(o *Outcome) error {
	err := r.finishEvents()
	for _, f := range []struct {
		name    string
		content func(io.Writer) error
	}{
		{LogFile, r.logStart.copySince},
		{ObjectsFile, func(w io.Writer) error { return writeObjects(w, r.final.objects, r.final.incomplete) }},
		{JUnitFile, func(w io.Writer) error { return writeJUnit(w, o, r.final.cases) }},
		{PageFile, func(w io.Writer) error { return writePage(w, newPage(o, r)) }},
	} {
		if writeErr := r.folder.writeFile(f.name, f.content); err == nil { // the first says enough
			err = writeErr
		}
	}
	if err != nil {
		return fmt.Errorf("the report in %s is not complete: %w", r.folder.path, err)
	}
	return nil
}

// finishEvents ends the following.
func (r *Report) finishEvents() error {
	if r.recorder == nil {
		return r.folder.writeFile(EventsFile, func(w io.Writer) error {
			return json.NewEncoder(w).Encode(headerLine{"ctrlplane", formatVersion, time.Now()})
		})
	}
	if err := r.recorder.close(); err != nil {
		return fmt.Errorf("%s: %w", EventsFile, err)
	}
	return r.folder.publishFile(EventsFile)
}

func (r *Report) missedRecords() uint64 {
	if r.recorder == nil {
		return 0
	}
	return r.recorder.missed
}
