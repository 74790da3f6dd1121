package etcd

import (
	"time"

	"go.uber.org/zap"
)

// Config says where the data is kept. Dir or Endpoints is needed; everything
// else may be zero.
type Config struct {
	// Dir is the data folder of the embedded member. It is made with mode 0700
	// if it does not exist, and belongs to this process alone while it runs.
	Dir string
	// NoSync leaves out every fsync: faster, but what was written last may be
	// lost or damaged if the machine stops. For data that need not last.
	NoSync bool
	// Logger gets what etcd has to say; nil means no log.
	Logger *zap.Logger

	// Endpoints are the URLs of a cluster to use instead of an embedded member,
	// all http:// or all https://, each with a port.
	Endpoints []string
	// CAFile, CertFile and KeyFile are PEM files for https endpoints. Without
	// CAFile the system's authorities are trusted; CertFile and KeyFile go
	// together.
	CAFile, CertFile, KeyFile string
	// DialTimeout bounds the wait for the cluster's first answer; zero means 5 s.
	DialTimeout time.Duration
}

func (c Config) zapLogger() *zap.Logger {
	if c.Logger == nil {
		return zap.NewNop()
	}
	return c.Logger
}
