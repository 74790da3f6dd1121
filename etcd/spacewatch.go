package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.uber.org/zap"

	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

// spaceInterval is how often the disk and the database are measured.
const spaceInterval = time.Second

// calmTime is for how long writes must have been accepted until that is reported: the free
// space may go up and down around the limit.
const calmTime = 5 * time.Second

// recentTime is for how long watches may need the revision before an event, to read the value
// before it. One that does not find it ends.
const recentTime = 5 * time.Second

// spaceWatch keeps a spaceGuard up to date, removes old revisions, makes room in the database
// when it is nearly full, and reports when writes are refused and when they are accepted again.
type spaceWatch struct {
	lifetime *lifetime // of the server
	guard    *spaceGuard
	reserve  *reserve
	server   *etcdserver.EtcdServer
	old      *oldRevisions
	quota    int64
	report   func(string)
	log      *zap.Logger

	compacted  int64 // the revision of the last compaction here
	keepsNew   bool  // that has kept the revisions of the last moments
	compacting bool  // what that has gained is not known yet
	endedAt    time.Time
	measured   int64         // how much the database used when it was last measured after the compaction
	settle     time.Duration // until readers of the database have released its old pages

	calm        time.Duration // calmTime
	recent      time.Duration // recentTime
	commitTries int           // commitTries
	commitPause time.Duration // commitPause
	disk, db    refusal
}

// refusal is what was reported about refused writes.
type refusal struct {
	reported bool      // that they are refused, and not yet that they are accepted again
	ended    time.Time // since when they are accepted; zero = they are refused
}

func (m *member) newSpaceWatch(cfg Config) *spaceWatch {
	server := m.etcd.Server
	w := &spaceWatch{
		lifetime: m.lifetime, guard: m.guard, reserve: &reserve{dir: cfg.Dir, snapshot: m.snapshotRoom}, server: server, old: newOldRevisions(server),
		quota: server.Cfg.QuotaBackendBytes, report: cfg.OnSpace, log: cfg.zapLogger(), settle: spaceInterval, calm: calmTime, recent: recentTime,
		commitTries: commitTries, commitPause: commitPause,
	}
	if w.report == nil {
		w.report = func(message string) { w.log.Warn(message) }
	}
	return w
}

// run returns when ctx ends.
func (w *spaceWatch) run(ctx context.Context) {
	ticker := time.NewTicker(spaceInterval)
	defer ticker.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-w.guard.wakeUp:
		}
	}
}

func (w *spaceWatch) look(ctx context.Context) {
	w.keepReserve()
	w.measureDisk()
	// A fatal error of etcd ends the goroutine of the call.
	_, err := abandonable(w.lifetime, func() (any, error) {
		return nil, errors.Join(w.removeOldRevisions(ctx, time.Now()), w.makeRoom(ctx))
	})
	if err != nil && ctx.Err() == nil {
		w.log.Warn("cannot make room in the database", zap.Error(err))
	}
	w.reportDisk()
	w.reportChange(&w.db, w.guard.dbFull.Load(), "", "etcd's database has room again: new objects are accepted")
}

func (w *spaceWatch) removeOldRevisions(ctx context.Context, now time.Time) error {
	return w.old.look(ctx, moment{at: now, revision: w.server.KV().Rev(), written: w.guard.written.Load()})
}

// keepReserve allocates the reserve of the database again when some of it was used.
func (w *spaceWatch) keepReserve() {
	err := w.reserve.ensure(w.server.Backend().Size())
	if err != nil && !errors.Is(err, errNoRoom) {
		w.log.Debug("the database has no reserve", zap.Error(err))
	}
	w.guard.noReserve.Store(errors.Is(err, errNoRoom))
}

// measureDisk accepts writes again only after it has reported that they were refused, which
// may have been for a moment only: as long as many large ones were in flight.
func (w *spaceWatch) measureDisk() {
	if w.guard.diskLow.Load() == nil {
		w.guard.measureDisk()
		return
	}
	w.reportDisk()
	w.guard.remeasureDisk()
}

func (w *spaceWatch) reportDisk() {
	w.reportChange(&w.disk, w.guard.diskLow.Load(), "; reads are served", "the disk has room again: writes are accepted")
}

// reportChange reports that writes are refused, once, and that they are accepted again, once
// that has lasted.
func (w *spaceWatch) reportChange(r *refusal, reason *string, addition, end string) {
	switch {
	case reason != nil:
		r.ended = time.Time{}
		if !r.reported {
			r.reported = true
			w.report(*reason + addition)
		}
	case r.reported:
		if r.ended.IsZero() {
			r.ended = time.Now()
		}
		if time.Since(r.ended) >= w.calm {
			*r = refusal{}
			w.report(end)
		}
	}
}

