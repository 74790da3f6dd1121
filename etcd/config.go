package etcd

import (
	"time"

	"go.uber.org/zap"
)

// Config describes the storage. Dir or Endpoints is required; all other fields may be
// zero.
type Config struct {
	// Dir is the data folder of the embedded member. It is created with mode 0700 if it
	// does not exist. No other process may use it at the same time.
	Dir string
	// HoldsData says that a member has written to Dir before: a folder without its data is
	// refused, instead of starting empty.
	HoldsData bool
	// OtherDisk says how to choose a folder on another disk, in an error about too little space,
	// such as "set TMPDIR to a folder on a larger disk"; empty means not at all.
	OtherDisk string
	// NoSync omits every fsync. This is faster, but a crash of the machine may lose or
	// damage the last writes.
	NoSync bool
	// Logger receives etcd's log; nil means no log.
	Logger *zap.Logger
	// RefusedWrite returns the error of a write of Client that is refused because there is
	// no space; nil means a plain error.
	RefusedWrite func(reason string) error
	// OnSpace receives a line when writes begin to be refused, and when they have been
	// accepted again for some seconds; nil means that it is only logged. It must not block.
	OnSpace func(message string)

	// quotaBytes limits the database, freeBytes returns the free space on the disk of Dir,
	// fileSizeLimit the process's limit of file sizes, and dialTimeout the wait for a cluster's first
	// answer; zero means the defaults. For tests.
	quotaBytes    int64
	freeBytes     func() (bytes uint64, known bool)
	fileSizeLimit func() (bytes int64, limited bool)
	dialTimeout   time.Duration

	// Endpoints are the URLs of a cluster to use instead of an embedded member: all
	// http:// or all https://, each with a port.
	Endpoints []string
	// CAFile, CertFile and KeyFile are PEM files for https endpoints. Without CAFile
	// the system's CAs are trusted. CertFile requires KeyFile and vice versa.
	CAFile, CertFile, KeyFile string
}

func (c Config) zapLogger() *zap.Logger {
	if c.Logger == nil {
		return zap.NewNop()
	}
	return c.Logger
}
