// Package filewatch reports changes of files in folders and everything below them.
//
// Changes that follow each other closely, such as those of an editor that saves or of a
// code generator, are reported together once it is quiet. A change is never lost: what
// happens while the receiver is busy is reported when it receives next. A file that is
// written again with the content it had is not reported, nor is one that existed only for a moment.
package filewatch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
)

const (
	defaultQuiet = 100 * time.Millisecond
	maxDelay     = 2 * time.Second // of a report while changes go on
)

// Root is a file or a folder to watch.
type Root struct {
	Path string
	// Accept reports whether a file with this name is of interest, in a folder; nil = all.
	Accept func(name string) bool
}

// Config configures a Watcher.
type Config struct {
	Roots []Root
	// Quiet is how long no file may change before a report; 0 = 100 ms.
	Quiet time.Duration
}

// Watcher reports changed files until Close.
type Watcher struct {
	rootsMu sync.Mutex
	roots   []root   // only ever appended to
	initial []string // files of interest
	notify  *fsnotify.Watcher
	changed chan string // paths of interest, to the burst
	exists  chan string // files of a root that was added, to the burst
	reports chan []string
	errs    chan error
	stop    chan struct{}
	readers chan struct{} // closed when both goroutines have ended
}

type root struct {
	path   string // absolute
	file   bool   // watched by its folder, because editors replace files
	accept func(string) bool
}

// New starts to watch. Hidden and temporary files, and folders of dependencies and build results, are
// left out below a root.
func New(cfg Config) (*Watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, watchError("files", err)
	}
	w := &Watcher{
		notify: notify, changed: make(chan string), exists: make(chan string), reports: make(chan []string), errs: make(chan error, 1),
		stop: make(chan struct{}), readers: make(chan struct{}),
	}
	known := contents{}
	for _, r := range cfg.Roots {
		files, err := w.addRoot(r)
		if err != nil {
			return nil, errors.Join(err, notify.Close())
		}
		for _, f := range files {
			sum, _ := known.changed(f)
			known.learn(f, sum)
		}
		w.initial = append(w.initial, files...)
	}
	collecting := make(chan struct{})
	go func() {
		defer close(collecting)
		collect(w.stop, w.changed, w.exists, w.reports, cmp.Or(cfg.Quiet, defaultQuiet), known)
	}()
	go func() {
		defer close(w.readers)
		w.readEvents()
		<-collecting
	}()
	return w, nil
}

// Add watches further roots. A path that is one already is watched again: the system stops watching a
// folder that is removed, also if it is back. What is in their files is not known: the first time that
// one is written or removed is a change.
func (w *Watcher) Add(roots ...Root) error {
	for _, r := range roots {
		if err := w.addOrRenew(r); err != nil {
			return err
		}
	}
	return nil
}

func (w *Watcher) addOrRenew(r Root) error {
	path, err := filepath.Abs(r.Path)
	if err != nil {
		return watchError(r.Path, err)
	}
	var files []string
	known := w.allRoots()
	if i := slices.IndexFunc(known, func(k root) bool { return k.path == path }); i >= 0 {
		files, err = w.watchRoot(known[i])
	} else {
		files, err = w.addRoot(r)
	}
	for _, f := range files {
		w.pass(w.exists, f)
	}
	return err
}

func (w *Watcher) allRoots() []root {
	w.rootsMu.Lock()
	defer w.rootsMu.Unlock()
	return w.roots
}

// Initial returns the files of interest that existed when the watcher was made.
func (w *Watcher) Initial() []string { return w.initial }

// Changes delivers the absolute paths of the files that have changed since the last
// delivery, sorted.
func (w *Watcher) Changes() <-chan []string { return w.reports }

// Errors delivers why some changes may not be seen any more.
func (w *Watcher) Errors() <-chan error { return w.errs }

// Close stops watching.
func (w *Watcher) Close() error {
	close(w.stop)
	err := w.notify.Close()
	<-w.readers
	return err
}

// addRoot watches a root and returns the files of interest in it.
func (w *Watcher) addRoot(r Root) (files []string, err error) {
	path, err := filepath.Abs(r.Path)
	if err != nil {
		return nil, watchError(r.Path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, watchError(r.Path, err)
	}
	accept := r.Accept
	if accept == nil {
		accept = func(string) bool { return true }
	}
	added := root{path: path, file: !info.IsDir(), accept: accept}
	w.rootsMu.Lock()
	w.roots = append(w.roots, added)
	w.rootsMu.Unlock()
	return w.watchRoot(added)
}

// watchRoot returns the files of interest in a root.
func (w *Watcher) watchRoot(r root) (files []string, err error) {
	if r.file {
		return []string{r.path}, w.watchFolder(filepath.Dir(r.path))
	}
	return w.addTree(r.path)
}

// addTree watches a folder and those below it, and returns the files of interest in them.
func (w *Watcher) addTree(top string) (files []string, err error) {
	err = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed in the meantime
		case err != nil && path == top:
			return watchError(path, err)
		case err != nil: // a folder that cannot be read has no sources of this user
			return filepath.SkipDir
		case !entry.IsDir():
			if w.wants(path) {
				files = append(files, path)
			}
			return nil
		case path != top && (ignoresFolder(entry.Name()) || isCache(path)):
			return filepath.SkipDir
		}
		switch err := w.watchFolder(path); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.Is(err, fs.ErrPermission) && path != top: // as above: the system asks for access first
			return filepath.SkipDir
		default:
			return err
		}
	})
	return files, err
}