// makeRoom takes the next step if the database is nearly full.
func (w *spaceWatch) makeRoom(ctx context.Context) error {
	reserve := w.quota / 16 // for updates and deletions
	full, enough := w.quota-reserve, w.quota-2*reserve
	gained := w.compacting && w.compactionSettled() // before the measurement
	db := w.server.Backend()
	if db.Size() >= full {
		w.commitFreePages()
		for tries := 0; gained && w.keepsNew && db.SizeInUse() >= full && tries < w.commitTries && sleep.For(ctx, w.commitPause); tries++ {
			w.commitFreePages()
		}
	}
	size, used := db.Size(), db.SizeInUse()
	switch {
	case gained && used >= full && w.keepsNew: // the next one keeps nothing, and begins now
		w.compacting = false
	case gained && used >= full && used < w.measured: // or measured for the first time
		w.measured, w.endedAt = used, time.Now() // readers may still hold old pages
	case gained:
		w.compacting, w.keepsNew = false, false
		w.judge(used, full, enough)
	}
	switch {
	case size >= full && size-used >= 2*reserve, size >= w.quota-reserve/4 && size-used >= reserve/4:
		if err := w.defragment(used); err != nil {
			return err
		}
	case !w.compacting && (used >= full || w.guard.dbFull.Load() != nil) && w.server.KV().Rev() > w.compacted:
		return w.compact(ctx)
	}
	return w.disarm(ctx)
}

// judge decides whether new objects are refused, by what a compaction has left.
func (w *spaceWatch) judge(used, full, enough int64) {
	switch {
	case used >= full:
		reason := fmt.Sprintf("new objects are refused: etcd's database uses %d of %d MiB: delete objects, which still works, as do updates", used>>20, w.quota>>20)
		w.guard.dbFull.Store(&reason)
	case used < enough:
		w.guard.dbFull.Store(nil)
	}
}

// compact removes old revisions. The API server does so only every five minutes. It keeps those
// that watches may need, unless removing the others was not enough.
func (w *spaceWatch) compact(ctx context.Context) error {
	revision := w.old.revisionAt(time.Now().Add(-w.recent))
	w.keepsNew = !w.keepsNew && revision > w.compacted
	if !w.keepsNew {
		revision = w.server.KV().Rev()
	}
	w.compacted, w.compacting, w.endedAt, w.measured = revision, true, time.Time{}, math.MaxInt64
	_, err := w.server.Compact(ctx, &pb.CompactionRequest{Revision: w.compacted})
	if errors.Is(err, mvcc.ErrCompacted) { // by the API server
		err = nil
	}
	return err
}

// compactionSettled reports whether the last compaction here has ended and its effect
// can be measured.
func (w *spaceWatch) compactionSettled() bool {
	tx := w.server.Backend().ReadTx()
	tx.RLock()
	finished, _ := mvcc.UnsafeReadFinishedCompact(tx)
	tx.RUnlock()
	if finished < w.compacted {
		return false
	}
	if w.endedAt.IsZero() {
		w.endedAt = time.Now()
	}
	return time.Since(w.endedAt) >= w.settle
}

// Released pages count as used until etcd has ended the transaction that may still read them: in a goroutine, once a
// commit was made and the last reader has ended. On a busy machine that may be after the next commit. Before all
// revisions are removed, some more commits wait for it; for a reader that takes longer they do not.
const (
	commitTries = 10
	commitPause = 10 * time.Millisecond
)

// commitFreePages makes the pages count as free that a compaction has released: one
// commit releases them, the next one counts them. A commit needs a write: these write
// what is there already.
func (w *spaceWatch) commitFreePages() {
	tx := w.server.Backend().BatchTx()
	for range 2 {
		tx.LockOutsideApply()
		if finished, ok := mvcc.UnsafeReadFinishedCompact(tx); ok {
			mvcc.UnsafeSetFinishedCompact(tx, finished)
		}
		tx.Unlock()
		w.server.Backend().ForceCommit()
	}
}

// defragment rewrites the database file without its free pages, which etcd's quota
// counts as used. Calls wait in the meantime.
func (w *spaceWatch) defragment(used int64) error {
	if free, known := w.guard.free(); known && free < uint64(used)+minDiskBytes {
		return fmt.Errorf("%d MiB of free pages: removing them needs %d MiB on the disk of %s, and it has %d MiB", (w.server.Backend().Size()-used)>>20, (used+minDiskBytes)>>20, w.guard.dir, free>>20)
	}
	w.reserve.db = 0 // it has another file
	return w.server.Backend().Defrag()
}

// disarm ends the alarm that etcd raises at its quota, once there is room: it refuses
// every write until then.
func (w *spaceWatch) disarm(ctx context.Context) error {
	if w.server.Backend().Size() >= w.quota {
		return nil
	}
	for _, alarm := range w.server.Alarms() {
		if alarm.Alarm != pb.AlarmType_NOSPACE {
			continue
		}
		off := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: alarm.MemberID, Alarm: alarm.Alarm}
		if _, err := w.server.Alarm(ctx, off); err != nil {
			return fmt.Errorf("alarm NOSPACE: %w", err)
		}
	}
	return nil
}
