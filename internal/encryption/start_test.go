package encryption

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// startOf is a start whose API server awaits two resources; encrypted says that a Secret is.
type startOf struct {
	encrypted bool
	hangs     bool // reads end with their context
	reads     []string
	log       bytes.Buffer
}

func (s *startOf) wait(ctx context.Context, wait func(context.Context) error) error {
	return StartCheck{
		Awaited: func() map[string]bool { return map[string]bool{"secrets": true, "configmaps": true} },
		Read: func(ctx context.Context, prefix string) (state snapshot.State, err error) {
			s.reads = append(s.reads, prefix)
			if s.hangs {
				<-ctx.Done()
				return state, context.Cause(ctx)
			}
			if s.encrypted && prefix == "secrets" {
				state.Entries = []snapshot.Entry{{Key: "/default/a", Value: []byte(valuePrefix + "aesgcm:v1:k1:value")}}
			}
			return state, nil
		},
		Check:  Reader{Prefix: "/registry"}.Check,
		Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
	}.Wait(ctx, wait)
}

// TestStartCheck checks when a start reads what is stored, what it returns and what it logs.
func TestStartCheck(t *testing.T) {
	errNotReady := errors.New("not ready")
	ready := func(after time.Duration, err error) func(context.Context) error {
		return func(ctx context.Context) error {
			select {
			case <-time.After(after):
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	all := []string{"configmaps", "secrets"}
	const unreadable, warning = "1 stored value cannot be read: secrets default/a ", "stored values are not checked"
	for name, c := range map[string]struct {
		start     startOf
		wait      func(context.Context) error
		wantErr   string
		wantReads []string
		wantTook  time.Duration
		wantLog   string
	}{
		"ready at once":             {start: startOf{encrypted: true}, wait: ready(time.Second, nil), wantTook: time.Second},
		"ready later":               {wait: ready(time.Minute, nil), wantReads: all, wantTook: time.Minute},
		"ready during the read":     {start: startOf{hangs: true}, wait: ready(5*time.Second, nil), wantReads: all[:1], wantTook: 5 * time.Second},
		"a key is missing":          {start: startOf{encrypted: true}, wait: ready(time.Minute, nil), wantErr: unreadable, wantReads: all, wantTook: checkDelay},
		"fails early without a key": {start: startOf{encrypted: true}, wait: ready(time.Second, errNotReady), wantErr: unreadable, wantReads: all, wantTook: time.Second},
		"fails early":               {wait: ready(time.Second, errNotReady), wantErr: "not ready", wantReads: all, wantTook: time.Second},
		"fails, and etcd is silent": {start: startOf{hangs: true}, wait: ready(time.Second, errNotReady), wantErr: "not ready", wantReads: all[:1], wantTook: time.Second + DecryptTimeout, wantLog: warning},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := c.start.wait(t.Context(), c.wait)
				if took := time.Since(began); took != c.wantTook {
					t.Errorf("took %v, want %v", took, c.wantTook)
				}
				if c.wantErr == "" && err != nil || c.wantErr != "" && (err == nil || !strings.HasPrefix(err.Error(), c.wantErr)) {
					t.Errorf("got %v, want %q", err, c.wantErr)
				}
				if diff := cmp.Diff(c.wantReads, c.start.reads); diff != "" {
					t.Errorf("reads (-want +got):\n%s", diff)
				}
				if got := c.start.log.String(); (c.wantLog == "") != (got == "") || !strings.Contains(got, c.wantLog) {
					t.Errorf("log: got %q, want %q", got, c.wantLog)
				}
			})
		})
	}
}
