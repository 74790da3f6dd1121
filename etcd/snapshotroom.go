package etcd

import (
	"os"
	"path/filepath"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	// snapshotBytes is how much a snapshot of raft may take. It only has the members; the
	// data is in the database.
	snapshotBytes = 64 << 10

	// What etcd logs before it writes a snapshot, and after it.
	snapshotBegins = "triggering snapshot"
	snapshotEnds   = "saved snapshot to disk"
)

// snapshotRoom keeps space allocated for the next snapshot of raft, which etcd writes after
// every snapshotEntries writes: the member ends when it cannot write one.
type snapshotRoom struct {
	path string

	mu    sync.Mutex
	given bool // to the snapshot that etcd is writing
}

// newSnapshotRoom returns the room in the member's folder of the log, where etcd ignores
// files whose names end in .tmp.
func newSnapshotRoom(dir string) *snapshotRoom {
	return &snapshotRoom{path: filepath.Join(logDir(dir), "snapshot.tmp")}
}

// ensure allocates the space, except while a snapshot uses it.
func (r *snapshotRoom) ensure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.given {
		return nil
	}
	return allocateFile(r.path, os.O_WRONLY|os.O_CREATE, snapshotBytes)
}

func (r *snapshotRoom) give() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.given = true
	_ = os.Remove(r.path) // if it does not exist or stays, etcd reports that space is missing
}

func (r *snapshotRoom) takeBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.given = false
}

// watchLogger returns lg with the effect that a snapshot gets the room.
func (r *snapshotRoom) watchLogger(lg *zap.Logger) *zap.Logger {
	return lg.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core { return snapshotWatcher{core, r} }))
}

// snapshotWatcher watches the log for the beginning and the end of a snapshot, whatever level is
// written.
type snapshotWatcher struct {
	zapcore.Core
	room *snapshotRoom
}

func (l snapshotWatcher) Enabled(level zapcore.Level) bool {
	return level == zapcore.InfoLevel || l.Core.Enabled(level)
}

func (l snapshotWatcher) With(fields []zapcore.Field) zapcore.Core {
	return snapshotWatcher{l.Core.With(fields), l.room}
}

func (l snapshotWatcher) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	switch entry.Message {
	case snapshotBegins:
		l.room.give()
	case snapshotEnds:
		l.room.takeBack()
	}
	return l.Core.Check(entry, checked)
}
