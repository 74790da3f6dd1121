package clients

import (
	"sync"
	"time"
)

// rateLimit allows one record a second. Any local process can send requests without authentication, and many of them:
// their records would take the place of all others.
type rateLimit struct {
	mu   sync.Mutex
	last time.Time
}

func (l *rateLimit) allow(at time.Time) bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.IsZero() && at.Sub(l.last) < time.Second {
		return false
	}
	l.last = at
	return true
}
