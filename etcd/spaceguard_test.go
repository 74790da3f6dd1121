package etcd

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ctrlplane/ctrlplane/internal/sleep"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// spaceReports collects what Config.OnSpace receives.
type spaceReports struct {
	mu    sync.Mutex
	lines []string
}

func (r *spaceReports) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

func (r *spaceReports) contain(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(strings.Join(r.lines, "\n"), text)
}

// await returns when done does.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx := testContext(t)
	for !done() {
		if !sleep.For(ctx, 10*time.Millisecond) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

// create is how the API server creates an object.
func create(t *testing.T, c *clientv3.Client, key, value string) error {
	t.Helper()
	_, err := c.Txn(testContext(t)).If(clientv3.Compare(clientv3.ModRevision(key), "=", 0)).Then(clientv3.OpPut(key, value)).Commit()
	return err
}

var errRefused = errors.New("refused")

func refusedForTest(reason string) error { return fmt.Errorf("%w: %s", errRefused, reason) }

func TestWritesAreRefusedWhileTheDiskIsNearlyFull(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 30)
	reports := &spaceReports{}
	s := startServer(t, Config{
		Dir: t.TempDir(), NoSync: true, RefusedWrite: refusedForTest, OnSpace: reports.add,
		freeBytes: func() (uint64, bool) { return free.Load(), true },
	})
	c, err := s.Client()
	must(t, err)
	defer c.Close()
	putKey(t, c, "k", "v")

	free.Store(5 << 20)
	await(t, "a report", func() bool { return reports.contain("the disk of") })
	_, put := c.Put(testContext(t), "k", "w")
	_, del := c.Delete(testContext(t), "k")
	_, grant := c.Grant(testContext(t), 60)
	for what, err := range map[string]error{"create": create(t, c, "new", "v"), "put": put, "delete": del, "lease": grant} {
		if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), s.cfg.Dir+" has 5 MiB free, and etcd needs 32 MiB: free space there") {
			t.Errorf("%s: got %v, want that it is refused", what, err)
		}
	}
	if done, err := s.ReplaceState(testContext(t), "/registry", snapshot.State{Entries: []snapshot.Entry{{Key: "/a", Value: []byte("v")}}}); !errors.Is(err, errRefused) || done.Total() > 0 {
		t.Errorf("restore: got %v, %v; want that it is refused", done, err)
	}
	if value, _ := getKey(t, c, "k"); value != "v" {
		t.Errorf("read %q, want the value before", value)
	}

	free.Store(1 << 30)
	await(t, "a report of the end", func() bool { return reports.contain("writes are accepted") })
	putKey(t, c, "k", "x")
	if len(reports.lines) != 2 {
		t.Errorf("reports %q, want one of the begin and one of the end", reports.lines)
	}
}

// What is written in parts is checked as a whole, and keeps no space.
func TestCheckSpace(t *testing.T) {
	s := startServer(t, Config{
		Dir: t.TempDir(), NoSync: true, RefusedWrite: refusedForTest,
		freeBytes: func() (uint64, bool) { return enoughDiskBytes, true },
	})
	stateOfBytes := func(bytes int) snapshot.State {
		return snapshot.State{Entries: []snapshot.Entry{{Key: "/a", Value: make([]byte, bytes)}}}
	}
	for range 3 {
		if err := s.CheckSpace(snapshot.State{}, stateOfBytes(segmentBytes/spaceFactor-100)); err != nil {
			t.Error(err)
		}
	}
	if err := s.CheckSpace(snapshot.State{}, stateOfBytes(segmentBytes)); !errors.Is(err, errRefused) {
		t.Errorf("got %v, want that it is refused", err)
	}
}

// steppedWatch is the watch of the space of a server whose steps only the test takes.
type steppedWatch struct {
	*spaceWatch
	free    uint64 // bytes on the disk
	reports spaceReports
}

func newSteppedWatch(t *testing.T) *steppedWatch {
	t.Helper()
	w := &steppedWatch{free: 1 << 30}
	cfg := Config{Dir: t.TempDir(), NoSync: true, RefusedWrite: refusedForTest, OnSpace: w.reports.add}
	m := startServer(t, cfg).member
	m.stopWatch()
	m.guard.free = func() (uint64, bool) { return w.free, true }
	w.spaceWatch = m.newSpaceWatch(cfg)
	return w
}