func (w *Watcher) watchFolder(path string) error {
	if err := w.notify.Add(path); err != nil {
		return watchError(path, err)
	}
	return nil
}

// watchError says what to do about an error.
func watchError(what string, err error) error {
	err = fileerror.WithoutPath(err)
	hint := ""
	switch {
	case errors.Is(err, syscall.ENOSPC):
		hint = ": name fewer folders" + raiseLimit("max_user_watches")
	case errors.Is(err, syscall.EMFILE):
		hint = ": stop other programs that watch files, such as editors and control planes, or raise the limit of open files" +
			raiseLimit("max_user_instances")
	case errors.Is(err, fs.ErrPermission):
		hint = ": make it readable, or name another folder"
	}
	return fmt.Errorf("cannot watch %s: %w%s", what, err, hint)
}

// raiseLimit says how to double a limit of inotify; it returns "" on a system without it.
func raiseLimit(name string) string {
	data, err := os.ReadFile(filepath.Join("/proc/sys/fs/inotify", name))
	if err != nil {
		return ""
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", or raise the limit of inotify as root (sysctl -w fs.inotify.%s=%d)", name, 2*limit)
}

// ignoredFolders have no sources, by convention.
var ignoredFolders = []string{"bin", "dist", "build", "vendor", "node_modules", "site-packages", "testdata"}

// isCache reports whether a folder is tagged as a cache, as cargo tags its build folder. It has many folders with
// generated sources.
func isCache(path string) bool {
	_, err := os.Lstat(filepath.Join(path, "CACHEDIR.TAG"))
	return err == nil
}

func ignoresFolder(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains(ignoredFolders, name)
}

// wants reports whether a file is of interest.
func (w *Watcher) wants(path string) bool {
	name := filepath.Base(path)
	if isTemporary(name) {
		return slices.ContainsFunc(w.allRoots(), func(r root) bool { return r.file && r.path == path })
	}
	return slices.ContainsFunc(w.allRoots(), func(r root) bool {
		if r.file {
			return r.path == path
		}
		return r.accept(name) && r.contains(path)
	})
}

// isTemporary reports whether a name is that of a hidden file, of one of an editor, or of the compiled configuration that
// vite writes next to the sources until it has imported it: longer than a moment, and another one at each start.
func isTemporary(name string) bool {
	ofVite := strings.Contains(name, ".timestamp-") && strings.HasSuffix(name, ".mjs")
	return ofVite || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") || strings.HasSuffix(name, "~")
}

// contains reports whether a path is below the root, and in no ignored folder.
func (r root) contains(path string) bool {
	rel, err := filepath.Rel(r.path, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return false
	}
	for dir := filepath.Dir(path); len(dir) > len(r.path); dir = filepath.Dir(dir) {
		if ignoresFolder(filepath.Base(dir)) || isCache(dir) {
			return false
		}
	}
	return true
}

// readEvents passes on what is of interest, and follows new folders.
func (w *Watcher) readEvents() {
	events, errs := w.notify.Events, w.notify.Errors
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			w.handle(e)
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) { // which files is unknown
				w.pass(w.changed, w.allRoots()[0].path)
				continue
			}
			w.report(watchError("files", err))
		}
	}
}

func (w *Watcher) handle(e fsnotify.Event) {
	if !e.Has(fsnotify.Create) && !e.Has(fsnotify.Write) && !e.Has(fsnotify.Remove) && !e.Has(fsnotify.Rename) {
		return // such as a change of permissions, or of the time of the last access
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		for _, r := range w.allRoots() {
			if r.path == e.Name && !r.file {
				w.report(fmt.Errorf("%s was removed or renamed, and is not watched any more: start again once it is back", e.Name))
				return
			}
		}
	}
	if e.Has(fsnotify.Create) && w.follow(e.Name) {
		return
	}
	if w.wants(e.Name) {
		w.pass(w.changed, e.Name)
	}
}

// follow watches a new folder and passes on what it contains already. It reports whether
// path is a folder.
func (w *Watcher) follow(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	inRoot := slices.ContainsFunc(w.allRoots(), func(r root) bool { return !r.file && r.contains(path) })
	if !inRoot || ignoresFolder(filepath.Base(path)) || isCache(path) {
		return true
	}
	files, err := w.addTree(path)
	if err != nil && !errors.Is(err, fs.ErrPermission) { // as one that was there at the start
		w.report(err)
	}
	for _, f := range files {
		w.pass(w.changed, f)
	}
	return true
}

func (w *Watcher) pass(to chan<- string, path string) {
	select {
	case to <- path:
	case <-w.stop:
	}
}

// report keeps the first error that has not been received: one is enough to act on.
func (w *Watcher) report(err error) {
	select {
	case w.errs <- err:
	default:
	}
}
