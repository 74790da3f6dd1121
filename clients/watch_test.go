package clients

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// delivered writes chunks to a watch and returns how many events it has delivered then.
func delivered(t *testing.T, contentType string, chunks ...string) (n int64) {
	t.Helper()
	f := newFixture(t)
	req := httptest.NewRequestWithContext(context.Background(), http.MethodGet, sites+"?watch=1", nil)
	f.clients.Handle(httptest.NewRecorder(), req, operator, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for _, chunk := range chunks {
			io.WriteString(w, chunk)
		}
		n = f.clients.Snapshot()[0].Watches[0].Delivered
	}))
	return n
}

// A proxy, as of an aggregated API, copies what has arrived: that need not be one event.
func TestChunksOfWatches(t *testing.T) {
	one, two := frame("ADDED", object("Site", "a", "u1", "1"))+"\n", frame("ADDED", object("Site", "b", "u2", "2"))+"\n"
	bookmark := `{"type":"BOOKMARK","object":{"kind":"Site","metadata":{"resourceVersion":"3"}}}` + "\n"
	const protoEvent = "\x0a\x05ADDED\x12\x0d\x0a\x0bk8s\x00\x0a\x02v1\x12\x01S"
	length := string([]byte{0, 0, 0, byte(len(protoEvent))})
	const proto = "application/vnd.kubernetes.protobuf;stream=watch"
	for name, test := range map[string]struct {
		contentType string
		chunks      []string
		want        int64
	}{
		"events":                {"application/json", []string{one, bookmark, two}, 2},
		"two in a chunk":        {"application/json", []string{one + two}, -1},
		"a part":                {"application/json", []string{one, two[:20], two[20:]}, -1},
		"proto":                 {proto, []string{length, protoEvent, length, protoEvent}, 2},
		"proto with its length": {proto, []string{length + protoEvent}, -1},
		"table":                 {"application/json;as=Table;g=meta.k8s.io;v=v1", []string{one, bookmark, two}, 2},
		"two in a table chunk":  {"application/json;as=Table;g=meta.k8s.io;v=v1", []string{one + two}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			if n := delivered(t, test.contentType, test.chunks...); n != test.want {
				t.Errorf("%d events are counted, want %d", n, test.want)
			}
		})
	}
}
