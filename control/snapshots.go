package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

const (
	// StatePath is the state: a GET answers with a snapshot file (see package
	// snapshot), a PUT of one puts the control plane back to it.
	StatePath = Path + "/v1/state"
	// ResetPath puts the control plane back to how it was right after its start.
	ResetPath = Path + "/v1/reset"
)

// maxSnapshotSize bounds what a PUT is read of.
const maxSnapshotSize = 1 << 30

// RestoreResult is what a restore has done.
type RestoreResult struct {
	snapshot.Counts
	// Revision is the store's afterwards.
	Revision int64 `json:"revision"`
	// Took is how long it took; Held for how long of that writes had to wait.
	Took          time.Duration `json:"took"`
	WritesBlocked time.Duration `json:"held"`
}

// Snapshots save and restore the state. A restore happens in place: whoever
// watches sees what changes, and revisions go on. Controllers, scheduler and
// simulated nodes are ended before and begin anew after it, when the informers
// have seen all of it. Writes of others that come meanwhile fail with a
// conflict.
type Snapshots interface {
	// Save returns the state as a snapshot file.
	Save(context.Context) ([]byte, error)
	// Restore refuses, and changes nothing, if the file is damaged, from a newer
	// program or from another release of Kubernetes. One that has begun goes on to
	// its end, even if ctx ends.
	Restore(ctx context.Context, file []byte) (RestoreResult, error)
	// Reset restores what was there when the control plane had started.
	Reset(context.Context) (RestoreResult, error)
}

func handleSnapshots(mux *http.ServeMux, snapshots Snapshots) {
	mux.HandleFunc("GET "+StatePath, func(w http.ResponseWriter, req *http.Request) {
		file, err := snapshots.Save(req.Context())
		if err != nil {
			writeAnswer(w, nil, err)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		// An error here is the client's going away: there is nobody to tell.
		_, _ = w.Write(file)
	})
	mux.HandleFunc("PUT "+StatePath, func(w http.ResponseWriter, req *http.Request) {
		file, err := io.ReadAll(io.LimitReader(req.Body, maxSnapshotSize+1))
		switch {
		case err != nil:
			err = fmt.Errorf("the snapshot could not be received: %w", err)
		case len(file) > maxSnapshotSize:
			err = usage.Errorf("the snapshot is longer than %d bytes", maxSnapshotSize)
		}
		if err != nil {
			writeAnswer(w, nil, err)
			return
		}
		done, err := snapshots.Restore(req.Context(), file)
		writeAnswer(w, done, err)
	})
	mux.HandleFunc("POST "+ResetPath, func(w http.ResponseWriter, req *http.Request) {
		done, err := snapshots.Reset(req.Context())
		writeAnswer(w, done, err)
	})
}

// Snapshots saves and restores the control plane that the client asks.
func (c *Client) Snapshots() Snapshots { return snapshotsClient{c} }

type snapshotsClient struct{ client *Client }

func (s snapshotsClient) Save(ctx context.Context) ([]byte, error) {
	result := s.client.rest.Get().AbsPath(StatePath).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	file, err := result.Raw()
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return bytes.Clone(file), nil
}

func (s snapshotsClient) Restore(ctx context.Context, file []byte) (done RestoreResult, err error) {
	req := s.client.rest.Put().AbsPath(StatePath).SetHeader("Content-Type", "application/octet-stream").Body(file)
	result := req.Do(ctx)
	if err := result.Error(); err != nil { // Raw would not read what the server says
		return done, err
	}
	answer, err := result.Raw()
	if err != nil {
		return done, fmt.Errorf("control: %w", err)
	}
	if err := json.Unmarshal(answer, &done); err != nil {
		return done, fmt.Errorf("control: %s: %w", StatePath, err)
	}
	return done, nil
}

func (s snapshotsClient) Reset(ctx context.Context) (done RestoreResult, err error) {
	err = s.client.do(ctx, http.MethodPost, ResetPath, nil, &done)
	return done, err
}
