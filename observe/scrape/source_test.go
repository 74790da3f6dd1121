package scrape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// golden compares the JSON of got with a file of testdata.
func golden(t *testing.T, name string, got any) {
	t.Helper()
	data, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	testutil.Golden(t, "testdata/"+name+".golden.json", append(data, '\n'))
}

func readSample(t *testing.T, name string) string {
	t.Helper()
	return testutil.ReadFile(t, filepath.Join("testdata", name+".txt"))
}

// clock is a clock that only the test advances.
type clock struct{ time.Time }

func (c *clock) now() time.Time          { return c.Time }
func (c *clock) advance(d time.Duration) { c.Time = c.Add(d) }

func newClock() *clock {
	return &clock{time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)}
}

// newTestSource returns a Source of a server, and its clock.
func newTestSource(t *testing.T, o Options) (*Source, *clock) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.CloseIdleConnections)
	c := newClock()
	s.now = c.now
	return s, c
}

func takeSnapshot(t *testing.T, s *Source) observe.Snapshot {
	t.Helper()
	got, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSnapshot(t *testing.T) {
	for _, name := range []string{"kube-controller-manager", "controller-runtime"} {
		t.Run(name, func(t *testing.T) {
			body := readSample(t, name)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/metrics" {
					http.NotFound(w, r)
					return
				}
				fmt.Fprint(w, body)
			}))
			defer server.Close()
			s, _ := newTestSource(t, Options{URL: server.URL})
			got := takeSnapshot(t, s)
			if want := strings.TrimPrefix(server.URL, "http://"); got.Process.Name != want {
				t.Errorf("the process is named %q, want %q", got.Process.Name, want)
			}
			if want := server.URL + "/metrics"; got.Process.URL != want {
				t.Errorf("URL is %q, want %q", got.Process.URL, want)
			}
			got.Process.Name, got.Process.URL = "", ""
			got.Process.Started = got.Process.Started.UTC()
			golden(t, name, got)
		})
	}
}

// startCountingServer serves a queue whose adds count the requests.
func startCountingServer(t *testing.T) (*httptest.Server, *atomic.Int64) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "workqueue_adds_total{name=\"job\"} %d\n", requests.Add(1))
	}))
	t.Cleanup(server.Close)
	return server, &requests
}

func TestScrapesAreShared(t *testing.T) {
	server, requests := startCountingServer(t)
	s, clock := newTestSource(t, Options{URL: server.URL})
	takeSnapshot(t, s)
	clock.advance(minScrapeInterval - 1)
	if got := takeSnapshot(t, s); got.Queues[0].Adds != 1 || requests.Load() != 1 {
		t.Errorf("%d adds after %d requests, want one scrape for both snapshots", got.Queues[0].Adds, requests.Load())
	}
	clock.advance(1)
	if got := takeSnapshot(t, s); got.Queues[0].Adds != 2 {
		t.Errorf("%d adds, want a new scrape", got.Queues[0].Adds)
	}
}

func TestConcurrentSnapshots(t *testing.T) {
	server, _ := startCountingServer(t)
	s, err := New(Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer s.client.CloseIdleConnections()
	errs := make(chan error)
	for range 8 {
		go func() {
			_, err := s.Snapshot(t.Context())
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestProtobuf(t *testing.T) {
	text := readSample(t, "controller-runtime")
	families, err := parseMetrics([]byte(text), "text/plain; version=0.0.4")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.Negotiate(r.Header)
		if format.FormatType() != expfmt.TypeProtoDelim {
			t.Errorf("negotiated %q", format)
		}
		w.Header().Set("Content-Type", string(format))
		if _, err := w.Write(encode(t, families, format)); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	s, _ := newTestSource(t, Options{URL: server.URL})
	got := takeSnapshot(t, s)
	got.Process.Name, got.Process.URL = "", ""
	got.Process.Started = got.Process.Started.UTC()
	golden(t, "controller-runtime", got)
}

func encode(t *testing.T, families []*dto.MetricFamily, format expfmt.Format) []byte {
	t.Helper()
	var b bytes.Buffer
	encoder := expfmt.NewEncoder(&b, format)
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestRecordsAreEmpty(t *testing.T) {
	s, _ := newTestSource(t, Options{URL: "http://127.0.0.1:1"})
	got, err := s.Records(t.Context(), observe.Query{After: 7})
	if want := (observe.Page{Records: []observe.Record{}, Next: 7}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