// That writes were refused is reported even if they are accepted before the next look, as
// when many large writes were in flight.
func TestShortRefusalIsReported(t *testing.T) {
	w := newSteppedWatch(t)
	w.calm = 0
	w.look(t.Context())

	w.free = 5 << 20
	if _, err := w.guard.admit(update, 1); !errors.Is(err, errRefused) {
		t.Fatalf("got %v, want that it is refused", err)
	}
	w.free = 1 << 30
	w.look(t.Context())
	reports := w.reports.lines
	if want := []string{"all writes are refused", "writes are accepted"}; len(reports) != 2 || !strings.Contains(reports[0], want[0]) || !strings.Contains(reports[1], want[1]) {
		t.Errorf("reports %q, want %q", reports, want)
	}
	if end, err := w.guard.admit(update, 1); err != nil {
		t.Error(err)
	} else {
		end()
	}
}

// While the free space goes up and down around the limit, a person reads one line.
func TestHoveringDiskIsReportedOnce(t *testing.T) {
	w := newSteppedWatch(t)
	for _, tt := range []struct {
		what  string
		hover func()
	}{
		{"another process fills the disk and makes room again", func() {
			w.free = minDiskBytes - 1
			w.look(t.Context())
			w.free = enoughDiskBytes
			w.look(t.Context())
		}},
		{"large writes come together again and again", func() {
			w.free = enoughDiskBytes
			if _, err := w.guard.admit(update, 4<<20); !errors.Is(err, errRefused) {
				t.Fatalf("got %v, want that it is refused", err)
			}
			w.look(t.Context())
		}},
	} {
		w.reports.lines = nil
		for range 20 {
			tt.hover()
			if w.guard.diskLow.Load() != nil {
				t.Fatalf("%s: writes are refused", tt.what)
			}
		}
		if lines := w.reports.lines; len(lines) != 1 || !strings.Contains(lines[0], "all writes are refused") {
			t.Errorf("%s: reports %q, want one", tt.what, lines)
		}
		w.calm = 0
		w.look(t.Context())
		w.calm = calmTime
		if lines := w.reports.lines; len(lines) != 2 || !strings.Contains(lines[1], "writes are accepted") {
			t.Errorf("%s: reports %q, want one more of the end", tt.what, lines)
		}
	}
}

// Another process may have filled the disk since the write before.
func TestDiskIsMeasuredBeforeEachWrite(t *testing.T) {
	free := uint64(1 << 40)
	cfg := Config{freeBytes: func() (uint64, bool) { return free, true }}
	g := newSpaceGuard(cfg, newFileLimit(cfg), func() {})
	end, err := g.admit(update, 1)
	must(t, err)
	end()
	free = 1 << 20
	for range 2 {
		if _, err := g.admit(deletion, 1); err == nil {
			t.Error("a write was admitted")
		}
	}
	if _, err := g.admit(noWrite, 0); err != nil {
		t.Errorf("read: got %v", err)
	}
	if n := g.inFlight.Load(); n != 0 {
		t.Errorf("%d bytes in flight", n)
	}
}

// The reserve has room for what the database has not written.
func TestDatabaseIsWrittenBeforeTheReserveIsTooSmall(t *testing.T) {
	commits := 0
	cfg := Config{freeBytes: func() (uint64, bool) { return 1 << 40, true }}
	g := newSpaceGuard(cfg, newFileLimit(cfg), func() { commits++ })
	for range 10 {
		end, err := g.admit(update, commitBytes/2)
		must(t, err)
		end()
	}
	if commits < 4 || commits > 5 {
		t.Errorf("%d commits, want one for each %d bytes", commits, commitBytes)
	}
}

// Near the limit, what is in flight or only in the log counts as well.
func TestDiskIsMeasuredBeforeEachWriteNearTheLimit(t *testing.T) {
	free, commits := uint64(minDiskBytes+8<<20), 0
	cfg := Config{freeBytes: func() (uint64, bool) { return free, true }}
	g := newSpaceGuard(cfg, newFileLimit(cfg), func() { commits++ })
	g.measureDisk()
	end, err := g.admit(update, 2<<20)
	if err != nil || commits != 1 {
		t.Fatalf("got %v after %d commits, want one commit", err, commits)
	}
	if _, err := g.admit(update, 1<<10); err != nil {
		t.Errorf("got %v", err)
	}
	if _, err := g.admit(update, 1<<20); err == nil {
		t.Error("a write was admitted whose space others will take")
	}
	end()
	g.remeasureDisk()
	if g.diskLow.Load() != nil {
		t.Errorf("still refused: %s", *g.diskLow.Load())
	}
}

const testQuota = 32 << 20

// fullDatabase fills a database. It takes the steps of the spaceWatch itself, because
// the reserve of so small a quota is used up faster than that looks.
type fullDatabase struct {
	*spaceWatch
	t       *testing.T
	server  *Server
	client  *clientv3.Client
	value   string
	reports *spaceReports
	writes  int
}

