package loopback

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// callContext is the context that the handler gets. It ends with the caller's
// context and has its deadline, but none of its values: a caller that is itself
// handling a request of the same server would pass on what belongs to that
// request, like its log entry and its audit event.
type callContext struct {
	caller context.Context
	user   user.Info
}

// identityKey is the key of the caller's identity. The type is not exported, so
// that no other code can set it, and no request from a socket carries it.
type identityKey struct{}

func (c callContext) Deadline() (deadline time.Time, ok bool) { return c.caller.Deadline() }

func (c callContext) Done() <-chan struct{} { return c.caller.Done() }

func (c callContext) Err() error { return c.caller.Err() }

func (c callContext) Value(key any) any {
	if key == (identityKey{}) {
		return c.user
	}
	return nil
}

// AfterFunc lets context.WithCancel do without a goroutine for each request.
func (c callContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.caller, f)
}
