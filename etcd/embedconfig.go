package etcd

import (
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

const (
	// placeholderURL is the address of a member without a port. Port 0 cannot be
	// dialed, so a client without the dialer of the member fails instead of reaching another etcd on
	// this machine. An IP address needs no DNS.
	placeholderURL = "http://127.0.0.1:0"

	// A single member sends no heartbeats, and becomes leader without its election
	// timer (see becomeLeader). A long tick saves CPU while idle: on a small virtual
	// machine it uses 1.4 % of a core with 10 ms, 0.4 % with etcd's default of 100 ms,
	// and 0.2 % with this value.
	tickInterval = 500 * time.Millisecond
	// The timer must not expire before that: raft panics in an election while entries
	// wait to be applied, which takes seconds on a slow disk. Etcd grants no lease that is
	// shorter than one and a half of it.
	electionTimeout = 20 * tickInterval

	defaultQuotaBytes = 8 << 30

	// snapshotEntries limits what a start has to replay, catchUpEntries what raft keeps
	// in memory for followers. There are none.
	snapshotEntries = 5000
	catchUpEntries  = 100

	// maxOldFiles is how many old log and snapshot files are kept. Etcd does not remove
	// files that it needs.
	maxOldFiles = 2
)

// BookmarkInterval is how often a watch without events gets a progress notification, which
// becomes a client's bookmark. Upstream's watch cache sends bookmarks half as often; old
// revisions have to be kept until the next bookmark.
const BookmarkInterval = 30 * time.Second

func newEmbedConfig(cfg Config, quotaBytes int64, lg *zap.Logger) (*embed.Config, error) {
	u, err := url.Parse(placeholderURL)
	if err != nil {
		return nil, err
	}
	c := embed.NewConfig()
	c.Name = "embedded"
	c.Dir = cfg.Dir
	c.UnsafeNoFsync = cfg.NoSync
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(lg)

	c.ListenPeerUrls, c.ListenClientUrls = nil, nil
	c.AdvertisePeerUrls, c.AdvertiseClientUrls = []url.URL{*u}, []url.URL{*u}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.EnableGRPCGateway = false

	c.TickMs = uint(tickInterval.Milliseconds())
	c.ElectionMs = uint(electionTimeout.Milliseconds())
	c.InitialElectionTickAdvance = false
	c.QuotaBackendBytes = quotaBytes
	c.WatchProgressNotifyInterval = BookmarkInterval
	c.SnapshotCount, c.SnapshotCatchUpEntries = snapshotEntries, catchUpEntries
	c.MaxSnapFiles, c.MaxWalFiles = maxOldFiles, maxOldFiles
	return c, nil
}