func newFullDatabase(t *testing.T, dir string) *fullDatabase {
	t.Helper()
	d := &fullDatabase{t: t, value: strings.Repeat("v", 32<<10), reports: &spaceReports{}}
	cfg := Config{Dir: dir, NoSync: true, RefusedWrite: refusedForTest, OnSpace: d.reports.add, quotaBytes: testQuota}
	d.server = startServer(t, cfg)
	d.server.member.stopWatch()
	d.spaceWatch = d.server.member.newSpaceWatch(cfg)
	d.settle, d.calm = 100*time.Millisecond, 0
	var err error
	d.client, err = d.server.Client()
	must(t, err)
	t.Cleanup(func() { d.client.Close() })
	return d
}

// look also lets compactions end.
func (d *fullDatabase) look() {
	d.t.Helper()
	ctx := testContext(d.t)
	d.spaceWatch.look(ctx)
	for d.compacting {
		await(d.t, "the end of a compaction", d.compactionSettled)
		d.spaceWatch.look(ctx)
	}
	must(d.t, ctx.Err())
}

// wrote has etcd measure its database, as it does every 100 ms.
func (d *fullDatabase) wrote() {
	d.t.Helper()
	d.spaceWatch.server.Backend().ForceCommit()
	if d.writes++; d.writes%8 == 0 {
		d.look()
	}
}

// isRefusedForAMoment reports whether all writes are refused until the next look: readers may keep so many old pages
// that the file grows to its limit between two looks.
func isRefusedForAMoment(err error) bool {
	return errors.Is(err, errRefused) && strings.Contains(err.Error(), "for a moment")
}

// update also looks when all writes are refused for a moment.
func (d *fullDatabase) update(key string) {
	d.t.Helper()
	for {
		_, err := d.client.Put(testContext(d.t), key, d.value)
		if err == nil {
			break
		}
		if !isRefusedForAMoment(err) {
			d.t.Fatalf("put %s: %v", key, err)
		}
		d.look()
	}
	d.wrote()
}

// Objects can be deleted from a full database, for which Kubernetes first updates some,
// and then there is room again.
func TestFullDatabase(t *testing.T) {
	dir := t.TempDir()
	d := newFullDatabase(t, dir)
	d.recent, d.commitPause = time.Hour, time.Hour // no compaction keeps recent revisions: none is measured again at once
	created := 0
	var err error
	for ; err == nil; created++ {
		err = create(t, d.client, fmt.Sprintf("k%d", created), d.value)
		d.wrote()
	}
	created--
	if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "of 32 MiB: delete objects") {
		t.Errorf("create: got %v, want that it is refused", err)
	}
	if !d.reports.contain("new objects are refused") {
		t.Errorf("reports %q", d.reports.lines)
	}
	// Far more than is kept in reserve: what an update replaces does not count.
	for i := range created / 8 {
		d.update(fmt.Sprintf("k%d", i))
	}
	if value, _ := getKey(t, d.client, "k0"); value != d.value {
		t.Error("read something else")
	}
	must(t, d.client.Close())
	closeServer(t, d.server)

	d = newFullDatabase(t, dir)
	d.look()
	if err := create(t, d.client, "new", d.value); !errors.Is(err, errRefused) {
		t.Errorf("after a new start: got %v, want that it is refused", err)
	}
	for i := range created / 2 {
		_, err := d.client.Delete(testContext(t), fmt.Sprintf("k%d", i))
		must(t, err)
	}
	d.look()
	must(t, create(t, d.client, "new", d.value))
	d.look()
	if _, bytes := d.server.Size(); bytes > testQuota*3/4 {
		t.Errorf("the file has %d bytes, want that its free pages were removed", bytes)
	}
	if !d.reports.contain("new objects are accepted") {
		t.Errorf("reports %q", d.reports.lines)
	}
}

// Old revisions are removed before anything is refused, and before the API server's
// compaction.
func TestOldRevisionsDoNotFillTheDatabase(t *testing.T) {
	d := newFullDatabase(t, t.TempDir())
	for range 2 * testQuota / len(d.value) {
		d.update("k")
	}
	must(t, create(t, d.client, "new", "v"))
	if len(d.reports.lines) > 0 {
		t.Errorf("reports %q, want none", d.reports.lines)
	}
}

