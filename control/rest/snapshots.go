package rest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// maxSnapshotSize is the size of the longest snapshot that a PUT accepts.
const maxSnapshotSize = 1 << 30

func handleSnapshots(mux *http.ServeMux, snapshots control.Snapshots) {
	mux.HandleFunc("GET "+StatePath, func(w http.ResponseWriter, req *http.Request) {
		file, err := answerInTime(req, "GET "+StatePath, nil, func(req *http.Request) (any, error) {
			if err := checkNoBody(w, req, nil); err != nil {
				return nil, err
			}
			return snapshots.Save(req.Context())
		})
		if err != nil {
			writeAnswer(w, nil, err)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(file.([]byte)) // an error means that the client has disconnected
	})
	handleChecked(mux, "PUT "+StatePath, nil, func(_ http.ResponseWriter, req *http.Request) (any, error) {
		file, err := io.ReadAll(io.LimitReader(req.Body, maxSnapshotSize+1))
		if err != nil {
			return nil, fmt.Errorf("receive snapshot: %w", err)
		}
		if len(file) > maxSnapshotSize {
			return nil, usage.Errorf("the snapshot is longer than %d bytes", maxSnapshotSize)
		}
		return snapshots.Restore(req.Context(), file)
	})
	handle(mux, "POST "+ResetPath, func(req *http.Request) (any, error) { return snapshots.Reset(req.Context()) })
}

// Snapshots returns the snapshots of the control plane.
func (c *Client) Snapshots() control.Snapshots { return snapshotsClient{c} }

type snapshotsClient struct{ client *Client }

func (s snapshotsClient) Save(ctx context.Context) ([]byte, error) {
	file, err := readResponse(s.client.rest.Get().AbsPath(StatePath).Do(requestlog.Discard(ctx)))
	return bytes.Clone(file), err
}

func (s snapshotsClient) Restore(ctx context.Context, file []byte) (result control.RestoreResult, err error) {
	req := s.client.rest.Put().AbsPath(StatePath).SetHeader("Content-Type", "application/octet-stream").Body(file)
	err = decodeResponse(req.Do(requestlog.Discard(ctx)), StatePath, &result)
	return result, err
}

func (s snapshotsClient) Reset(ctx context.Context) (result control.RestoreResult, err error) {
	err = s.client.do(ctx, http.MethodPost, ResetPath, nil, nil, &result)
	return result, err
}
