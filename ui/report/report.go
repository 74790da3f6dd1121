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
	folder  *folder
	applied []manifests.Object
	log     logMark

	mu        sync.Mutex
	recording *recording // nil before Follow
	digest    *digest
	state     *state
	once      sync.Once
	err       error
}

// Open makes the folder, if there is none, and checks that it can be written.
// applied are the objects that the control plane begins with.
func Open(path string, applied []manifests.Object) (*Report, error) {
	f, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	return &Report{folder: f, applied: applied, digest: newDigest(), state: &state{}}, nil
}

// Path is that of a file of the report, by its name.
func (r *Report) Path(name string) string { return filepath.Join(r.folder.path, name) }

// SpareLog is a place for the log of a control plane that keeps none itself.
func (r *Report) SpareLog() string { return filepath.Join(r.folder.staging, "spare-"+LogFile) }

// Log says where the control plane is going to log. What is there already is
// not the report's.
func (r *Report) Log(path string) { r.log = markLog(path) }

// Follow begins to write down what src observes. Only its first call counts.
func (r *Report) Follow(src Source) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recording != nil {
		return nil
	}
	file, err := r.folder.create(EventsFile)
	if err != nil {
		return fmt.Errorf("%s: %w", EventsFile, cause(err))
	}
	r.recording = startRecording(src, file, r.digest)
	return nil
}

// Read takes down what is there now: objects, and what is known of the
// controllers. What it cannot read, the report says.
func (r *Report) Read(ctx context.Context, cfg *rest.Config) {
	s, err := read(ctx, cfg, r.applied)
	if err != nil {
		s.incomplete = fmt.Errorf("not all that was there at the end could be read: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recording != nil {
		if s.snapshot, err = r.recording.src.Snapshot(ctx); err != nil {
			s.incomplete = errors.Join(s.incomplete, err)
		}
	}
	r.state = s
}

// Write ends the following and writes the files. Then it tells the CI service
// that getenv (os.Getenv) says it runs in; what that has in its log goes to log.
// Only its first call counts: others wait for it.
func (r *Report) Write(o Outcome, log io.Writer, getenv func(string) string) error {
	r.once.Do(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.know()
		r.err = errors.Join(r.files(&o), r.folder.close(), r.summary(&o).tell(log, getenv))
	})
	return r.err
}

// know asks what is known of the controllers, if nobody has while they ran.
func (r *Report) know() {
	if r.recording == nil || !r.state.snapshot.Time.IsZero() {
		return
	}
	var err error
	if r.state.snapshot, err = r.recording.src.Snapshot(context.Background()); err != nil {
		r.state.incomplete = errors.Join(r.state.incomplete, err)
	}
}

func (r *Report) files(o *Outcome) error {
	err := r.events()
	for _, f := range []struct {
		name    string
		content func(io.Writer) error
	}{
		{LogFile, r.log.copySince},
		{ObjectsFile, func(w io.Writer) error { return writeObjects(w, r.state.objects, r.state.incomplete) }},
		{JUnitFile, func(w io.Writer) error { return writeJUnit(w, o, r.state.cases) }},
		{PageFile, func(w io.Writer) error { return writePage(w, newPage(o, r)) }},
	} {
		if writeErr := r.folder.write(f.name, f.content); err == nil { // the first says enough
			err = writeErr
		}
	}
	if err != nil {
		return fmt.Errorf("the report in %s is not complete: %w", r.folder.path, err)
	}
	return nil
}

// events ends the following.
func (r *Report) events() error {
	if r.recording == nil {
		return r.folder.write(EventsFile, func(w io.Writer) error {
			return json.NewEncoder(w).Encode(headLine{"ctrlplane", formVersion, time.Now()})
		})
	}
	if err := r.recording.close(); err != nil {
		return fmt.Errorf("%s: %w", EventsFile, err)
	}
	return r.folder.place(EventsFile)
}

func (r *Report) missed() uint64 {
	if r.recording == nil {
		return 0
	}
	return r.recording.missed
}
