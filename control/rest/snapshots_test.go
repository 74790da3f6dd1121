package rest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// fakeSnapshots has one state, and refuses to restore the state bad.
type fakeSnapshots struct{ state []byte }

func (f *fakeSnapshots) Save(context.Context) ([]byte, error) {
	if f.state == nil {
		return nil, errors.New("etcd is unavailable")
	}
	return f.state, nil
}

func (f *fakeSnapshots) Restore(_ context.Context, file []byte) (control.RestoreResult, error) {
	if string(file) == "bad" {
		return control.RestoreResult{}, usage.Errorf("the snapshot is refused: it is damaged")
	}
	f.state = file
	return control.RestoreResult{ObjectCounts: control.ObjectCounts{Created: 1, Replaced: 2}, Revision: 7, Took: time.Second}, nil
}

func (f *fakeSnapshots) Reset(context.Context) (control.RestoreResult, error) {
	f.state = nil
	return control.RestoreResult{ObjectCounts: control.ObjectCounts{Deleted: 3}}, nil
}

func TestSnapshots(t *testing.T) {
	long := bytes.Repeat([]byte{0, 1, 2, 0xff, '\n', '"'}, 1<<20)
	f := &fakeSnapshots{state: long}
	c, ctx := newTestClient(t, Services{Nodes: fakeNodes{}, Snapshots: f}).Snapshots(), t.Context()
	if got, err := c.Save(ctx); err != nil || !bytes.Equal(got, long) {
		t.Errorf("save: %d bytes, %v", len(got), err)
	}
	other := append(long, 'x')
	done, err := c.Restore(ctx, other)
	if want := (control.RestoreResult{ObjectCounts: control.ObjectCounts{Created: 1, Replaced: 2}, Revision: 7, Took: time.Second}); err != nil || done != want {
		t.Errorf("restore: %+v, %v", done, err)
	}
	if !bytes.Equal(f.state, other) {
		t.Errorf("the server received %d bytes", len(f.state))
	}
	if _, err := c.Restore(ctx, []byte("bad")); !apierrors.IsBadRequest(err) || !errors.As(err, new(usage.Error)) || !strings.Contains(err.Error(), "it is damaged") {
		t.Errorf("refused: %v", err)
	}
	if done, err := c.Reset(ctx); err != nil || done.Deleted != 3 {
		t.Errorf("reset: %+v, %v", done, err)
	}
	if _, err := c.Save(ctx); err == nil || !strings.Contains(err.Error(), "etcd is unavailable") {
		t.Errorf("save: got %v", err)
	}
}
