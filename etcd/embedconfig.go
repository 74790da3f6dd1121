package etcd

import (
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

const (
	// placeholderURL stands for a member nobody can reach by its address. Port
	// 0 cannot be dialled, so a client without the Dialer fails instead of
	// talking to another etcd of this machine; an address needs no DNS.
	placeholderURL = "http://127.0.0.1:0"

	// A lone member has nobody to send heartbeats to, and is made leader without
	// its election timer (see elect). A slow tick costs least while idle: of one
	// core of a small virtual machine 1.4 % at 10 ms, 0.4 % at etcd's own 100 ms
	// and 0.2 % here.
	tickInterval = 500 * time.Millisecond
	// The timer must not run out first: raft panics in an election while entries
	// wait to be applied, as they do for seconds where the disk is slow.
	electionTimeout = 20 * tickInterval

	quotaBytes = 8 << 30

	// progressInterval is how often a quiet watch is told the revision, which becomes
	// the bookmark of a client. Upstream's watch cache sends one as often.
	progressInterval = time.Minute

	// snapshotEntries bounds what a start has to replay, catchUpEntries what
	// raft keeps in memory for followers, of which there are none.
	snapshotEntries = 5000
	catchUpEntries  = 100

	// maxOldFiles is how many old log and snapshot files are kept; etcd never
	// removes those it needs.
	maxOldFiles = 2
)

func newEmbedConfig(cfg Config, lg *zap.Logger) (*embed.Config, error) {
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
	c.WatchProgressNotifyInterval = progressInterval
	c.SnapshotCount, c.SnapshotCatchUpEntries = snapshotEntries, catchUpEntries
	c.MaxSnapFiles, c.MaxWalFiles = maxOldFiles, maxOldFiles
	return c, nil
}
