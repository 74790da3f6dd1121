package etcd

import (
	"context"
	"errors"
	"io"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Etcd opens its database without a limit of time, here for as long as another process
// reads it.
func TestStartIsInterruptedWhileEtcdOpens(t *testing.T) {
	dir := newFilledDir(t, 5)
	reader, err := bolt.Open(dbFile(dir), 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	interrupted := errors.New("interrupted by the user")
	ctx, interrupt := context.WithCancelCause(t.Context())
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(io.Discard), zap.DebugLevel),
		zap.Hooks(func(e zapcore.Entry) error { // etcd has begun to open
			interrupt(interrupted)
			if e.Message == "closed etcd server" {
				close(closed)
			}
			return nil
		}))
	failed := make(chan error, 1)
	go func() {
		_, err := Start(ctx, Config{Dir: dir, Logger: log})
		failed <- err
	}()
	select {
	case err := <-failed:
		if !errors.Is(err, interrupted) {
			t.Errorf("got %v, want %v", err, interrupted)
		}
	case <-testContext(t).Done():
		t.Error("the start goes on")
	}
	if err := reader.Close(); err != nil { // etcd opens, and is closed
		t.Fatal(err)
	}
	again := testContext(t)
	select {
	case <-closed:
	case <-again.Done():
		t.Fatal("the folder stays in use")
	}
	s, err := Start(again, Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	closeServer(t, s)
}