// Watches read the value before an event at the revision before it: a nearly full database keeps
// the newest revisions if it has room without the others.
func TestRecentRevisionsAreRemovedLast(t *testing.T) {
	d := newFullDatabase(t, t.TempDir())
	d.recent, d.commitTries = time.Hour, int(testTimeout/2/commitPause) // a busy machine ends readers late
	fill := func() {
		for before := d.compacted; d.compacted == before; {
			d.update("k")
		}
	}
	for range testQuota / 2 / len(d.value) {
		d.update("k")
	}
	_, old := getKey(t, d.client, "k")
	d.old.moments = []moment{{at: time.Now().Add(-2 * d.recent), revision: old}}
	awaitWatches := watchPrevious(t, d.client, "k")
	fill()
	if d.compacted != old {
		t.Errorf("removed up to %d, want %d", d.compacted, old)
	}
	_, latest := getKey(t, d.client, "k")
	awaitWatches(latest)
	if _, err := d.client.Get(testContext(t), "k", clientv3.WithRev(old-1)); !errors.Is(rpctypes.Error(err), rpctypes.ErrCompacted) {
		t.Errorf("an old revision: %v", err)
	}
	if _, err := d.client.Get(testContext(t), "k", clientv3.WithRev(old+1)); err != nil {
		t.Errorf("a recent revision: %v", err)
	}
	fill() // there is nothing else to remove
	if _, now := getKey(t, d.client, "k"); d.compacted < now-16 {
		t.Errorf("removed up to %d of %d", d.compacted, now)
	}
	must(t, create(t, d.client, "new", "v"))
	if len(d.reports.lines) > 0 {
		t.Errorf("reports %q, want none", d.reports.lines)
	}
}

// watchPrevious begins watches of a key that exists: each of their events must have the value
// before. The returned function waits until they have received the events up to a revision.
func watchPrevious(t *testing.T, c *clientv3.Client, key string) (await func(revision int64)) {
	t.Helper()
	var watches []clientv3.WatchChan
	for range 5 {
		watch := c.Watch(testContext(t), key, clientv3.WithPrevKV(), clientv3.WithCreatedNotify())
		if created := <-watch; !created.Created {
			t.Fatalf("watch: %v", created.Err())
		}
		watches = append(watches, watch)
	}
	return func(revision int64) {
		t.Helper()
		for _, watch := range watches {
			for received := int64(0); received < revision; {
				response := <-watch
				must(t, response.Err())
				for _, event := range response.Events {
					if received = event.Kv.ModRevision; event.PrevKv == nil {
						t.Fatalf("the event of revision %d of %d has no value before it", received, revision)
					}
				}
			}
		}
	}
}

// Objects fill the database, not revisions: new ones must be refused as soon as that is known.
func TestFullDatabaseIsCompactedWithoutDelay(t *testing.T) {
	d := newFullDatabase(t, t.TempDir())
	d.recent = time.Hour
	early := putKey(t, d.client, "k", "v")
	d.old.moments = []moment{{at: time.Now().Add(-2 * d.recent), revision: early}}
	for i := 0; d.compacted == 0; i++ {
		err := create(t, d.client, fmt.Sprintf("k%d", i), d.value)
		if err != nil && !isRefusedForAMoment(err) {
			t.Fatal(err)
		}
		d.spaceWatch.server.Backend().ForceCommit()
		if err != nil || i%8 == 0 {
			d.spaceWatch.look(t.Context())
		}
	}
	if d.compacted != early {
		t.Fatalf("removed up to %d, want %d", d.compacted, early)
	}
	refused := false // for a moment: then what the compaction has gained is not used up
	for round := range 20 {
		for i := range 16 { // more than the compaction itself gains
			err := create(t, d.client, fmt.Sprintf("more%d-%d", round, i), d.value)
			if err != nil && !isRefusedForAMoment(err) {
				t.Fatal(err)
			}
			refused = refused || err != nil
		}
		await(t, "the end of the compaction", d.compactionSettled)
		for range 2 { // the first may have removed free pages
			d.spaceWatch.look(t.Context())
		}
		if d.compacted != early || !refused {
			break
		}
	}
	if now := d.spaceWatch.server.KV().Rev(); d.compacted != now {
		t.Errorf("removed up to %d, want %d, as that has gained nothing", d.compacted, now)
	}
	d.look()
	if err := create(t, d.client, "new", d.value); !errors.Is(err, errRefused) {
		t.Errorf("create: got %v, want that it is refused", err)
	}
}

// An alarm that an earlier program has left is disarmed if there is room.
func TestAlarmIsDisarmedAtTheStart(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), NoSync: true}
	s := startServer(t, cfg)
	srv := s.member.etcd.Server
	s.member.stopWatch()
	_, err := srv.Alarm(testContext(t), &pb.AlarmRequest{MemberID: uint64(srv.MemberID()), Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_NOSPACE})
	must(t, err)
	closeServer(t, s)
	s = startServer(t, cfg)
	c, err := s.Client()
	must(t, err)
	defer c.Close()
	await(t, "a write", func() bool {
		_, err := c.Put(testContext(t), "k", "v")
		return err == nil
	})
}
