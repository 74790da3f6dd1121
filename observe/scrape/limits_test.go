package scrape

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Any local process may answer. What an answer takes in memory is limited, though it is small on the way.
func TestRejectsAnswersThatTakeMuchMemory(t *testing.T) {
	const text, delimited = "text/plain; version=0.0.4", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
	family := func(field protowire.Number, content []byte) string {
		f := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "workqueue_depth")
		f = protowire.AppendBytes(protowire.AppendTag(f, field, protowire.BytesType), content)
		return string(protowire.AppendBytes(nil, f))
	}
	emptyMessages := func(field protowire.Number) []byte {
		return bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), nil), maxParts)
	}
	queues, buckets := strings.Builder{}, strings.Builder{}
	for i := range 5000 {
		fmt.Fprintf(&queues, "workqueue_depth{name=\"q%d\"} 1\n", i)
	}
	buckets.WriteString("# TYPE workqueue_queue_duration_seconds histogram\n")
	for i := range 70_000 {
		fmt.Fprintf(&buckets, "workqueue_queue_duration_seconds_bucket{name=\"q\",le=\"%d\"} 1\n", i)
	}
	buckets.WriteString("workqueue_queue_duration_seconds_count{name=\"q\"} 1\n")
	for _, tt := range []struct{ name, kind, answer, want string }{
		{"labels in protobuf", delimited, family(4, emptyMessages(1)), "more than 250,000 metrics, labels and buckets"},
		{"metrics in families", delimited, strings.Repeat(family(4, nil), maxParts/2+1), "more than 250,000 metrics, labels and buckets"},
		{"metrics", text, strings.Repeat("a 1\n", maxParts+2), "more than 250,000 metrics, labels and buckets"},
		{"labels", text, `a{` + strings.Repeat(`b="",`, maxParts+1) + `} 1`, "more than 250,000 metrics, labels and buckets"},
		{"queues", text, queues.String(), "5000 work queues and 0 controllers"},
		{"buckets", text, buckets.String(), "fewer buckets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(respondWith(http.StatusOK, tt.kind, tt.answer))
			defer server.Close()
			s, _ := newTestSource(t, Options{URL: server.URL})
			_, err := s.Snapshot(t.Context())
			checkError(t, err, tt.want, "use the address of")
		})
	}
}
